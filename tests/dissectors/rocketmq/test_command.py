"""What the strict parser reads is what the tokens mean, and it refuses what only they can say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.rocketmq.body import decode_rest
from dissectors.rocketmq.secrets import SECRETS
from dissectors.wire.frame import Frame
from dissectors.wire.json_strict import decode_json
from dissectors.wire.json_text import DEPTH
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.varint import Unfit
from tests.dissectors.wire.test_json_text import BROKEN, LENIENT, STRICT, read


@pytest.mark.parametrize("case", STRICT)
def test_strict(case: str) -> None:
    data, value = STRICT[case]
    assert decode_json(data.strip()) == value


@pytest.mark.parametrize("case", [*LENIENT, *BROKEN])
def test_what_it_refuses(case: str) -> None:
    with pytest.raises(Unfit):
        decode_json((LENIENT | BROKEN)[case][0])


def test_numbers_that_are_none() -> None:
    for data in (b"[1e999,-Infinity]", b"[Infinity,-1e999]"):
        found = decode_json(data)
        assert isinstance(found, list)
        assert found == read(data)[0]
        assert all(type(each) is NonFinite for each in found)


@pytest.mark.parametrize(("opener", "inner", "closer"), [(b"[", b"", b"]"), (b'{"a":', b"1", b"}")])
def test_depth_is_bounded(opener: bytes, inner: bytes, closer: bytes) -> None:
    data = opener * DEPTH + inner + closer * DEPTH
    assert decode_json(data) == read(data)[0]
    with pytest.raises(Unfit):
        decode_json(opener * (DEPTH + 1) + inner + closer * (DEPTH + 1))


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_it_leaves_secrets_to_the_other(name: str) -> None:
    data = b'{"user":{"%b":"hunter2"}}' % name.encode()
    with pytest.raises(Unfit):
        decode_rest(Frame(data, 0, len(data)), 0, "json", Context(Role.REQUEST))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.booleans())
def test_both_ways_give_the_same(value: dict[str, object], plain: bool) -> None:
    data = json.dumps(value, ensure_ascii=plain, indent=None if plain else 1).encode("utf-8", "surrogatepass")
    found, tree = read(data)
    assert tree.findings == []
    try:
        assert decode_json(data) == found
    except Unfit:
        assert b"\xed" in data, "only half a surrogate pair is refused"


@given(st.text(alphabet="{}[]\",:\\'a1.-e \n", max_size=40))
def test_whatever_the_strict_parser_reads_means_the_same(text: str) -> None:
    data = text.encode()
    found, tree = read(data)
    try:
        assert decode_json(data) == found
        assert tree.findings == []
    except Unfit:
        pass
