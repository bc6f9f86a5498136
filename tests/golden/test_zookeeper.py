"""Captures of real servers and clients against what ZooKeeper's own classes read from them: all three protocols."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from analyzer.decode.rows import ROW_KEYS
from tests.analyzer.wire import rows
from tests.golden.truth import COMPLETE, GOLDEN, captures, differences, name_of, numbered, read_ndjson

KNOWN: dict[str, dict[str, int]] = {
    # The truth cut its rows out of a longer capture: it knows the session and the requests from before this one began.
    "late_cl_kazoo_load": {
        "client of getData": 120,
        "client of create": 80,
        "client of exists": 2,
        "client of closeSession": 2,
        "operation of create": 38,
        "code of create": 38,
        "state of create": 38,
    },
    # Replies whose requests are not in the capture are `guessed`.
    "late_start": {"state of None": 3},
    # A connection without SYN of which only four bytes are there, a length: nothing confirms that a message begins.
    # The truth's hint goes by order alone, and a learner passes over the PING that comes before its UPTODATE: paired by
    # order its answers took a second, paired with the ping right before them 0.3 ms.
    "en395_leader_kill": {"state of None": 1, "partner": 4},
    # Raw rows are `undecoded`: what comes behind a word, HTTP, TLS.
    # The line break that came with a word belongs to it here; the truth has it as a row.
    "flw_395": {"state of None": 1, "length of ruok": 1, "missing": 1},
    "foreign_client_port": {"state of None": 2},
    "tls_client_port": {"state of None": 2},
    # An opcode that nobody knows is `undecoded`; a body that breaks its layout stays `complete` and has a finding.
    "raw_odd_requests": {
        "state of None": 2,
        "state of setData": 1,
        "state of getData": 1,
        "state of deleteContainer": 1,
    },
}
"""How often a capture differs by which cause; the reasons are those of the output contract."""


@pytest.mark.parametrize("path", captures("zookeeper"), ids=name_of)
def test_a_capture(path: Path) -> None:
    found = differences(path)
    print(path.name, found.report())
    assert found.causes == KNOWN.get(path.name.removesuffix(".pcap.zst"), {}), found.report()


def test_structures_in_data_are_read() -> None:
    """Whether `as` and `value` are there is not judged above; here it is, transaction by transaction."""
    path = GOLDEN / "zookeeper" / "en395_txns_follower.pcap.zst"
    ours = numbered([json.loads(COMPLETE.format_line(row)) for row in rows(path, (*ROW_KEYS, "fields"))])
    seen: Counter[str] = Counter()
    for row in read_ndjson(path.with_name("en395_txns_follower.expected.ndjson.zst")):
        data = row["fields"].get("data") or {}
        if row["protocol"] == "zookeeper-quorum" and "value" in data:
            own = ours[row["stream_key"], row["from_client"], row["ordinal"]]["fields"]["data"]
            assert own["value"] == data["value"]
            seen[row["operation"]] += 1
    assert seen == {"PROPOSAL": 42, "INFORM": 21, "REQUEST": 19, "PING": 4}
