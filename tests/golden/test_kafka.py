"""Captures of real servers and clients against what Kafka's own classes read from them: every message, every field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.render.jsonable import JsonWriter, Limits
from analyzer.rows import ROW_KEYS
from tests.analyzer.wire import rows
from tests.golden.truth import compare, read_ndjson

HERE = Path(__file__).parent / "kafka"
SHARED = Path(__file__).parents[3] / "shared" / "truth" / "kafka"
COMPLETE = JsonWriter(Limits(None, None, show_secrets=True))
"""Bytes in full, lists in full, nothing masked: as the truth has them."""


def captures() -> list[Path]:
    """The golden copies, and all others that lie beside the checkout."""
    own = sorted(HERE.glob("*.pcap.zst"))
    names = {path.name for path in own}
    return own + [path for path in sorted(SHARED.glob("*.pcap.zst")) if path.name not in names]


def name_of(path: Path) -> str:
    return f"{'golden' if path.parent == HERE else 'shared'}-{path.name.removesuffix('.pcap.zst')}"


KNOWN: dict[str, str] = {}
"""Causes that are ours to explain, each with its reason."""


@pytest.mark.parametrize("use_bulk", [True, False], ids=["bulk", "plain"])
@pytest.mark.parametrize("path", captures(), ids=name_of)
def test_a_capture(path: Path, use_bulk: bool) -> None:
    truth = read_ndjson(path.with_name(path.name.replace(".pcap.", ".expected.ndjson.")))
    own = [json.loads(COMPLETE.line(row)) for row in rows(path, (*ROW_KEYS, "fields"), use_bulk=use_bulk)]
    found = compare(own, truth, tuple(KNOWN))
    print(path.name, found.report())
    assert found.compared == len(truth)
    assert not found.causes, found.report()
