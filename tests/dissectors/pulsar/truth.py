"""Frames that the vendor's own serializer wrote, and what its classes read back from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden.truth import read_ndjson

SYNTHETIC = Path(__file__).parents[2] / "golden" / "pulsar" / "synthetic.ndjson.zst"


@dataclass(frozen=True)
class Frame:
    """One row of the file."""

    operation: str
    data: bytes
    fields: dict[str, Any]

    def __str__(self) -> str:
        return self.operation


@cache
def frames() -> tuple[Frame, ...]:
    return tuple(_frames())


def _frames() -> Iterator[Frame]:
    for row in read_ndjson(SYNTHETIC):
        yield Frame(row["operation"], bytes.fromhex(row["hex"]), row["fields"])
