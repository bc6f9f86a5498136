"""One live capture and the session that reads what it writes: what headless printing and the TUI hold.

Theory. The capturing process writes files, and a session follows them; neither waits for the other. A capture that has
stopped can go on as another run: other files, and a session of its own, since numbers of rows and packets begin anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Literal

from analyzer.capture.sources import SelfClosing
from analyzer.capture.succession import FileSuccession
from analyzer.errors import UserError
from analyzer.live.capture import LiveCapture, RunHealth
from analyzer.messages.decode_as import DecodeAsTarget
from analyzer.session import Session

RunState = Literal["capturing", "stopping", "stopped"]

PATIENCE, PAUSE = 10.0, 0.01
"""Seconds until a capture that was asked to stop must have stopped, and between two looks."""


class LiveSession(SelfClosing):
    """A capture that has begun. A context manager that ends it, and closes its session.

    session: that of the present run; `grow` reads it. write: the file that keeps the packets; None: nobody does.
    memory: bytes that the session's tables may hold; None: all that there is. Raises CaptureError where the capture
    can't begin; what was given is closed by its owner.
    """

    def __init__(
        self,
        capture: LiveCapture,
        write: str | None,
        *,
        decode_as: Mapping[DecodeAsTarget, str] | None = None,
        names: bool = True,
        memory: int | None = None,
    ) -> None:
        self.write, self.memory = write, memory
        self.title = f"live: {', '.join(capture.interfaces)}"
        self._capture, self._decode_as, self._names = capture, decode_as, names
        self._run, self._asked_to_stop = 0, False
        self.session = self._begin_run()

    def _begin_run(self) -> Session:
        succession = FileSuccession()
        session = Session(succession, decode_as=self._decode_as, names=self._names)
        try:
            self._capture.begin(None if self.write is None else _make_run_path(self.write, self._run + 1), succession)
        except BaseException:
            session.close()
            raise
        self._succession, self._asked_to_stop = succession, False
        self._run += 1
        return session

    @property
    def packets_read(self) -> int:
        """Packets of the present run that the session has read."""
        return self.session.packets.counts.packets

    @property
    def kept(self) -> bool:
        """Whether the packets stay in a file that the user named."""
        return self.write is not None

    @property
    def state(self) -> RunState:
        """How the capture stands; rows may come after it has stopped, until the session has `ended`."""
        if self._capture.stopped:
            return "stopped"
        return "stopping" if self._asked_to_stop else "capturing"

    @property
    def problem(self) -> str | None:
        """Why it ended, where nobody asked for that: a sentence."""
        return self._capture.problem

    def health(self) -> RunHealth:
        """How much was captured, what was dropped, how far the session is behind. From any thread."""
        return self._capture.health(self.packets_read)

    def summary(self) -> str:
        """One sentence for the end of the run."""
        return self._capture.summary(self.packets_read)

    def stop(self) -> None:
        """Asks the capture to stop; returns at once. What was captured is still read."""
        self._asked_to_stop = True
        self._capture.stop()

    def restart(self) -> Session:
        """A new run and its session; the one before is closed by who holds it. Stops what is still capturing.

        Of a capture that writes FILE the next run writes FILE-2, FILE-3 ... before the suffix, whichever is free.
        Raises UserError where it can't stop or begin; then the session is the same.
        """
        if not self._capture.stopped:
            self.stop()
            end = time.monotonic() + PATIENCE
            while not self._capture.stopped:
                if time.monotonic() > end:
                    raise UserError("the capturing process does not stop: end the program and start it again")
                time.sleep(PAUSE)
        self.session = self._begin_run()
        return self.session

    def save(self, path: str) -> int:
        """Copies all packets of the present run that are still held to one pcapng file; see Succession.save."""
        return self._succession.save(path)

    def close(self) -> None:
        """Ends the capture and closes the session."""
        self._capture.close()
        self.session.close()


def _make_run_path(path: str, run: int) -> str:
    """The file of a run: the first writes what was named, a later one only what is not there yet."""
    if run == 1:
        return path
    stem, suffix = os.path.splitext(path)
    while os.path.exists(name := f"{stem}-{run}{suffix}"):
        run += 1
    return name
