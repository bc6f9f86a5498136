"""What the vendor's classes read from a frame, and how our values are held against it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from dissectors.api import Context, Role
from dissectors.finding import Finding
from dissectors.wire import Secret

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "kafka" / "synthetic.ndjson.zst"
STRUCTURES = GOLDEN.with_name("synthetic_data.ndjson.zst")
SHARED = ROOT.parent / "shared" / "truth" / "kafka" / "synthetic.ndjson.zst"


@dataclass(frozen=True)
class Frame:
    """One row of a truth file: a frame, what decoding it needs, and what must come out."""

    name: str
    data: bytes
    context: Context
    row: dict[str, Any]


NOTICED = frozenset({"throttled", "deprecated-version", "version-refused", "fetch-session", "inconsistent-batch"})
"""Findings about what a message says, none about how it was read."""


def faults(findings: Iterable[Finding]) -> list[Finding]:
    """What is not as it should be in the bytes; test_notices.py is about the others."""
    return [finding for finding in findings if finding.code not in NOTICED]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file)
        yield from map(json.loads, io.TextIOWrapper(text, "utf-8"))


@cache
def frames(path: Path) -> tuple[Frame, ...]:
    """The rows of a truth file."""
    return tuple(map(_read_frame, rows(path)))


def _read_frame(row: dict[str, Any]) -> Frame:
    role = Role.RESPONSE if row["kind"] == "response" else Role.REQUEST
    name = f"{row['operation']} v{row['version']} {row['kind']} {row['instance']}"
    return Frame(name, bytes.fromhex(row["hex"]), Context(role, row["api"], row["version"]), row)


def printed(value: Any) -> Any:
    """A value as the truth has it: bytes as hex and length, secrets in the open."""
    if isinstance(value, dict):
        return {key: printed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [printed(item) for item in value]
    if isinstance(value, Secret):
        value = value.reveal()
    return {"hex": value.hex(), "length": len(value)} if isinstance(value, bytes) else value


def difference(truth: Any, ours: Any, path: str = "") -> str | None:
    """Where our value says something else. Keys beyond the truth's are none."""
    if isinstance(truth, dict) and isinstance(ours, dict):
        for key, expected in truth.items():
            if key not in ours:
                return f"{path}.{key} is missing"
            found = difference(expected, ours[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(truth, list) and isinstance(ours, list) and len(truth) == len(ours):
        pairs = enumerate(zip(truth, ours, strict=True))
        return next(filter(None, (difference(one, two, f"{path}[{index}]") for index, (one, two) in pairs)), None)
    return None if truth == ours and type(truth) is type(ours) else f"{path}: {truth!r} is {ours!r}"
