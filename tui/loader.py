"""The thread that reads: it runs session.grow() and announces how much there is.

Theory. Two threads share the session's tables without a lock. This is correct for these reasons:

- The reader only appends. An announced row has all its cells, and so have its segments, names and stream. Of its cells
  only `partner` may still change, from null to a row, in one store of four bytes.
- Columns.append fills the new rows first and counts them last. A full array is replaced by a longer copy; a view of the
  old array stays valid as long as somebody holds it, and has all rows that were announced before.
- So the user interface reads rows below the announced count, fetches each column anew (Columns.column) and keeps no
  view of it. It never iterates over the engine's dictionaries and lists of findings: the reader counts and announces
  them.
- Bytes are read from maps that only grow; Spool returns the map that it has examined.
- Decoders keep no state but caches of the standard library, which are thread-safe.

Widgets are changed only by their own handlers: this thread hands out plain numbers. It is a daemon and can be stopped,
so that the program ends at once, whether the thread waits for a silent pipe or is inside a block of a million packets.

In a live capture the oldest rows are evicted when tables hold more than they may, or when a ring has removed their
files. Growth.first announces the first row that stays. The user interface drops the rows before it in its own time and
calls release_rows(); when no other task is under way that was submitted earlier, the rows are evicted between two
blocks. Eviction begins some time before memory is full, so a page may be read to its end; when memory is full, it is
urgent.

The first block is small. The caller of begin() waits a moment for it, so that the first painted screen has rows. The
reader waits until that screen stands, because two threads that compute take turns.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from analyzer.processes import libc
from analyzer.session import Session
from tui.background import PENDING_TASKS

if TYPE_CHECKING:
    from analyzer.insight.live_diagnosis import LiveDiagnosis

EVICTION_SHARE = 0.8
"""The share of the memory limit at which eviction begins."""

LOOK_PAUSES = 10
"""After a look for problems in a live capture, so many times as long as it took there is no other one."""

EVICTION_TIMEOUT = 60.0
"""Seconds that rows without a file may stay for an open page."""


class Growth(NamedTuple):
    """The numbers of rows, streams, packets and findings by now.

    percent: the share of the input that was read, None if unknown. first: rows before it are to be evicted; pressing:
    at once, whatever still shows them. problems: of a live capture, those that are more than notes.
    """

    rows: int
    streams: int
    packets: int
    findings: int
    percent: int | None = None
    first: int = 0
    pressing: bool = False
    problems: int = 0


class ReadingEnd(NamedTuple):
    """The end of reading: `error` is None at the end of the input."""

    error: Exception | None


ProgressCallback = Callable[[Growth | ReadingEnd], object]
"""Called in the loader's thread."""


class Loader(threading.Thread):
    """Reads a session to its end in a thread of its own. Call begin() and then resume(), each at least once.

    memory: bytes that the session's tables may hold; None: no limit.
    """

    def __init__(self, session: Session, memory: int | None = None) -> None:
        super().__init__(name="loader", daemon=True)
        self._session = session
        self.memory = memory
        self._releases = deque[tuple[int, int]]()
        self._overdue_since: float | None = None
        self._stopped = threading.Event()
        self._has_begun = threading.Event()
        self._may_go_on = threading.Event()
        self._first: Growth | None = None
        self._is_known = False
        self._tell: ProgressCallback = lambda _: None
        self._diagnosis: LiveDiagnosis | None = None
        self._next_look, self._problems = 0.0, 0

    def begin(self, patience: float) -> Growth | None:
        """Starts the thread if needed; returns the first rows if they come within `patience` seconds."""
        if self.ident is None:
            self.start()
        self._has_begun.wait(patience)
        first = self._first
        self._is_known = first is not None
        return first

    def resume(self, tell: ProgressCallback) -> None:
        """Announces what is there beyond begin()'s result, and reads on."""
        self._tell = tell
        self._may_go_on.set()

    def run(self) -> None:
        """Reads until the end of the input or stop()."""
        error: Exception | None = None
        try:
            for _ in self._session.grow():
                self._evict_released()
                if not self._may_go_on.is_set():
                    self._first = self._count()
                    self._has_begun.set()
                    self._may_go_on.wait()
                    if self._is_known:
                        continue
                if self._stopped.is_set():
                    return
                self._announce(self._count())
        except Exception as caught:  # told to the screen, which knows whether there is something to show
            error = caught
        self._has_begun.set()
        self._may_go_on.wait()
        self._announce(ReadingEnd(error))

    def stop(self, patience: float) -> None:
        """Ends the reading; waits at most `patience` seconds."""
        self._stopped.set()
        self._may_go_on.set()
        self._session.packets.stop()
        if self.ident is not None:
            self.join(patience)

    def release_rows(self, before: int) -> None:
        """Allows the eviction of the rows before one; tasks that were submitted earlier may still use them."""
        self._releases.append((before, PENDING_TASKS.next_number))

    def _evict_released(self) -> None:
        """Evicts released rows that no task uses any more."""
        before = 0
        while self._releases and PENDING_TASKS.is_done_before(self._releases[0][1]):
            before = self._releases.popleft()[0]
        if before:
            self._session.eviction.evict(before)
            libc.give_back()  # pages over so many rows leave as much free as the rows took

    def _count(self) -> Growth:
        session, packets = self._session, self._session.packets
        percent = min(100 * packets.position // size, 100) if (size := packets.size) else None
        streams = len(session.engine.streams)
        counted = Growth(len(session.rows), streams, packets.counts.packets, len(session.findings), percent)
        leaves = packets.follows or self.memory is not None
        if packets.follows or self._diagnosis is not None:
            counted = counted._replace(problems=self._count_problems())
        return self._add_eviction(counted) if leaves else counted

    def _count_problems(self) -> int:
        """Looks for problems among the rows that have come, unless the last look was short ago."""
        began = time.monotonic()
        if began >= self._next_look:
            if self._diagnosis is None:
                from analyzer.insight.live_diagnosis import LiveDiagnosis  # only a live capture pays for it

                self._diagnosis = LiveDiagnosis(self._session)
            self._diagnosis.find_new_problems()
            self._problems = self._diagnosis.count_problems()
            now = time.monotonic()
            self._next_look = now + LOOK_PAUSES * (now - began)
        return self._problems

    def _add_eviction(self, counted: Growth) -> Growth:
        """Adds the first row that stays, and whether eviction is urgent."""
        session, memory = self._session, self.memory
        first = session.eviction.find_due_row(None if memory is None else int(EVICTION_SHARE * memory))
        is_due, now = session.eviction.find_due_row(None) > session.rows.first, time.monotonic()
        self._overdue_since = (self._overdue_since or now) if is_due else None
        is_late = self._overdue_since is not None and now > self._overdue_since + EVICTION_TIMEOUT
        is_full = memory is not None and session.eviction.memory_bytes > memory
        return counted._replace(first=first, pressing=is_late or is_full)

    def _announce(self, event: Growth | ReadingEnd) -> None:
        if not self._stopped.is_set():
            with contextlib.suppress(RuntimeError):  # the program has ended since
                self._tell(event)
