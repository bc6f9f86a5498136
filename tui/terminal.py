"""Textual's driver for a terminal, made safe against input that is not text.

Theory. Anything may be pasted, and a terminal passes it on unchanged. Textual's input thread ends at the first byte
that is not UTF-8, and the program with it; and it takes text behind an Escape in a paste for keys, which may do
anything. Here both, such bytes and such an Escape, become the replacement character.
"""

from __future__ import annotations

import os
import select
from codecs import getincrementaldecoder
from contextlib import suppress

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

CHUNK = 4096
"""The bytes that are read at once."""

TICK = 0.1
"""Seconds after which a single Escape counts as the key."""


START, END = "\x1b[200~", "\x1b[201~"
"""The escape sequences around a paste."""

ESCAPE, REPLACEMENT = "\x1b", "\N{REPLACEMENT CHARACTER}"


class PasteFilter:
    """Filters text that comes in pieces: inside pastes it replaces every Escape but that of their end."""

    def __init__(self) -> None:
        self._is_inside = False
        self._rest = ""
        """The end of the last piece, which may be the beginning of START or END."""

    def filter_text(self, text: str) -> str:
        """Returns the next piece, filtered."""
        found = ""
        while text:
            pending, self._rest = self._rest, ""
            mark = END if self._is_inside else START
            part, found_mark, rest = (pending + text).partition(mark)
            if self._is_inside:
                if not found_mark:
                    size = next(size for size in range(len(END) - 1, -1, -1) if part.endswith(END[:size]))
                    part, self._rest = part[: len(part) - size], END[:size]
                found += part.replace(ESCAPE, REPLACEMENT) + found_mark
            else:
                if not found_mark:
                    self._rest = part[1 - len(START) :]
                found += (part + found_mark)[len(pending) :]
            self._is_inside ^= bool(found_mark)
            text = rest
        return found


class TerminalDriver(LinuxDriver):
    """Reads keys from a terminal as Textual's driver does, but survives invalid bytes."""

    def run_input_thread(self) -> None:
        """Reads and decodes input until the program ends or the terminal is gone."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        pastes = PasteFilter()
        is_last = False
        while not is_last:
            is_last = self.exit_event.is_set()
            text = ""
            if select.select((self.fileno,), (), (), TICK)[0]:
                data = os.read(self.fileno, CHUNK)
                if not data:
                    break  # the terminal is gone
                text = pastes.filter_text(decode(data))
            try:
                self._process_text(parser, text)
            except (ValueError, OverflowError):
                parser = XTermParser(self._debug)  # a number in a key's sequence was none: the old one has ended
        with suppress(EOFError, ParseError):
            list(parser.feed(""))

    def _process_text(self, parser: XTermParser, text: str) -> None:
        """Processes keys, clicks and pastes; without text, an Escape that nothing has followed."""
        if text:
            for event in parser.feed(text):
                self.process_message(event)
        for event in parser.tick():
            self.process_message(event)
