"""What the two processes tell each other comes over as it was said; anything else is nobody's line."""

from __future__ import annotations

import pytest

from analyzer.live import channel
from analyzer.live.asked import Asked, Bounds
from analyzer.live.channel import Line

LINES: list[Line] = [
    channel.Ready(("lo", "eth0"), ("a note",)),
    channel.Failed("no \u2028 right"),
    channel.Began("/tmp/a file\nwith a break.pcapng"),
    channel.Gone("x"),
    channel.Counted(1, 2, 3),
    channel.Stopped(1, 2, 3),
    channel.Stopped(1, 2, 3, "the disk is full"),
    channel.Start("x"),
    channel.Stop(),
]


@pytest.mark.parametrize("line", LINES)
def test_lines_come_over(line: Line) -> None:
    text = channel.to_line(line)
    assert text.count("\n") == 1
    assert channel.from_line(text) == line


@pytest.mark.parametrize("text", ["", "Password:", "[]", "3", '{"say": "no"}', '{"say": "gone"}', '{"say": []}'])
def test_what_others_say_is_nobodys_line(text: str) -> None:
    assert channel.from_line(text) is None


def test_what_is_asked_comes_over() -> None:
    asked = Asked(
        ("lo", "any"), "tcp port 1", 96, Bounds(packets=3, seconds=0.5), Bounds(size=7, files=2), False, 9, "x"
    )
    assert Asked.from_json(asked.to_json()) == asked
    assert not Bounds()
    assert Bounds(seconds=0.1)
