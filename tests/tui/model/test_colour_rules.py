"""Which colour rule a row has: the first that holds of all rows, however few of them are asked at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from analyzer.config.model import ColorRule, Config, list_built_in_colors, protocol_colors
from analyzer.decode.bodies import decode_body
from analyzer.decode.content import read_cell
from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from tests.tui.driving import GOLDEN, KAFKA
from tui.model import colour_rules as module
from tui.model.colour_rules import ColourRules, choose_sign, compile_rules

MIXED = KAFKA.with_name("mixed.pcapng")
OWN = (
    ColorRule("large", "length > 4000", "on blue"),
    ColorRule("admin", 'client contains "admin"', "bold"),
    ColorRule("group", "kafka.group", "green"),
)


@pytest.fixture(params=[KAFKA, MIXED, GOLDEN / "k4_errors.pcap.zst"], ids=lambda path: path.name)
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    path: Path = request.param
    with Session([path]) as found:
        yield found.load()


def expected(session: Session, colors: tuple[ColorRule, ...]) -> list[str | None]:
    """By asking each rule of all rows, the last first."""
    names: list[str | None] = [None] * len(session.rows)
    several = len(set(session.rows.column("protocol").tolist()) - {-1}) > 1
    for color in reversed(colors):
        if several or color not in protocol_colors():
            for row in compile_filter(color.filter).select_rows(RowReader(session), range(len(session.rows))).tolist():
                names[row] = color.name
    return names


def asked(session: Session, colouring: ColourRules, rows: list[int]) -> list[str | None]:
    partners = {row: read_cell(session, "partner", row) for row in rows}
    colouring.find_rules(partners)
    wanting = colouring.list_missing(rows)
    colouring.add_matches(colouring.edition, wanting, colouring.match_expensive(wanting))
    assert colouring.list_missing(rows) == []
    return [None if rule is None else rule.name for rule in colouring.find_rules(partners).values()]


@pytest.mark.parametrize("own", [(), OWN])
def test_the_first_that_holds(session: Session, own: tuple[ColorRule, ...]) -> None:
    colors = Config(own_colors=own).colors
    rules, wrong = compile_rules(colors, {})
    assert wrong == []
    colouring = ColourRules(session, rules)
    colouring.grow(len(session.rows))
    found: list[str | None] = []
    for first in range(0, len(session.rows), 50):
        found += asked(session, colouring, list(range(first, min(first + 50, len(session.rows)))))
    assert found == expected(session, colors)
    assert len(set(found)) > 1


def test_dear_rules_wait_for_another_thread() -> None:
    with Session([GOLDEN / "k4_errors.pcap.zst"]).load() as session:
        rules, _ = compile_rules((ColorRule("error", "error", "red"), ColorRule("all", "length > 0", "blue")), {})
        colouring = ColourRules(session, rules)
        rows = list(range(len(session.rows)))
        partners = {row: read_cell(session, "partner", row) for row in rows}
        at_first = colouring.find_rules(partners)
        assert {rule.name for rule in at_first.values() if rule} == {"all"}
        changed = colouring.add_matches(colouring.edition, rows, colouring.match_expensive(rows))
        assert changed == [row for row in rows if decode_body(session, row).error is not None]
        assert changed
        colouring.clear()
        late = colouring.edition - 1
        colouring.find_rules(partners)
        assert colouring.add_matches(late, rows, dict.fromkeys(rows, 0)) == []
        assert colouring.list_missing(rows) == rows


def test_an_answer_has_its_request_asked_again() -> None:
    with Session([KAFKA]).load() as session:
        rules, _ = compile_rules((ColorRule("answered", "partner", "red"),), {})
        colouring = ColourRules(session, rules)
        partners = session.rows.column("partner")
        before = partners[0]
        partners[0] = np.iinfo(np.int32).min
        assert colouring.find_rules({0: None}) == {0: None}
        partners[0] = before
        assert colouring.find_rules({0: None}) == {0: None}
        assert colouring.find_rules({0: int(before) + 1})[0] is not None


def test_few_are_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MATCHES", 80)
    with Session([KAFKA]).load() as session:
        colouring = ColourRules(session, compile_rules(list_built_in_colors(), {})[0])
        for first in range(0, 600, 50):
            asked(session, colouring, list(range(first, first + 50)))
        assert len(colouring._matches) == 80


def test_what_is_looked_at_stays_while_others_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page back may show rows that are known beside rows that were let go of long since."""
    monkeypatch.setattr(module, "MOST_MATCHES", 80)
    with Session([KAFKA]).load() as session:
        rules = compile_rules(list_built_in_colors(), {})[0]
        colouring = ColourRules(session, rules)
        for first in range(0, 120, 40):
            asked(session, colouring, list(range(first, first + 40)))
        page = list(range(20, 60))
        assert asked(session, colouring, page) == asked(session, ColourRules(session, rules), page)


def test_a_wrong_filter_is_one_sentence() -> None:
    colors = (ColorRule("bad", "latency >", "red"), ColorRule("named", "$slow", "red"), ColorRule("no", "$no", "red"))
    rules, wrong = compile_rules(colors, {"slow": "latency > 1s"})
    assert [rule.name for rule in rules] == ["named"]
    assert len(wrong) == 2
    assert all(sentence.startswith("The colour rule ") and "\n" not in sentence for sentence in wrong)


def test_signs() -> None:
    signs = {rule.name: choose_sign(rule.name) for rule in list_built_in_colors()}
    assert len(set(signs.values())) == len(signs) - 1  # rocketmq and retransmitted
    assert (choose_sign("Orders"), choose_sign("12 o'clock"), choose_sign("\x1b[31m"), choose_sign("漢")) == (
        "o",
        "1",
        "3",
        "c",
    )
