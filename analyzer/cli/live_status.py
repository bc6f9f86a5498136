"""Status of a live capture on stderr: a status line on a terminal, else warnings.

Theory. A separate thread prints the status, so that it is current also while no packets arrive, and while a slow reader
of our output blocks us. Both threads write to the same terminal, so the thread that prints rows removes the status line
first.
"""

from __future__ import annotations

import select
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self, TextIO

from analyzer.cli.errors import sentence
from analyzer.columns.text import safe_text
from analyzer.live.capture import RunHealth
from analyzer.live.live_session import LiveSession

TICK = 0.5
"""Seconds between two updates."""

LATE, CAUGHT_UP = 3.0, 0.5
"""Seconds of delay from which on the status reports it, and below which it no longer does."""

QUIET = 60.0
"""Seconds without dropped packets after which the next drop is reported again."""

WIPE = "\r\x1b[K"


class LiveStatus:
    """Watches a capture while it is a context. `worst`: the longest delay. `printed`: messages handled so far.

    If the output has no reader any more, it stops the capture and sets `left_alone`.
    """

    def __init__(self, sniffing: LiveSession, out: TextIO | None = None) -> None:
        self._sniffing, self._out = sniffing, sys.stderr if out is None else out
        self._line = self._out.isatty()
        self._shared = self._line and sys.stdout.isatty()
        self.worst = RunHealth(0, 0, 0, 0, 0.0, 0)
        self.printed, self.left_alone = 0, False
        self._writing = threading.Lock()
        self._over = threading.Event()
        self._behind, self._dropped, self._quiet = False, 0, QUIET
        self._thread = threading.Thread(target=self._watch, name="status", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(TICK)  # it may be blocked in a write
        if self._line and self._writing.acquire(timeout=TICK):
            self._write(WIPE)

    @contextmanager
    def hide_status(self) -> Iterator[None]:
        """Hides the status line while rows are printed to the same terminal."""
        if not self._shared:
            yield
            return
        with self._writing:
            self._write(WIPE)
            yield

    def summary(self) -> str:
        """Returns how far rows were behind, for the end; an empty text if they kept up."""
        left = len(self._sniffing.session.rows) - self.printed
        late = f"rows were at most {_late(self.worst)}" if self.worst.lag >= CAUGHT_UP else ""
        unguessed = _format_skipped(self._sniffing)
        parts = (f"{left:,} of them were not printed" if left else "", late, unguessed)
        return "; ".join(part for part in parts if part)

    def _watch(self) -> None:
        watched = _reader()
        while not self._over.wait(TICK):
            health = self._sniffing.health()
            if health.lag > self.worst.lag:
                self.worst = health
            if watched is not None and watched.poll(0):
                self.left_alone, watched = True, None
                self._sniffing.stop()
            if self._line:
                with self._writing:
                    if not self._over.is_set():
                        self._write(WIPE + self._format_health(health))
            else:
                for text in self._list_warnings(health):
                    self._write(sentence(text) + "\n")

    def _format_health(self, health: RunHealth) -> str:
        sniffing = self._sniffing
        title = sniffing.title.removeprefix("live: ")
        parts = [f"{sniffing.state} {title}: {health.captured:,} packets, {len(sniffing.session.rows):,} messages"]
        if health.dropped:
            parts.append(f"{health.dropped:,} dropped by the kernel")
        if health.lag >= CAUGHT_UP:
            parts.append(_late(health))
        if unguessed := _format_skipped(sniffing):
            parts.append(unguessed)
        return safe_text(", ".join(parts), max(shutil.get_terminal_size().columns - 1, 20))

    def _list_warnings(self, health: RunHealth) -> Iterator[str]:
        """Yields new warnings."""
        if health.dropped > self._dropped:
            if self._quiet >= QUIET:
                yield (
                    f"warning: The kernel dropped {health.dropped:,} packets. "
                    "Give a narrower -f, a shorter -s or a larger -B."
                )
            self._dropped, self._quiet = health.dropped, 0.0
        self._quiet += TICK
        if not self._behind and health.lag >= LATE:
            self._behind = True
            yield f"warning: Rows are {_late(health)}. No packets are lost."
        elif self._behind and health.lag < CAUGHT_UP:
            self._behind = False
            yield "Rows have caught up with the capture."

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal may be closed
            self._out.write(text)
            self._out.flush()


def _late(health: RunHealth) -> str:
    return f"{health.lag:,.1f} s ({health.backlog:,} packets) behind"


def _format_skipped(sniffing: LiveSession) -> str:
    """Returns how many responses without requests were not guessed; an empty text if all were."""
    budget = sniffing.session.engine.guesses
    count = 0 if budget is None else budget.skipped
    return f"{count:,} responses without requests were not guessed" if count else ""


def _reader() -> select.poll | None:
    """Returns a poll object that reports when stdout has no reader any more; None if that cannot be detected."""
    if not hasattr(select, "poll"):
        return None
    watched = select.poll()
    try:
        watched.register(sys.stdout.fileno(), 0)
        watched.poll(0)
    except (OSError, ValueError):
        return None
    return watched
