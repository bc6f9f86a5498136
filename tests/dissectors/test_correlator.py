"""What correlators keep, by key and bounded; what they hand on from a request to its answer."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.correlator import (
    BoundedTable,
    ConnectionEnd,
    Correlator,
    MessageEvent,
    Moment,
    NumberedTable,
    Repeats,
    WeighedTable,
    WindowTable,
    for_request,
    keep_time,
    subscribe,
)
from dissectors.message import Context, Role


def test_the_oldest_is_evicted_first() -> None:
    evicted: list[int] = []
    table: BoundedTable[str, int] = BoundedTable(2, make=lambda: 7, evict=evicted.append)
    for number, key in enumerate("abac"):
        table[key] = number
    assert [table.get(key) for key in ("a", "b", "c", None)] == [None, 1, 3, None]
    assert evicted == [2]
    assert (table.find("c"), table.find("d"), evicted) == (3, 7, [2, 1])
    assert (table.pop("d"), table.pop("d"), table.pop(None)) == (7, None, None)
    table["e"] = 4
    table.renew("c")
    assert (list(table.values()), len(table), "e" in table) == ([4, 3], 2, True)


def test_things_are_counted_in_all_values_together() -> None:
    table: WeighedTable[str, str] = WeighedTable(len, 5)
    for key, value in (("a", "xx"), ("b", ""), ("c", "xx"), ("a", "x")):  # 2, 1, 2; then 1 instead of 2
        table[key] = value
    assert [table.get(key) for key in "abc"] == ["x", "", "xx"]
    table["d"] = "xx"  # six: the oldest goes, which is b now
    assert [table.get(key) for key in "abcd"] == ["x", None, "xx", "xx"]
    assert (table.pop("c"), table.pop("c")) == ("xx", None)
    table["e"] = "xx"
    assert [table.get(key) for key in "ade"] == ["x", "xx", "xx"]
    table["f"] = "x" * 9
    assert [table.get(key) for key in "adef"] == [None, None, None, "x" * 9]


def test_what_a_connection_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissectors.correlator.LIMIT", 3)
    table: NumberedTable[int] = NumberedTable()
    for stream, number in ((0, 0), (1, 5), (2, 0), (1, 2), (3, 0)):
        table[stream, number] = number
    assert [table.items_on(stream) for stream in range(4)] == [[], [((1, 2), 2)], [((2, 0), 0)], [((3, 0), 0)]]
    assert (table.pop((1, 2)), table.pop((1, 2)), table.items_on(1)) == (2, None, [])


def test_a_window_that_expires_begins_anew() -> None:
    table: WindowTable[str, Repeats] = WindowTable(Repeats, 10)
    text = [time for time in range(11) if table.find_at("a", time).add(3)]
    assert text == [2, 5]
    assert (table.find_at("a", 10).count, table.find_at("a", 11).count, table.find_at("a", 12).begun) == (11, 0, 11)


def event(row: int, role: Role, partner: int | None, **more: Any) -> MessageEvent:
    return MessageEvent(row, "p", Context(role, 1), {}, 3, 10 * row, True, "OP", None, None, partner, **more)


class Echo(Correlator[tuple[object, int]]):
    """Says of each answer what its request was."""

    now = 0

    def ask(self, event: MessageEvent) -> None:
        self.await_answer(event, f"request {event.row}")

    def answer(self, kept: str, event: MessageEvent) -> None:
        self.emit((kept, self.now))

    on = keep_time(
        subscribe([("p", 1, Role.REQUEST)], ask) | subscribe([("p", 1, Role.RESPONSE)], for_request(answer), {("f",)})
    )


def test_a_request_hands_over_what_its_answer_needs() -> None:
    found: list[tuple[object, int]] = []
    echo = Echo(lambda stream: ("", ""), found.append)
    echo.receive(event(1, Role.REQUEST, 2))
    echo.receive(event(3, Role.REQUEST, None))
    for answer in (
        event(2, Role.RESPONSE, 1, more_answers=True),
        event(4, Role.RESPONSE, 1),
        event(5, Role.RESPONSE, 1),
    ):
        echo.receive(answer)
    echo.receive(event(6, Role.RESPONSE, 3))
    assert found == [("request 1", 30), ("request 1", 40)]
    assert Echo.on["p", 1, Role.RESPONSE].paths == {("f",)}


def test_what_lies_between_two_moments() -> None:
    moment = Moment(5, 1)
    assert moment.measure_until(event(2, Role.REQUEST, None, losses=1)) == 15
    assert moment.measure_until(ConnectionEnd(3, 7, True, 2)) is None
    end = ConnectionEnd(3, 7, False, 1, lambda stream: (f"c{stream}", f"s{stream}"))
    assert (moment.measure_until(end), end.client, end.ender) == (2, "c3", "s3")
