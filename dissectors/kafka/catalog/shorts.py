"""What people ask of any Kafka message: its topics, groups, members, wherever they stand (tables/shorts.json)."""

from __future__ import annotations

from functools import cache, partial

from dissectors.catalog import Short
from dissectors.kafka.catalog.places import paths, places
from dissectors.kafka.labels import labels
from dissectors.kafka.tables import table


@cache
def shorts() -> tuple[Short, ...]:
    """All of them, in the order of the table."""
    return tuple(
        Short(
            row["name"],
            row["type"],
            partial(paths, "shorts", number),
            row.get("kind"),
            row["inherited"],
            labels(row["label"]) if "label" in row else None,
            row["about"],
            partial(places, "shorts", number) if "where" in row else None,
            frozenset(row.get("nothing", ())),
            row.get("session"),
        )
        for number, row in enumerate(table("shorts")["rows"])
    )
