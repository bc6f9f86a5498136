"""What the vendors' own classes say is in a capture, and how our rows differ from it, by cause.

A truth row names its message by stream, direction and ordinal, or by its offset where the capture begins late. Keys
that it lacks are not judged; keys that we have beyond it are no error. Bytes are compared in full, so rows must be made
without limits and with secrets shown.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.rows import ROW_KEYS
from tests.analyzer.wire import rows

Row = Mapping[str, Any]

GOLDEN = Path(__file__).parent
SHARED = Path(__file__).parents[3] / "shared" / "truth"
COMPLETE = JsonWriter(Limits(None, None, show_secrets=True))
"""Bytes in full, lists in full, nothing masked: as the truth has them."""

HEADER_KEYS = ("role", "operation", "code", "version", "correlation", "client", "length", "offset", "state", "error")


def captures(protocol: str) -> list[Path]:
    """The golden copies of a protocol's captures, and all others that lie beside the checkout."""
    own = sorted((GOLDEN / protocol).glob("*.pcap.zst"))
    names = {path.name for path in own}
    return own + [path for path in sorted((SHARED / protocol).glob("*.pcap.zst")) if path.name not in names]


def name_of(path: Path) -> str:
    """What a test about a capture is called."""
    return f"{'golden' if GOLDEN in path.parents else 'shared'}-{path.name.removesuffix('.pcap.zst')}"


def differences(path: Path, *, use_fast_path: bool = True, decode_as: Mapping[int, str] | None = None) -> Difference:
    """How our rows of a capture differ from the truth that lies beside it."""
    truth = read_ndjson(path.with_name(f"{path.name.removesuffix('.pcap.zst')}.expected.ndjson.zst"))
    found = rows(path, (*ROW_KEYS, "fields"), use_fast_path=use_fast_path, decode_as=decode_as)
    result = compare([json.loads(COMPLETE.format_line(row)) for row in found], truth)
    assert result.compared == len(truth) > 0
    return result


def read_ndjson(path: Path) -> list[dict[str, Any]]:
    """The rows of a compressed NDJSON file."""
    text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().decode()
    return [json.loads(line) for line in text.splitlines()]


@dataclass(slots=True)
class Difference:
    """Counts of what is equal and what differs, with a sample for each cause."""

    compared: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    samples: dict[str, str] = field(default_factory=dict)

    def add(self, cause: str, sample: str) -> None:
        """Counts one difference and keeps the first of its cause."""
        self.causes[cause] += 1
        self.samples.setdefault(cause, sample[:400])

    def report(self) -> str:
        """A line for each cause."""
        lines = [f"{self.compared} messages compared, {sum(self.causes.values())} differences"]
        lines += [f"  {count:5} {cause}: {self.samples[cause]}" for cause, count in self.causes.most_common()]
        return "\n".join(lines)


def numbered(rows: Iterable[Row]) -> dict[tuple[str, bool, int], Row]:
    """Our rows by stream, direction and ordinal."""
    found: dict[tuple[str, bool], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["stream_id"], row["from_client"]].append(row)
    return {
        (*key, ordinal): row
        for key, group in found.items()
        for ordinal, row in enumerate(sorted(group, key=lambda row: row["offset"]))
    }


def compare(ours: Sequence[Row], truth: Sequence[Row], known: Sequence[str] = ()) -> Difference:
    """All differences; `known`: causes that are ours to explain and not counted."""
    found = Difference()
    by_key = numbered(ours)
    names = {row["id"]: key for key, row in by_key.items()}
    places = {(row["stream_id"], row["from_client"], row["offset"]): key[2] for key, row in by_key.items()}
    for row in truth:
        side = row["stream_key"], row["from_client"]
        key = (*side, row["ordinal"] if "ordinal" in row else places.get((*side, row["offset"]), -1))
        found.compared += 1
        own = by_key.pop(key, None)
        if own is None:
            found.add("missing", f"{key}")
            continue
        for cause, sample in _differences(own, row, names):
            if cause not in known:
                found.add(cause, f"{key} {sample}")
    for key in by_key:
        found.add("surplus", f"{key} {by_key[key]['operation']}")
    return found


def _differences(own: Row, row: Row, names: Mapping[str, tuple[str, bool, int]]) -> Iterator[tuple[str, str]]:
    for name in HEADER_KEYS:
        if name in row and own[name] != row[name]:
            yield f"{name} of {row.get('operation')}", f"ours {own[name]!r}, truth {row[name]!r}"
    for name in {"partner_ordinal", "partner_hint"} & row.keys():
        partner = names[own["partner_id"]][2] if own["partner_id"] is not None else None
        if partner != row[name]:
            yield "partner", f"ours {partner}, truth {row[name]}"
    raw = row.get("raw", row.get("bytes"))
    if row.get("role") == "raw" and raw is not None:
        for path, sample in differing(own["fields"].get("data"), raw):
            yield f"raw bytes {path}", sample
    if "fields" in row:
        for path, sample in differing(own["fields"], row["fields"]):
            yield f"fields of {row.get('operation')} v{row.get('version')} {path}", sample


def differing(own: Any, truth: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Where two decoded values differ; ours may have more keys."""
    if isinstance(truth, dict) and isinstance(own, dict):
        for name, value in truth.items():
            if name in own:
                yield from differing(own[name], value, f"{path}.{name}")
            else:
                yield f"{path}.{name}", "missing"
    elif isinstance(truth, list) and isinstance(own, list):
        if len(own) != len(truth):
            yield f"{path}[]", f"{len(own)} elements, truth {len(truth)}"
        for one, other in zip(own, truth, strict=False):
            yield from differing(one, other, f"{path}[]")
    elif own != truth or type(own) is not type(truth):
        yield path, f"ours {own!r}, truth {truth!r}"
