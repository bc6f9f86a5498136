"""What people ask of any Kafka message: its topics, groups, members, wherever they stand (field_aliases.json)."""

from __future__ import annotations

from functools import cache, partial

from dissectors.catalog import FieldAlias
from dissectors.kafka.catalog.places import paths, places
from dissectors.kafka.labels import labels
from dissectors.kafka.tables import table


@cache
def field_aliases() -> tuple[FieldAlias, ...]:
    """All of them, in the order of the table."""
    return tuple(
        FieldAlias(
            row["name"],
            row["type"],
            partial(paths, "field_aliases", number),
            row.get("kind"),
            row["inherited"],
            labels(row["label"]) if "label" in row else None,
            row["about"],
            partial(places, "field_aliases", number) if "where" in row else None,
            frozenset(row.get("nothing", ())),
            row.get("session"),
        )
        for number, row in enumerate(table("field_aliases")["rows"])
    )
