"""What is masked can be asked for, and how long it is; no filter tells more of it."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.query.filter import compile_filter
from dissectors.wire.secret import Secret
from tests.analyzer.query.filter.captured import Captured, captured
from tests.analyzer.query.filter.oracle import Comparison, Literal, Value, holds, is_masked, values_of

pytestmark = pytest.mark.xdist_group("filters")

NAMES = ("kafka-4.4.pcap.zst", "mixed.pcapng")
"""Captures with SCRAM, tokens, ZooKeeper's session passwords and digests."""


def secrets_of(capture: Captured) -> dict[str, set[bytes | str]]:
    """The contents of what is masked, by path."""
    found: dict[str, set[bytes | str]] = {}

    def collect(value: object, path: str) -> None:
        if isinstance(value, Secret):
            found.setdefault(path, set()).add(value.reveal())
        elif isinstance(value, dict):
            for name, each in value.items():
                collect(each, f"{path}.{name}")
        elif isinstance(value, list):
            for each in value:
                collect(each, path)

    for row in capture.reader.read_objects(("protocol", "operation", "fields"), capture.all_rows):
        collect(row["fields"], f"{row['protocol']}.{row['operation']}")
    return found


def written(secret: bytes | str) -> str:
    data = secret if isinstance(secret, bytes) else secret.encode()
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_tells_of_a_secret_only_that_it_is_there_and_its_length(name: str) -> None:
    capture = captured(name)
    secrets = secrets_of(capture)
    assert secrets
    for path, contents in secrets.items():
        having = [number for number, row in enumerate(capture.printed) if values_of(path, row)]
        rows = np.array(having)
        masked = np.array([all(map(is_masked, values_of(path, capture.printed[row]))) for row in having])
        assert masked.any()
        assert compile_filter(path).find_mask(capture.reader, rows).all()
        for content in sorted(contents, key=repr):
            literal = written(content)
            requested = [
                f"{path} {operator} {literal}" for operator in ("==", "!=", "===", "!==", "<", ">=", "contains")
            ]
            requested += [f"{path} in {{{literal}}}", f"{path}[0:1] == {written(content[:1])}", f"{path}[0:1] != 'q'"]
            requested += [f"{path} not in {{{literal}}}", f"{path} matches '.'"]
            for text in requested:
                found = compile_filter(text).find_mask(capture.reader, rows)
                assert not found[masked].any(), text
            wanted = Comparison(Value(path, ("len",)), "==", (Literal(str(len(content)), False),))
            lengths = compile_filter(f"len({path}) == {len(content)}").find_mask(capture.reader, rows)
            assert lengths.tolist() == [holds(wanted, capture.printed[row]) for row in having]
            assert lengths.any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["text", "info", "findings.text"])
def test_what_is_searched_has_no_secrets_in_it(field: str, name: str) -> None:
    capture = captured(name)
    secrets = secrets_of(capture)
    with_secrets = [
        number for number, row in enumerate(capture.printed) if any(values_of(path, row) for path in secrets)
    ]
    rows = with_secrets[:60]
    for contents in secrets.values():
        for content in contents:
            text = content if isinstance(content, str) else content.decode("latin-1")
            wanted = Comparison(Value(field), "contains", (Literal(text),))
            found = compile_filter(f"{field} contains {written(content)}").find_mask(capture.reader, np.array(rows))
            assert found.tolist() == [holds(wanted, capture.printed[row]) for row in rows]
