"""Declared expert info, of one message and of symbolic values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from dissectors.finding import Finding, Severity
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import BEGIN, END, Term
from dissectors.wire.expert_info import ExpertInfo, ExpertInfoTable, compile_expert_info, compile_first
from dissectors.wire.summary import Summaries

ROW = {"when": "time > 0", "severity": "note", "code": "throttled", "text": "waits {time} ms (KIP-124)"}


def fenced(values: Mapping[str, Any]) -> Iterator[Finding]:
    yield Finding(Severity.WARNING, "fenced-producer", f"epoch {values['epoch']:>3}")


EXPERT_INFO = ExpertInfoTable((compile_expert_info(Summaries(), ROW), ExpertInfo("epoch > 5", fenced)))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ({}, []),
        ({"time": 0, "epoch": 5}, []),
        ({"time": 30}, ["waits 30 ms (KIP-124)"]),
        ({"time": 30, "epoch": 6}, ["waits 30 ms (KIP-124)", "epoch   6"]),
        ({"time": "30"}, []),
    ],
)
def test_findings_of_a_message(values: dict[str, Any], texts: list[str]) -> None:
    assert [finding.text for finding in EXPERT_INFO(values)] == texts


def test_a_sentence_that_says_nothing_is_no_finding() -> None:
    assert not list(compile_expert_info(Summaries(), ROW | {"when": "", "text": "{time}"})({}))


def test_a_sentence_stands_for_many_messages_and_a_function_for_one() -> None:
    builder = TemplateBuilder(b"\1\2")
    time, epoch = (builder.integer(Term(at, 1, "B"), builder.data[at]) for at in (0, 1))
    (found,) = EXPERT_INFO.symbolic({"time": time, "epoch": epoch})
    assert found.text == f"waits {BEGIN}0{END} ms (KIP-124)"
    assert not any(builder.fixed)
    with pytest.raises(NotTemplatable):
        EXPERT_INFO.symbolic({"epoch": 6})


def test_the_first_of_several_rows_that_says_something() -> None:
    rows = [{"severity": "note", "code": "throttled", "text": text} for text in ("at {url}", "at {other}", "nowhere")]
    either = compile_first(Summaries(), rows)
    assert [finding.text for finding in either({"other": "b", "url": ""})] == ["at b"]
    assert [finding.text for finding in either({})] == ["nowhere"]
    assert not list(compile_first(Summaries(), rows[:2])({}))
