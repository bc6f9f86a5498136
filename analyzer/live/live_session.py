"""A live capture and the session that reads its files, for headless printing and the TUI.

Theory. The capturing process writes files, and a session follows them; neither waits for the other. A stopped capture
can be restarted as another run. That run has its own files and its own session, because numbers of rows and packets
begin anew.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from analyzer.capture.sources import SelfClosing
from analyzer.capture.succession import FileSuccession
from analyzer.errors import UserError
from analyzer.live.capture import LiveCapture, RunHealth
from analyzer.live.interfaces import ANY
from analyzer.live.processes import LocalProcesses
from analyzer.messages.decode_as import DecodeAsTarget
from analyzer.messages.guess_budget import GuessBudget
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

RunState = Literal["capturing", "stopping", "stopped"]

PATIENCE, PAUSE = 10.0, 0.01
"""Seconds until a capture must have stopped, and between two checks."""


class LiveSession(SelfClosing):
    """Holds a capture that has begun; a context manager that ends it and closes its session.

    session: that of the current run; `grow` reads it. write: the file that keeps the packets, or None. memory: bytes
    that the session's tables may take; None: no limit. secrets: of TLS, or None. Raises CaptureError if the capture
    cannot begin; the caller closes `capture`.
    """

    def __init__(
        self,
        capture: LiveCapture,
        write: str | None,
        *,
        decode_as: Mapping[DecodeAsTarget, str] | None = None,
        names: bool = True,
        memory: int | None = None,
        secrets: KeyRing | None = None,
    ) -> None:
        self.write, self.memory = write, memory
        self.title = f"live: {', '.join(capture.interfaces)}"
        self._capture, self._decode_as, self._names, self._secrets = capture, decode_as, names, secrets
        self._run, self._is_stopping = 0, False
        self.session = self._begin_run()

    def _begin_run(self) -> Session:
        succession = FileSuccession()
        session = Session(succession, decode_as=self._decode_as, names=self._names, secrets=self._secrets)
        session.engine.guesses = GuessBudget()
        if _are_local(self._capture.interfaces):
            session.engine.owners = LocalProcesses(session.engine.streams, session.packets.flows)
        try:
            self._capture.begin(None if self.write is None else _make_run_path(self.write, self._run + 1), succession)
        except BaseException:
            session.close()
            raise
        self._succession, self._is_stopping = succession, False
        self._run += 1
        return session

    @property
    def packets_read(self) -> int:
        """Number of packets of the current run that the session has read."""
        return self.session.packets.counts.packets

    @property
    def is_saved(self) -> bool:
        """Whether the packets are kept in a file that the user named."""
        return self.write is not None

    @property
    def state(self) -> RunState:
        """State of the capture; rows may still come after it has stopped, until the session has `ended`."""
        if self._capture.stopped:
            return "stopped"
        return "stopping" if self._is_stopping else "capturing"

    @property
    def problem(self) -> str | None:
        """Why the capture ended without a request, else None."""
        return self._capture.problem

    def health(self) -> RunHealth:
        """Returns how much was captured, what was dropped, and how far the session is behind.

        May be called from any thread.
        """
        return self._capture.health(self.packets_read)

    def summary(self) -> str:
        """Returns one sentence for the end of the run."""
        return self._capture.summary(self.packets_read)

    def stop(self) -> None:
        """Makes the capture stop, and returns at once. Packets captured before are still read."""
        self._is_stopping = True
        self._capture.stop()

    def restart(self) -> Session:
        """Begins a new run with its own session; the caller closes the previous session. Stops a running capture first.

        A capture that writes FILE continues with FILE-2, FILE-3 and so on, the first name that is free. Raises
        UserError if the capture cannot stop or begin; then the session stays.
        """
        if not self._capture.stopped:
            self.stop()
            end = time.monotonic() + PATIENCE
            while not self._capture.stopped:
                if time.monotonic() > end:
                    raise UserError("The capturing process does not stop. Exit the program and start it again.")
                time.sleep(PAUSE)
        self.session = self._begin_run()
        return self.session

    def save(self, path: str) -> int:
        """Copies the packets of the current run that are still kept to one pcapng file; see FileSuccession.save."""
        return self._succession.save(path)

    def close(self) -> None:
        """Ends the capture and closes the session."""
        self._capture.close()
        self.session.close()


def _are_local(interfaces: Iterable[str]) -> bool:
    """Returns whether all interfaces belong to this machine and to the network namespace of this process."""
    return {name for _, name in socket.if_nameindex()} | {ANY} >= set(interfaces)


def _make_run_path(path: str, run: int) -> str:
    """Returns the file of a run: the named one for the first, a free name for later ones."""
    if run == 1:
        return path
    stem, suffix = os.path.splitext(path)
    while os.path.exists(name := f"{stem}-{run}{suffix}"):
        run += 1
    return name
