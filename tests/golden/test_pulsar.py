"""Captures of real servers and clients against what Pulsar's own classes read from them: every message, every field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.truth import captures, differences, name_of

KNOWN: dict[str, dict[str, int]] = {
    # The answers report a ServerError in their field error_code; the truth looks at fields called error alone.
    "java4_schemas": {"error of GET_OR_CREATE_SCHEMA_RESPONSE": 2, "error of GET_SCHEMA_RESPONSE": 1},
}
"""How often a capture differs by which cause; the reasons are those of the output contract."""


@pytest.mark.parametrize("use_bulk", [True, False], ids=["bulk", "plain"])
@pytest.mark.parametrize("path", captures("pulsar"), ids=name_of)
def test_a_capture(path: Path, use_bulk: bool) -> None:
    name = path.name.removesuffix(".pcap.zst")
    found = differences(path, use_bulk=use_bulk)
    print(path.name, found.report())
    assert found.causes == KNOWN.get(name, {}), found.report()
