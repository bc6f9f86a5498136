"""Lines to whoever started the capturing process, who may not be reading, and lines from there.

Theory. Capturing waits for nobody. So a line is written as far as the pipe takes it, and the rest when the pipe has
room again; meanwhile lines that the next one of their kind replaces are not said at all.
"""

from __future__ import annotations

import os
import select
import time

from analyzer.live.channel import ChannelMessage, CountMessage, decode_message, encode_message

READ = 1 << 16
MOST = 1 << 20
"""Bytes of a line that never ends; it is no line of ours."""


class ChannelWriter:
    """Says lines to a descriptor, which it makes not to block."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._waiting = b""
        os.set_blocking(out, False)

    def fileno(self) -> int:
        """To poll for writing, while there is something waiting."""
        return self._out

    @property
    def waiting(self) -> bool:
        """Whether something could not be said yet."""
        return bool(self._waiting)

    def __call__(self, line: ChannelMessage) -> None:
        """Says it, now or later; Counted now or never."""
        if not (self._waiting and isinstance(line, CountMessage)):
            self._waiting += encode_message(line).encode()
            self.flush()

    def flush(self) -> None:
        """As much as there is room for. Who has gone hears nothing."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._out, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:
            self._waiting = b""

    def finish(self, patience: float) -> None:
        """Waits for room, some seconds at most."""
        end = time.monotonic() + patience
        while self._waiting and (left := end - time.monotonic()) > 0:
            select.select([], [self._out], [], left)
            self.flush()
        os.set_blocking(self._out, True)


class ChannelReader:
    """Lines from a descriptor; what is no line of ours is passed over."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._begun = b""
        self.ended = False

    def fileno(self) -> int:
        """To poll for reading."""
        return self._source

    def lines(self) -> list[ChannelMessage]:
        """What can be read without waiting, once poll said that there is something; `ended` when it was the end."""
        try:
            found = os.read(self._source, READ)
        except OSError:
            found = b""
        self.ended = not found
        *whole, rest = (self._begun + found).split(b"\n")
        self._begun = rest if len(rest) < MOST else b""
        said = (decode_message(line.decode(errors="replace")) for line in whole)
        return [line for line in said if line is not None]
