"""Messages of real captures and of the vendor's own serializers, with what decoding each of them needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.decode.content import read_undecoded
from analyzer.messages.defects import read_whole
from analyzer.session import Session
from dissectors.api import Context, Role
from tests.golden.truth import read_ndjson

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "rocketmq"
SHARED = ROOT.parent / "shared" / "truth" / "rocketmq"
SYNTHETIC = "synthetic.ndjson.zst"


@dataclass(frozen=True)
class Frame:
    """A message and its context."""

    name: str
    data: bytes
    context: Context


@cache
def captured() -> tuple[Frame, ...]:
    """One message of each kind (operation, role, serialization) in the golden captures."""
    found: dict[tuple[object, ...], Frame] = {}
    for path in sorted(GOLDEN.glob("*.pcap.zst")):
        with Session([path]).load() as session:
            for dissector, message, context in read_undecoded(session, np.arange(len(session.rows))):
                if dissector is not None and dissector.name == "rocketmq":
                    data = read_whole(message)
                    name = f"{path.name.split('.')[0]} {context.code} {context.role.name}"
                    found.setdefault((context.code, context.role, data[4], path), Frame(name, data, context))
    return tuple(found.values())


@dataclass(frozen=True)
class Synthetic(Frame):
    """The same with what the vendor's classes read."""

    row: dict[str, Any]


def synthetic(path: Path) -> Iterator[Synthetic]:
    for row in read_ndjson(path):
        role = Role.RESPONSE if row["kind"] == "response" else Role.REQUEST
        name = f"{row['operation']} {row['kind']} {row['serialize']}"
        yield Synthetic(name, bytes.fromhex(row["hex"]), Context(role, row["code"]), row)
