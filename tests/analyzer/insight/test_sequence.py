"""Sequence diagrams of real captures: lanes by name, what matters as steps of its own, the rest folded."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

from analyzer.columns.text import safe_text
from analyzer.decode.rows import RowReader
from analyzer.insight.sequence import DiagramSource, SequenceDiagram, Step, build_sequence
from analyzer.query.filter import compile_filter
from analyzer.render.lines import strip_styles
from analyzer.render.sequence_files import write_mermaid, write_svg
from analyzer.render.sequence_text import format_sequence
from analyzer.session import Session
from tests.documents import ROOT
from tests.tui.driving import KAFKA

ELECTION = ROOT.parent / "shared" / "truth" / "zookeeper" / "en395_leader_kill.pcap.zst"


def diagram_of(filter_text: str, steps: int, lanes: int = 12) -> SequenceDiagram:
    with Session([KAFKA]).load() as session:
        rows = compile_filter(filter_text).select_rows(RowReader(session), np.arange(len(session.rows)))
        return build_sequence(session, rows, DiagramSource.load(session), steps, lanes)


@pytest.fixture(scope="module")
def rebalance() -> SequenceDiagram:
    return diagram_of("group == jg-RangeAssignor", 40)


def test_a_rebalance_is_told_in_one_screen(rebalance: SequenceDiagram) -> None:
    assert sorted(rebalance.lanes) == ["RangeAssignor-0", "RangeAssignor-1", "broker 1", "broker 2"]
    assert (rebalance.left_out, len(rebalance.steps) <= 40) == (0, True)
    folded = sum(2 * step.count for step in rebalance.steps if step.count > 1)
    assert folded + sum(len(step.rows) for step in rebalance.steps if step.count == 1) == rebalance.messages
    assert [step.error for step in rebalance.steps if step.error] == ["REBALANCE_IN_PROGRESS"]
    assert any(step.operation == "Heartbeat" and step.count > 1 for step in rebalance.steps)


def test_lines_are_as_wide_as_the_terminal(rebalance: SequenceDiagram) -> None:
    for width in (80, 120, 200):
        lines = [strip_styles(line) for line, _ in format_sequence(rebalance, width)]
        assert max(map(len, lines)) <= width
        assert len(lines) == len(rebalance.steps) + 1
    assert any("│◄" in line and "JoinGroup" in line and "►│" in line for line in lines)


def test_files_have_every_step(rebalance: SequenceDiagram) -> None:
    arrows = [step for step in rebalance.steps if not step.pause_ns]
    assert write_mermaid(rebalance).count("\n    P") >= len(arrows)
    picture = ElementTree.fromstring(write_svg(rebalance))
    assert sum(each.tag.endswith("path") for each in picture.iter()) == sum(1 + step.both for step in arrows)


def test_many_participants_share_a_lane_and_the_rest_is_counted() -> None:
    found = diagram_of("kafka", 10, lanes=4)
    assert len(found.lanes) == 4
    assert found.lanes[-1] == "others"
    assert found.left_out > 0


@pytest.mark.skipif(not ELECTION.exists(), reason=f"{ELECTION.name} is absent")
def test_an_election_is_told_in_one_screen() -> None:
    with Session([ELECTION]).load() as session:
        found = build_sequence(session, np.arange(len(session.rows)), DiagramSource.load(session))
    assert (found.left_out, len(found.steps) <= 64) == (0, True)
    told = [step.operation for step in found.steps if step.count == 1]
    assert told.count("UPTODATE") == 3
    assert sum(step.count for step in found.steps if step.operation == "Notification") > told.count("Notification")


HOSTILE = [
    '"><script>alert(1)</script>',
    "a' onload='b",
    "; P0->>P1: forged",
    "two\nlines\r\nP0->>P1: forged",
    "%%{init: {'securityLevel': 'loose'}}%%",
    "%% a comment",
    "#lt;b#gt; &lt;b&gt; &#60;",
    "]]></text><!-- \x1b[2J\x00\ud800\u202e",
    "wrap: end",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_captures_are_only_text_in_files(text: str) -> None:
    step = Step(0, 0, 1, text, text, error=text, rows=(0,))
    diagram = SequenceDiagram([text, "other"], [step, Step(1, pause_ns=10**9)], 3, left_out=1)
    shown = safe_text(text)
    picture = ElementTree.fromstring(write_svg(diagram))
    assert {each.tag.rpartition("}")[2] for each in picture.iter()} == {"svg", "style", "rect", "line", "text", "path"}
    assert {name for each in picture.findall("{*}text") for name in each.attrib} == {"x", "y", "class", "text-anchor"}
    texts = [each.text or "" for each in picture.findall("{*}text")]
    assert any(each.rstrip("…") and shown.startswith(each.rstrip("…")) for each in texts)
    head, *lines = write_mermaid(diagram).splitlines()
    assert head == "sequenceDiagram"
    assert [line.split()[0] for line in lines] == ["participant", "participant", "P0-xP1:", "Note", "Note"]
    for line, start in ((lines[0], "participant P0 as "), (lines[2], "P0-xP1: ")):
        quoted = line.strip().removeprefix(start)
        assert not re.search(r'[;:%&<>"]', re.sub(r"#\w+;", "", quoted))
        assert unescape(re.sub(r"#(\d+);", r"&#\1;", re.sub(r"#([a-z]+);", r"&\1;", quoted))).startswith(shown)
