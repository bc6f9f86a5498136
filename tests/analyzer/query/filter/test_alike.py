"""Filters made of what is selected: of every leaf of a tree, and of a row; each must hold for where it comes from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode.bodies import decode_tree
from analyzer.decode.rows import RowReader
from analyzer.query.fields import find_field
from analyzer.query.filter import compile_filter
from analyzer.query.filter.alike import MOST_VALUES, find_path, list_row_filters, make_filter, matches_row
from analyzer.query.filter.literals import list_comparisons, quote
from analyzer.query.filter.parse import parse
from analyzer.session import Session
from dissectors.field import Field
from dissectors.wire.secret import Secret

ROOT = Path(__file__).parents[4]
FILES = sorted([*(ROOT / "captures").glob("*.pcap*"), *(ROOT / "tests" / "golden").glob("*/*.pcap.zst")])
MOST_LEAVES, ROWS = 40, 3
"""Of a message: few have more; of each capture, which makes some two hundred messages."""


def leaves(nodes: list[Field], before: tuple[Field, ...] = ()) -> Iterator[tuple[Field, ...]]:
    for node in nodes:
        path = (*before, node)
        yield from leaves(node.children, path) if node.children else (path,)


def secrets(path: tuple[Field, ...]) -> list[str]:
    found = [node.value.reveal() for node in path if isinstance(node.value, Secret)]
    return [secret if isinstance(secret, str) else secret.hex(":") for secret in found if len(secret) > 4]


@pytest.mark.slow
def test_each_leaf_has_a_filter_that_its_message_fulfils() -> None:
    kinds: Counter[str] = Counter()
    messages = 0
    for file in FILES:
        with Session([file]).load() as session:
            reader = RowReader(session)
            for row in np.unique(np.linspace(0, len(session.rows) - 1, ROWS).astype(int)).tolist():
                tree = decode_tree(session, row)
                messages += 1
                for path in islice(leaves(tree.fields), MOST_LEAVES):
                    text = make_filter(session, row, tree, path)
                    assert text is not None, (file.name, row, [node.spec.name for node in path])
                    assert row in compile_filter(text).select_rows(reader, np.array([row])), text
                    assert not any(secret in text for secret in secrets(path)), text
                    kinds["bytes[" if "bytes[" in text else "name"] += 1
    assert messages > 200
    assert kinds["name"] > 2 * kinds["bytes["]


OF_FIELDS = [
    ("kafka", "kafka.pcap", 46, "header.requestApiKey", "kafka.Fetch"),
    ("kafka", "kafka.pcap", 46, "header.requestApiVersion", "version == 18"),
    ("kafka", "kafka.pcap", 46, "header.clientId", 'client == "RangeAssignor-0"'),
    ("kafka", "kafka.pcap", 46, "length", "length == 177"),
    ("kafka", "kafka.pcap", 46, "body.maxWaitMs", "kafka.Fetch.request.maxWaitMs == 500"),
    ("kafka", "kafka.pcap", 46, "body.isolationLevel", "kafka.Fetch.request.isolationLevel == READ_UNCOMMITTED"),
    ("kafka", "kafka.pcap", 46, "body.topics.count", "count(kafka.Fetch.request.topics) == 1"),
]


@pytest.mark.parametrize("case", OF_FIELDS, ids=lambda case: case[3])
def test_of_a_field(case: tuple[str, str, int, str, str]) -> None:
    _, file, row, names, expected = case
    with Session([ROOT / "captures" / file]).load() as session:
        tree = decode_tree(session, row)
        path: list[Field] = []
        for name in names.split("."):
            nodes = path[-1].children if path else tree.fields
            path.append(next(node for node in nodes if node.spec.name == name))
        assert make_filter(session, row, tree, path) == expected


def test_what_a_row_offers_holds_for_it() -> None:
    seen = set()
    for file in FILES[::4]:
        with Session([file]).load() as session:
            for row in np.unique(np.linspace(0, len(session.rows) - 1, ROWS).astype(int)).tolist():
                offers = list_row_filters(session, row)
                assert f"stream == {session.rows.cell('stream', row)}" in {offer.text for offer in offers}
                for offer in offers:
                    assert matches_row(offer.text, RowReader(session), np.array([row])), offer
                    seen.add(offer.about)
    assert {"this topic", "this path", "this client", "this error.name", "this exchange"} <= seen


@pytest.mark.parametrize(("file", "row"), [("k4_py_kp", 153), ("zk39_ibp_3.9", 79)])
def test_few_values_of_a_short_are_offered(file: str, row: int) -> None:
    """One names eighteen topics, the other has keys of records that are structures."""
    with Session([ROOT / "tests" / "golden" / "kafka" / f"{file}.pcap.zst"]).load() as session:
        abouts = Counter(offer.about for offer in list_row_filters(session, row))
    assert 1 <= max(abouts.values()) <= MOST_VALUES
    assert file != "k4_py_kp" or abouts["this topic"] == MOST_VALUES


def test_a_column_has_the_name_of_the_field() -> None:
    with Session([ROOT / "captures" / "kafka.pcap"]).load() as session:
        body = next(node for node in decode_tree(session, 46).fields if node.spec.name == "body")
        field = next(node for node in body.children if node.spec.name == "maxWaitMs")
        assert find_path(session, 46, (body, field)) == "kafka.Fetch.request.maxWaitMs"


@given(st.text(max_size=50))
def test_a_quoted_text_is_read_back(text: str) -> None:
    node = parse(f"info == {quote(text)}")
    assert node.operands[0].text == text  # type: ignore[union-attr]
    assert quote(text).isprintable() or not text.isascii()


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30))
def test_a_float_is_between_what_is_written(value: float) -> None:
    (text,) = list_comparisons(find_field("version"), value)
    if " in " in text:
        low, high = text.partition("{")[2].rstrip("}").split("..")
        assert float(low) <= value <= float(high)
    else:
        assert int(text.rpartition(" ")[2]) == value


def test_what_equals_nothing_has_no_comparison() -> None:
    for value in (math.nan, math.inf, None, Secret("word"), [], {}):
        assert not list(list_comparisons(find_field("version"), value))
