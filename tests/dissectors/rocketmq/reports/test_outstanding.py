"""What is delivered and not acknowledged: by offset, up to an offset, and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.rocketmq.reports import outstanding
from dissectors.rocketmq.reports.outstanding import Outstanding


def held(out: Outstanding[str]) -> tuple[int, int]:
    """How much it keeps: things, and places in its orders."""
    return len(out._held), sum(map(len, out._order.values()))


def test_one_and_all_before_one() -> None:
    out: Outstanding[str] = Outstanding()
    for offset in (5, 3, 4, 9):
        out.deliver("q", offset, f"m{offset}")
    out.deliver("other", 1, "x")
    assert out.take("q", 4) == "m4"
    assert out.take("q", 4) is None
    assert out.before("q", 9) == ["m3", "m5"]
    assert out.before("q", 9) == []
    assert out.before("none", 9) == []
    assert out.before("q", 10) == ["m9"]
    assert held(out) == (1, 1)


def test_the_same_place_again_is_another_thing() -> None:
    out: Outstanding[str] = Outstanding()
    out.deliver("q", 5, "a")
    out.deliver("q", 5, "b")
    assert out.before("q", 6) == ["b"]
    assert held(out) == (0, 0)


_STEPS = st.lists(st.tuples(st.sampled_from("dtb"), st.sampled_from("pq"), st.integers(0, 9)), max_size=60)


@given(_STEPS)
def test_it_is_a_table_of_places(steps: list[tuple[str, str, int]]) -> None:
    out: Outstanding[int] = Outstanding()
    plain: dict[tuple[str, int], int] = {}
    for number, (what, queue, offset) in enumerate(steps):
        if what == "d":
            out.deliver(queue, offset, number)
            plain[queue, offset] = number
        elif what == "t":
            assert out.take(queue, offset) == plain.pop((queue, offset), None)
        else:
            gone = sorted(key for key in plain if key[0] == queue and key[1] < offset)
            assert out.before(queue, offset) == [plain.pop(key) for key in gone]


@pytest.mark.parametrize("queues", [1, 7, 1000])
@pytest.mark.parametrize("down", [False, True])
def test_what_it_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch, queues: int, down: bool) -> None:
    monkeypatch.setattr(outstanding, "MOST", 20)
    out: Outstanding[str] = Outstanding()
    for at in range(1000):
        out.deliver(at % queues, -at if down else at, "x")
        out.take(at % queues, at - 3)
    things, places = held(out)
    assert things <= 20
    assert places <= 20 + min(queues, 20) * (outstanding._SLACK + 20)
    assert len(out._order) <= 20
