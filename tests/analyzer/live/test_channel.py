"""What the two processes tell each other comes over as it was said; anything else is nobody's line."""

from __future__ import annotations

import os

import pytest

from analyzer.live import channel
from analyzer.live.capture_request import CaptureBounds, CaptureRequest
from analyzer.live.channel import (
    ChannelMessage,
    ChannelReader,
    ChannelWriter,
    CountMessage,
    FileBegunMessage,
    StartCommand,
    StopCommand,
    decode_message,
    encode_message,
)
from tests.effort import within

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


def test_what_is_requested_comes_over() -> None:
    requested = CaptureRequest(
        ("lo", "any"),
        "tcp port 1",
        96,
        CaptureBounds(packets=3, seconds=0.5),
        CaptureBounds(size=7, files=2),
        False,
        9,
        "x",
    )
    assert CaptureRequest.from_json(requested.to_json()) == requested
    assert not CaptureBounds()
    assert CaptureBounds(seconds=0.1)


PATH = "x" * 3000


def test_who_does_not_read_hears_all_but_counts() -> None:
    source, out = os.pipe()
    writer = ChannelWriter(out)
    text: list[ChannelMessage] = [FileBegunMessage(f"{number}{PATH}") for number in range(100)]
    with within(60.0):
        for line in text:
            writer(line)
            writer(CountMessage(1, 2, 3))
    assert writer.waiting
    received = b""
    while writer.waiting:
        received += os.read(source, 1 << 16)
        writer.flush()
    os.close(out)
    while data := os.read(source, 1 << 16):
        received += data
    os.close(source)
    found = [decode_message(line.decode()) for line in received.splitlines()]
    assert [line for line in found if not isinstance(line, CountMessage)] == text
    assert len(found) < 200


def test_a_reader_that_left_is_no_error() -> None:
    source, out = os.pipe()
    os.close(source)
    writer = ChannelWriter(out)
    writer(FileBegunMessage("a"))
    assert not writer.waiting
    writer.finish(60.0)
    os.close(out)


def test_nonsense_is_passed_over() -> None:
    source, out = os.pipe()
    hearing = ChannelReader(source)
    os.write(
        out,
        b'\xff\xfe\nnull\n{"say": "start"}\n{"say": "nothing"}\n[]\n'
        + encode_message(StopCommand()).encode()
        + b'{"say":',
    )
    assert hearing.lines() == [StopCommand()]
    os.write(out, encode_message(StartCommand("a", True)).encode().removeprefix(b'{"say":'))
    assert hearing.lines() == [StartCommand("a", True)]
    assert not hearing.ended
    os.close(out)
    assert hearing.lines() == []
    assert hearing.ended
    os.close(source)
