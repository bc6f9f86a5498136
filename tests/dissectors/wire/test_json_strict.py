"""Which bytes are JSON by the book, and not too deep: without making a node."""

from __future__ import annotations

import pytest

from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import DEPTH
from tests.effort import within, within_steps


@pytest.mark.parametrize(("data", "expected"), [
    (b"{}", True),
    (b' [1, 2.5e3, null, "\\u00e9"]\n', True),
    (b"17", True),
    (b"", False),
    (b"{'a':1}", False),
    (b"[1,]", False),
    (b"[NaN]", False),
    (b"[-Infinity]", False),
    (b'"\xff"', False),
    (b"{} {}", False),
    (b"[" + b"9" * 5000 + b"]", False),
    (b"[" * 100_000, False),
    (b"[" * DEPTH + b"]" * DEPTH, True),
    (b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1), False),
    (b'{"a":[' * (DEPTH // 2) + b"]}" * (DEPTH // 2), True),
    (b'{"a":[' * DEPTH + b"]}" * DEPTH, False),
    (b"[" + b"[]," * 1000 + b"{}]", True),
    (b'["' + b"[{" * 100 + b'\\"]"]', True),
], ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else "")  # fmt: skip
def test_what_is_json(data: bytes, expected: bool) -> None:
    assert is_json(data) is expected


def test_depth_costs_little() -> None:
    deep = b"[" + b"[]," * 400_000 + b"[" * DEPTH + b"]" * DEPTH + b"]"
    with within(10), within_steps(2_000):  # some 0.06 s and 180 steps: a node for each bracket would be millions
        assert not is_json(deep)
