"""What a terminal may send: whatever it is, what comes behind it is read."""

from __future__ import annotations

import asyncio
import os
import pty
import threading
import time
import tty

import pytest
from textual.app import App
from textual.events import Key, Paste
from textual.message import Message

from tui.terminal import END, START, PasteFilter, TerminalDriver

GARBAGE = {
    "no UTF-8": b"a\xae\xff\xfe",
    "cut": b"\xe2\x82",
    "a paste": b"\x1b[200~q\xae\xffw\r\x1b[201~",
    "a key's number that is none": b"\x1b[:u",
    "a character beyond all": b"\x1b[99999999999u",
}


class Ear(TerminalDriver):
    """Notes what comes."""

    def __init__(self, app: App[None]) -> None:
        super().__init__(app, size=(80, 24))
        self.heard: list[Message] = []

    def process_message(self, message: Message) -> None:
        self.heard.append(message)


async def heard(*sent: bytes) -> list[Message]:
    ours, theirs = pty.openpty()
    ear = Ear(App())
    ear.fileno = theirs
    reading = threading.Thread(target=ear.run_input_thread)
    try:
        tty.setraw(theirs)
        reading.start()
        for each in sent:
            os.write(ours, each)
            await asyncio.sleep(0.15)
        end = time.monotonic() + 60
        while not any(isinstance(each, Key) and each.key == "z" for each in ear.heard) and time.monotonic() < end:
            await asyncio.sleep(0.01)
    finally:
        ear.exit_event.set()
        reading.join(60)
        os.close(ours)
        os.close(theirs)
    return ear.heard


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_keys_behind_garbage_are_read(garbage: bytes) -> None:
    found = asyncio.run(heard(garbage, b"z"))
    assert isinstance(found[-1], Key)
    assert found[-1].key == "z"


def test_a_paste_stays_a_paste() -> None:
    found = asyncio.run(heard(GARBAGE["a paste"], b"z"))
    assert [each.text for each in found if isinstance(each, Paste)] == ["q\ufffd\ufffdw\r"]
    assert [each.key for each in found if isinstance(each, Key)] == ["z"]


PIECES = {
    "keys alone": ("\x1b[A\x1bq", "\x1b[A\x1bq"),
    "a paste": (f"a{START}b{END}\x1b", f"a{START}b{END}\x1b"),
    "Escapes in it": (f"{START}\x1bq\x1b[2\x1b[31mx{END}\x1bq", f"{START}\ufffdq\ufffd[2\ufffd[31mx{END}\x1bq"),
    "the end before the beginning": (f"{END}{START}{START}\x1b{END}", f"{END}{START}\ufffd[200~\ufffd{END}"),
    "two": (f"{START}\x1b{END}{START}\x1b{END}", f"{START}\ufffd{END}{START}\ufffd{END}"),
}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(("text", "expected"), PIECES.values(), ids=PIECES)
def test_no_key_comes_out_of_a_paste(text: str, expected: str, size: int) -> None:
    pastes = PasteFilter()
    assert "".join(pastes.filter_text(text[at : at + size]) for at in range(0, len(text), size)) == expected
