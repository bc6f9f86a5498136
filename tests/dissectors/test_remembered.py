"""What is remembered: by key, and bounded."""

from __future__ import annotations

from dissectors.remembered import Remembered, Weighed


def test_the_oldest_is_forgotten_first() -> None:
    kept: Remembered[str, int] = Remembered(2)
    for number, key in enumerate("abac"):
        kept.keep(key, number)
    assert [kept.get(key) for key in ("a", "b", "c", None)] == [None, 1, 3, None]
    assert (kept.take("b"), kept.take("b"), kept.take(None)) == (1, None, None)


def test_things_are_counted_in_all_values_together() -> None:
    kept: Weighed[str, str] = Weighed(len, 5)
    for key, value in (("a", "xx"), ("b", ""), ("c", "xx"), ("a", "x")):  # 2, 1, 2; then 1 instead of 2
        kept.keep(key, value)
    assert [kept.get(key) for key in "abc"] == ["x", "", "xx"]
    kept.keep("d", "xx")  # six: the oldest goes, which is b now
    assert [kept.get(key) for key in "abcd"] == ["x", None, "xx", "xx"]
    assert (kept.take("c"), kept.take("c")) == ("xx", None)
    kept.keep("e", "xx")
    assert [kept.get(key) for key in "ade"] == ["x", "xx", "xx"]
    kept.keep("f", "x" * 9)
    assert [kept.get(key) for key in "adef"] == [None, None, None, "x" * 9]
