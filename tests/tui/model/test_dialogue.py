"""The lines of a dialogue, held against what `wireanalyze follow` prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from analyzer.cli.follow import command
from analyzer.decode.jsonable import Limits
from analyzer.decode.name_resolver import NameResolver
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Talk, capture, segments
from tests.tui.driving import GOLDEN, KAFKA
from tests.tui.hostile import metadata
from tui.model import dialogue as model
from tui.model.dialogue import Dialogue


def opened(session: Session, stream: int, wishes: list[int]) -> Dialogue:
    rows = np.flatnonzero(session.rows.column("stream") == stream)
    resolver = NameResolver(session)
    resolver.learn(len(session.rows))
    began = session.rows.cell("time", int(rows[0]))
    return Dialogue(session, rows, began, Limits(), resolver, wishes.append)


def spelled(dialogue: Dialogue) -> list[str]:
    accordion = dialogue.fold_list
    spots = [accordion.locate(line) for line in range(accordion.lines)]
    lines = [
        dialogue.make_child(spot.head, spot.offset - 1) if spot.offset else dialogue.make_head(spot.head)
        for spot in spots
    ]
    return [strip_styles(line) for line in lines]


@pytest.mark.parametrize("remaining", [20_000, 100])
@pytest.mark.parametrize(("path", "stream"), [(KAFKA, 0), (KAFKA, 9), (GOLDEN / "k4_java_classic.pcap.zst", 6)])
def test_as_the_command_prints_it(path: Path, stream: int, remaining: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_LINES", max(remaining, 1000))
    with Session([path]).load() as session:
        wishes: list[int] = []
        dialogue = opened(session, stream, wishes)
        text = CliRunner().invoke(command, [str(path), str(stream)]).stdout.splitlines()[1:]
        assert spelled(dialogue) == text
        text = CliRunner().invoke(command, [str(path), str(stream), "--as", "fields"]).stdout.splitlines()[1:]
        for head in range(len(dialogue.rows)):
            dialogue.unfold(head)
        assert spelled(dialogue) == text
        assert wishes == []


def test_a_long_message_is_wished_for_and_shown_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "LONG", 1000)
    long = metadata(2, "c", ["x" * 500] * 3)
    path = capture(tmp_path / "long.pcap", segments(Talk(((CLIENT, metadata(1, "c", ["a"])), (CLIENT, long)))))
    with Session([path]).load() as session:
        wishes: list[int] = []
        dialogue = opened(session, 0, wishes)
        assert "decoding" in strip_styles(dialogue.make_head(1))
        assert wishes == [1]
        assert dialogue.unfold(1) == 1
        assert strip_styles(dialogue.make_child(1, 0)) == "decoding ..."
        assert wishes == [1]
        assert dialogue.add_decoded(1, dialogue.decode_message(1)) == (1, 14)
        text = CliRunner().invoke(command, [str(path), "0", "--as", "fields"]).stdout.splitlines()[1:]
        dialogue.unfold(0)
        assert spelled(dialogue) == text


def test_no_more_lines_than_can_be_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_LINES", 10)
    with Session([KAFKA]).load() as session:
        dialogue = opened(session, 0, [])
        assert dialogue.unfold(1) == 11
        assert strip_styles(dialogue.make_child(1, 10)) == "and more than these 10 fields: the tree shows them all"
        dialogue.unfold(3)
        assert len(dialogue._fields) == 1
        assert strip_styles(dialogue.make_child(1, 0)).split()[:2] == ["0+4", "length:"]
