"""Lines are said without waiting, and heard whatever else comes."""

from __future__ import annotations

import os

from analyzer.live.channel import (
    ChannelMessage,
    CountMessage,
    FileBegunMessage,
    StartCommand,
    StopCommand,
    decode_message,
    encode_message,
)
from analyzer.live.telling import ChannelReader, ChannelWriter
from tests.effort import within

PATH = "x" * 3000


def test_who_does_not_read_hears_all_but_counts() -> None:
    source, out = os.pipe()
    telling = ChannelWriter(out)
    said: list[ChannelMessage] = [FileBegunMessage(f"{number}{PATH}") for number in range(100)]
    with within(60.0):
        for line in said:
            telling(line)
            telling(CountMessage(1, 2, 3))
    assert telling.waiting
    heard = b""
    while telling.waiting:
        heard += os.read(source, 1 << 16)
        telling.flush()
    os.close(out)
    while data := os.read(source, 1 << 16):
        heard += data
    os.close(source)
    found = [decode_message(line.decode()) for line in heard.splitlines()]
    assert [line for line in found if not isinstance(line, CountMessage)] == said
    assert len(found) < 200


def test_who_has_gone_is_no_error() -> None:
    source, out = os.pipe()
    os.close(source)
    telling = ChannelWriter(out)
    telling(FileBegunMessage("a"))
    assert not telling.waiting
    telling.finish(60.0)
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
