"""What is remembered: by key, and bounded."""

from __future__ import annotations

from dissectors.remembered import Remembered


def test_the_oldest_is_forgotten_first() -> None:
    kept: Remembered[str, int] = Remembered(2)
    for number, key in enumerate("abac"):
        kept.keep(key, number)
    assert [kept.get(key) for key in ("a", "b", "c", None)] == [None, 1, 3, None]
    assert (kept.take("b"), kept.take("b"), kept.take(None)) == (1, None, None)
