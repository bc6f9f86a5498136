"""Captures of real servers and clients against what Kafka's own classes read from them: every message, every field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.truth import captures, differences, name_of

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


@pytest.mark.parametrize("use_fast_path", [True, False], ids=["fast path", "slow path"])
@pytest.mark.parametrize("path", captures("kafka"), ids=name_of)
def test_a_capture(path: Path, use_fast_path: bool) -> None:
    name = path.name.removesuffix(".pcap.zst")
    found = differences(path, use_fast_path=use_fast_path, decode_as=DECODE_AS.get(name))
    print(path.name, found.report())
    assert found.causes == KNOWN.get(name, {}), found.report()
