"""Captures of real servers and clients against what Pulsar's own classes read from them: every message, every field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyzer.wire import rows
from tests.golden.truth import GOLDEN, captures, differences, name_of, numbered, read_ndjson

KNOWN: dict[str, dict[str, int]] = {
    # The answers report a ServerError in their field error_code; the truth looks at fields called error alone.
    "java4_schemas": {"error of GET_OR_CREATE_SCHEMA_RESPONSE": 2, "error of GET_SCHEMA_RESPONSE": 1},
}
"""How often a capture differs by which cause; the reasons are those of the output contract."""


@pytest.mark.parametrize("use_fast_path", [True, False], ids=["fast path", "slow path"])
@pytest.mark.parametrize("path", captures("pulsar"), ids=name_of)
def test_a_capture(path: Path, use_fast_path: bool) -> None:
    name = path.name.removesuffix(".pcap.zst")
    found = differences(path, use_fast_path=use_fast_path)
    print(path.name, found.report())
    assert found.causes == KNOWN.get(name, {}), found.report()


def test_the_errors_that_the_truth_has_among_its_fields_alone() -> None:
    """What differs above: the truth itself read an error_code, and we report what it read."""
    name = "java4_schemas"
    truth = read_ndjson(GOLDEN / "pulsar" / f"{name}.expected.ndjson.zst")
    ours = numbered(rows(GOLDEN / "pulsar" / f"{name}.pcap.zst"))
    found = [
        (row["operation"], row["fields"]["error_code"], ours[row["stream_key"], row["from_client"], row["ordinal"]])
        for row in truth
        if "error_code" in row.get("fields", {})
    ]
    assert all(own["error"]["name"] == error for _, error, own in found)
    differing = [f"error of {operation}" for operation, _, _ in found]
    assert {cause: differing.count(cause) for cause in differing} == KNOWN[name]
