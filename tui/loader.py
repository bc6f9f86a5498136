"""The thread that reads: it runs session.grow() and announces what there is; nothing else of it is seen.

Theory. Two threads share the session's tables without a lock, and this is why that is right:

- The reader only appends. A row that was announced has all its cells, and so have its pieces, names and stream; of its
  cells only `partner` may still change, from null to a row, which is one store of four bytes.
- Columns.append fills the new rows first and counts them last. When an array is full it is replaced by a copy that is
  longer; a view of the old one stays valid as long as somebody holds it, and has all rows that were announced before.
- So the user interface reads rows below the announced count, takes each column anew (Columns.column) and keeps no view
  of it. It never iterates over the engine's dictionaries and lists of findings: these are counted here, and told.
- Bytes are read from maps that only grow; Spool hands out the map that it has looked at.
- Decoders keep nothing but caches of the standard library, which are safe.

Widgets are changed by their own handlers alone: what leaves this thread is a message with plain numbers. The thread is
a daemon and is told to stop, so that the program ends at once, whether it waits for a silent pipe or is in the middle
of a block of a million packets.

The first block is small. Who begins the reading waits a moment for it, so that the first screen that is painted has
rows; and the reader waits until that one stands before it goes on, for two threads that compute take turns.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from textual.message import Message

from analyzer.session import Session


class Grew(Message):
    """There are so many of each by now; `percent` of the input has been read, None where nobody knows."""

    def __init__(self, rows: int, streams: int, packets: int, findings: int, percent: int | None = None) -> None:
        super().__init__()
        self.rows, self.streams, self.packets, self.findings = rows, streams, packets, findings
        self.percent = percent


class Ended(Message):
    """The input has ended, or `error` ended the reading."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error


class Loader(threading.Thread):
    """Reads a session to its end; `post` takes messages from any thread."""

    def __init__(self, session: Session, post: Callable[[Message], object]) -> None:
        super().__init__(name="loader", daemon=True)
        self._session = session
        self._post = post
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._awaited = False
        self._first: Grew | None = None
        self._has_begun = threading.Event()
        self._may_go_on = threading.Event()

    def begin(self, patience: float) -> Grew | None:
        """Starts the thread; the first rows, if some come within that many seconds. Then go_on() is to be called."""
        self._awaited = True
        self.start()
        self._has_begun.wait(patience)
        with self._lock:
            self._awaited = False
            return self._first

    def go_on(self) -> None:
        """Reads on behind the first rows."""
        self._may_go_on.set()

    def run(self) -> None:
        """See Thread."""
        error: Exception | None = None
        try:
            for _ in self._session.grow():
                if self._stopped.is_set():
                    return
                self._announce()
                self._may_go_on.wait()
        except Exception as caught:  # told to the screen, which knows whether there is something to show
            error = caught
        self._has_begun.set()
        self._tell(Ended(error))

    def stop(self, patience: float) -> None:
        """Ends the reading; waits that many seconds for it at most."""
        self._stopped.set()
        self._may_go_on.set()
        self._session.packets.stop()
        self.join(patience)

    def _announce(self) -> None:
        session = self._session
        packets = session.packets
        percent = min(100 * packets.position // size, 100) if (size := packets.size) else None
        streams = len(session.engine.streams)
        message = Grew(len(session.rows), streams, packets.counts.packets, len(session.findings), percent)
        with self._lock:
            if self._awaited and self._first is None:
                self._first = message
                self._has_begun.set()
                return
        self._tell(message)

    def _tell(self, message: Message) -> None:
        if not self._stopped.is_set():
            with contextlib.suppress(RuntimeError):  # the program has ended since
                self._post(message)
