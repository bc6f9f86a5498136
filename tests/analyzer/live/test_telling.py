"""Lines are said without waiting, and heard whatever else comes."""

from __future__ import annotations

import os

from analyzer.live.channel import Began, Counted, Line, Start, Stop, from_line, to_line
from analyzer.live.telling import Hearing, Telling
from tests.effort import within

PATH = "x" * 3000


def test_who_does_not_read_hears_all_but_counts() -> None:
    source, out = os.pipe()
    telling = Telling(out)
    said: list[Line] = [Began(f"{number}{PATH}") for number in range(100)]
    with within(60.0):
        for line in said:
            telling(line)
            telling(Counted(1, 2, 3))
    assert telling.waiting
    heard = b""
    while telling.waiting:
        heard += os.read(source, 1 << 16)
        telling.flush()
    os.close(out)
    while data := os.read(source, 1 << 16):
        heard += data
    os.close(source)
    found = [from_line(line.decode()) for line in heard.splitlines()]
    assert [line for line in found if not isinstance(line, Counted)] == said
    assert len(found) < 200


def test_who_has_gone_is_no_error() -> None:
    source, out = os.pipe()
    os.close(source)
    telling = Telling(out)
    telling(Began("a"))
    assert not telling.waiting
    telling.finish(60.0)
    os.close(out)


def test_nonsense_is_passed_over() -> None:
    source, out = os.pipe()
    hearing = Hearing(source)
    os.write(out, b'\xff\xfe\nnull\n{"say": "start"}\n{"say": "nothing"}\n[]\n' + to_line(Stop()).encode() + b'{"say":')
    assert hearing.lines() == [Stop()]
    os.write(out, to_line(Start("a", True)).encode().removeprefix(b'{"say":'))
    assert hearing.lines() == [Start("a", True)]
    assert not hearing.ended
    os.close(out)
    assert hearing.lines() == []
    assert hearing.ended
    os.close(source)
