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


KNOWN: dict[str, dict[str, int]] = {
    # Answers whose requests are not in the capture: the truth leaves them undecoded; an orphan response is `guessed`.
    "k4_election": {"state of None": 3},
    # A bare GSSAPI token: the truth leaves it undecoded; a SASL token of its own is a raw row that is `complete`.
    "k4_errors": {"state of None": 1},
}
"""How often a capture differs by which cause; the reasons are those of the output contract."""

DECODE_AS: dict[str, dict[int, str]] = {
    # Connections of one unreadable request each, on a port that is not Kafka's by default: somebody has to say so.
    "k4_errors": {29092: "kafka"},
}


@pytest.mark.parametrize("use_bulk", [True, False], ids=["bulk", "plain"])
@pytest.mark.parametrize("path", captures(), ids=name_of)
def test_a_capture(path: Path, use_bulk: bool) -> None:
    name = path.name.removesuffix(".pcap.zst")
    truth = read_ndjson(path.with_name(f"{name}.expected.ndjson.zst"))
    keys = (*ROW_KEYS, "fields")
    own = [json.loads(COMPLETE.line(row)) for row in rows(path, keys, use_bulk=use_bulk, decode_as=DECODE_AS.get(name))]
    found = compare(own, truth)
    print(path.name, found.report())
    assert found.compared == len(truth)
    assert found.causes == KNOWN.get(name, {}), found.report()
