"""What is delivered and not acknowledged: one by one, up to a place, bit by bit; bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors import outstanding
from dissectors.outstanding import Acknowledgement, Outstanding


def filled(*entries: int, left: int = 1) -> Outstanding[int]:
    found: Outstanding[int] = Outstanding()
    for entry in entries:
        assert found.deliver("r", (1, entry), entry, left, None) is None
    return found


def test_one_by_one() -> None:
    found = filled(0, 1)
    assert found.acknowledge("r", (1, 1), None) == Acknowledgement(1, 1, True)
    assert found.acknowledge("r", (1, 1), None) is None
    assert found.acknowledge("other", (1, 0), None) is None
    assert found.acknowledge("r", (1, 0), None) == Acknowledgement(0, 1, True)


def test_up_to_a_place_whatever_the_order() -> None:
    found = filled(5, 2, 9, 0)
    assert [each.thing for each in found.acknowledge_to("r", (1, 5), None)] == [0, 2, 5]
    assert found.acknowledge_to("r", (1, 5), None) == []
    assert [each.thing for each in found.acknowledge_to("r", (2, 0), None)] == [9]


def test_what_ack_sets_leave_is_what_is_set_in_all() -> None:
    found = filled(0, left=5)
    assert found.acknowledge("r", (1, 0), 0b11110) == Acknowledgement(0, 1, False)
    assert found.acknowledge("r", (1, 0), 0b11101) == Acknowledgement(0, 1, False)
    assert found.acknowledge("r", (1, 0), 0b11101) == Acknowledgement(0, 0, False)
    assert found.acknowledge_to("r", (1, 0), 0b00001) == [Acknowledgement(0, 3, True)]


def test_a_batch_that_was_delivered_in_part() -> None:
    found: Outstanding[str] = Outstanding()
    found.deliver("r", (1, 0), "a", 3, 0b10101)
    assert found.acknowledge("r", (1, 0), 0b11110) == Acknowledgement("a", 1, False)
    assert found.acknowledge("r", (1, 0), None) == Acknowledgement("a", 2, True)


def test_of_a_batch_of_any_size_nothing_is_made() -> None:
    found = filled(0, left=1 << 62)
    assert found.acknowledge("r", (1, 0), 1) == Acknowledgement(0, 0, False)
    assert found.acknowledge("r", (1, 0), None) == Acknowledgement(0, 1 << 62, True)


def test_what_stood_there_is_reported() -> None:
    found = filled(0, left=3)
    assert found.deliver("r", (1, 0), 8, 2, None) == Acknowledgement(0, 3, False)
    assert found.acknowledge("r", (1, 0), None) == Acknowledgement(8, 2, True)


def test_all_of_a_reader() -> None:
    found = filled(0, 1, 2)
    found.acknowledge("r", (1, 1), None)
    assert found.drop("r") == [(1, 0), (1, 2)]
    assert found.drop("r") == []
    assert found.acknowledge("r", (1, 0), None) is None


def test_the_oldest_is_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outstanding, "LIMIT", 3)
    evicted: list[tuple[int, int]] = []
    found: Outstanding[int] = Outstanding(lambda thing, left: evicted.append((thing, left)))
    for entry in range(3):
        found.deliver("r", (1, entry), entry, 2, None)
    assert evicted == []
    found.deliver("s", (1, 0), 7, 4, None)
    assert evicted == [(0, 2)]
    assert [each.thing for each in found.acknowledge_to("r", (9, 9), None)] == [1, 2]


@given(
    st.lists(
        st.tuples(st.sampled_from(["deliver", "ack", "to", "before", "drop"]), st.integers(0, 1), st.integers(0, 5)),
        max_size=40,
    )
)
def test_as_a_plain_dictionary_has_it(steps: list[tuple[str, int, int]]) -> None:
    found: Outstanding[int] = Outstanding()
    plain: dict[tuple[int, int], int] = {}
    for serial, (what, reader, entry) in enumerate(steps):
        if what == "deliver":
            before = found.deliver(reader, (1, entry), serial, 1, None)
            assert (before and before.thing) == plain.get((reader, entry))
            plain[reader, entry] = serial
        elif what == "ack":
            done = found.acknowledge(reader, (1, entry), None)
            assert (done and done.thing) == plain.pop((reader, entry), None)
        elif what == "before":
            removed = sorted(key for key in plain if key[0] == reader and key[1] < entry)
            assert [each.thing for each in found.acknowledge_before(reader, (1, entry))] == [
                plain.pop(key) for key in removed
            ]
        elif what == "to":
            expected = [(each, plain.pop((reader, each), None)) for each in range(entry + 1)]
            assert [each.thing for each in found.acknowledge_to(reader, (1, entry), None)] == [
                thing for _, thing in expected if thing is not None
            ]
        else:
            removed = [key for key in plain if key[0] == reader]
            assert sorted(found.drop(reader)) == sorted((1, each) for _, each in removed)
            for key in removed:
                del plain[key]


def test_places_that_are_removed_are_not_retained() -> None:
    found: Outstanding[int] = Outstanding()
    for entry in range(10_000):
        found.deliver("r", (1, entry), entry, 1, None)
        found.acknowledge("r", (1, entry), None)
    assert len(found._order.get("r", ())) < 200


@pytest.mark.parametrize("readers", [1, 7, 1000])
@pytest.mark.parametrize("down", [False, True])
def test_what_it_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch, readers: int, down: bool) -> None:
    monkeypatch.setattr(outstanding, "LIMIT", 20)
    found: Outstanding[str] = Outstanding()
    for at in range(1000):
        found.deliver(at % readers, -at if down else at, "x")
        found.acknowledge(at % readers, at - 3)
    assert len(found._entries) <= 20
    assert sum(map(len, found._order.values())) <= 20 + min(readers, 20) * (outstanding._SLACK + 20)
    assert len(found._order) <= 20
