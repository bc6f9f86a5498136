"""What the two processes tell each other comes over as it was said; anything else is nobody's line."""

from __future__ import annotations

import pytest

from analyzer.live import channel
from analyzer.live.asked import CaptureBounds, CaptureRequest
from analyzer.live.channel import ChannelMessage

LINES: list[ChannelMessage] = [
    channel.ReadyMessage(("lo", "eth0"), ("a note",)),
    channel.FailureMessage("no \u2028 right"),
    channel.FileBegunMessage("/tmp/a file\nwith a break.pcapng"),
    channel.FileRemovedMessage("x"),
    channel.CountMessage(1, 2, 3),
    channel.RunEndMessage(1, 2, 3),
    channel.RunEndMessage(1, 2, 3, "the disk is full"),
    channel.StartCommand("x"),
    channel.StopCommand(),
]


@pytest.mark.parametrize("line", LINES)
def test_lines_come_over(line: ChannelMessage) -> None:
    text = channel.encode_message(line)
    assert text.count("\n") == 1
    assert channel.decode_message(text) == line


@pytest.mark.parametrize("text", ["", "Password:", "[]", "3", '{"say": "no"}', '{"say": "gone"}', '{"say": []}'])
def test_what_others_say_is_nobodys_line(text: str) -> None:
    assert channel.decode_message(text) is None


def test_what_is_asked_comes_over() -> None:
    asked = CaptureRequest(
        ("lo", "any"),
        "tcp port 1",
        96,
        CaptureBounds(packets=3, seconds=0.5),
        CaptureBounds(size=7, files=2),
        False,
        9,
        "x",
    )
    assert CaptureRequest.from_json(asked.to_json()) == asked
    assert not CaptureBounds()
    assert CaptureBounds(seconds=0.1)
