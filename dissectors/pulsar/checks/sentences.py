"""Sentences and names of producers and consumers that Pulsar's checks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.pulsar.reports.fields import read_text
from dissectors.pulsar.tables import table
from dissectors.table_check import TableCheck


class PulsarCheck(TableCheck):
    """A check whose sentences are in tables/checks.json."""

    table = staticmethod(table)


def name_producer(number: int, topic: str | None) -> str:
    """Returns the name of a producer for sentences."""
    return f"producer {number}" + (f" of {topic}" if topic else "")


def name_consumer(number: int, values: Mapping[str, Any]) -> str:
    """Returns the name of a consumer for sentences, from its SUBSCRIBE."""
    names = [(key, read_text(values, key)) for key in ("subscription", "topic")]
    return ", ".join([f"consumer {number}", *(f"{key} {name}" for key, name in names if name is not None)])
