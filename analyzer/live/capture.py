"""Live capture as the analyzer sees it: a child process that writes files, its state, and its end.

Theory. The child has the right to capture, or takes packets from a program that has it. This process gives up its own
rights as soon as the child is ready, before it starts a second thread. channel.py defines the messages between the two.

Each new file of the child is added to a succession, which opens it at once. After that nothing needs the file's name,
so the name of a temporary file is removed. Whatever happens to the child, the packets that it has written can be read.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from contextlib import suppress

from analyzer.capture.sources import SelfClosing
from analyzer.errors import CaptureError
from analyzer.live.capture_request import CaptureRequest
from analyzer.live.channel import (
    ChannelMessage,
    ChannelReader,
    CountMessage,
    FailureMessage,
    FileBegunMessage,
    FileRemovedMessage,
    ReadyMessage,
    RunEndMessage,
    StartCommand,
    StopCommand,
    encode_message,
)
from analyzer.live.launcher import Via, start_capture_process
from analyzer.live.privilege import become
from analyzer.live.run_monitor import FileFollower, RunHealth, RunMonitor

__all__ = ["FileFollower", "LiveCapture", "RunHealth"]

PATIENCE = 5.0
"""Seconds of silence after which a child that must answer or end is killed."""

TO_WRITE = 30.0
"""Seconds that the child has at the end while it is not silent: it writes the packets that the kernel still holds."""

TO_OPEN = 30.0
"""Seconds in which a child must be ready if no password has to be typed."""


class LiveCapture(SelfClosing):
    """Runs a capturing child that is ready; a context manager that ends it.

    Creating it also gives up the privileges of this process for good. Raises CaptureError with a sentence for the user.
    interfaces: names. notes: sentences for the user. problem: why a run ended without a request, else None.
    """

    def __init__(self, request: CaptureRequest, via: Via = "auto") -> None:
        self._process = start_capture_process(request, via)
        self._child = self._process.process
        self._pid = self._child.pid
        self._lines = _Lines(self._child)
        self._word = time.monotonic()
        try:
            ready = self._ready()
            self._pid = ready.pid
            become(self._process.becoming)
        except BaseException:
            self._end()
            self._let_go()
            raise
        self.interfaces, self.notes = ready.interfaces, (*self._process.notes, *ready.notes)
        self.problem: str | None = None
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._run: RunMonitor | None = None
        self._running = self._over = self._closed = False
        self._listener = threading.Thread(target=self._listen, name="capture", daemon=True)
        self._listener.start()

    def begin(self, path: str | None, succession: FileFollower) -> None:
        """Begins a run; returns when its first file has begun, after some milliseconds.

        path: the file or ring to write, None for temporary files. The previous run must have stopped. Raises
        CaptureError if the run cannot begin; `succession` has ended then.
        """
        if not self.stopped:
            raise RuntimeError("the run before has not stopped")
        with self._lock:
            if self._over:
                raise CaptureError(self.problem or "The capturing process has ended. Start the capture again.")
            run = RunMonitor(path, succession)
            self._run, self._running, self.problem = run, True, None
        self._say(StartCommand(run.path, run.spool is not None))
        self._await_file(run)

    def stop(self) -> None:
        """Requests the end of the run, and returns at once."""
        if not self.stopped:
            self._say(StopCommand())

    @property
    def stopped(self) -> bool:
        """Whether no more packets will be written, and all files are announced."""
        return not self._running

    def health(self, read: int) -> RunHealth:
        """Returns the state of this run, of which `read` packets have been read."""
        with self._lock:
            return RunHealth() if self._run is None else self._run.health_at(read)

    def summary(self, read: int) -> str:
        """Returns one sentence for the end of this run, of which `read` packets have been read."""
        with self._lock:
            return "nothing was captured" if self._run is None else self._run.summary(read)

    def close(self) -> None:
        """Ends the child, which first writes the packets at hand; kills it if it stays silent."""
        if self._closed:
            return
        self._closed = True
        self._end()
        self._listener.join(PATIENCE)
        self._let_go()

    def _await_file(self, run: RunMonitor) -> None:
        """Waits for the first file of a run. Raises CaptureError."""
        with self._lock:
            self._changed.wait_for(lambda: run.health.files or self.stopped, PATIENCE)
        if not run.health.files:
            self.stop()
            raise CaptureError(self.problem or "The capturing process does not answer. Start the capture again.")

    def _ready(self) -> ReadyMessage:
        """Waits for the ReadyMessage. Raises CaptureError."""
        until = None if self._process.prompts else time.monotonic() + TO_OPEN
        while True:
            line = self._lines.read_message(until)
            if isinstance(line, ReadyMessage):
                return line
            if isinstance(line, FailureMessage):
                raise CaptureError(line.text)
            if line is None:
                raise CaptureError(f"The capturing process {self._how_it_ended()} before it began.")

    def _how_it_ended(self) -> str:
        """Returns how the child ended: its status, and the last line of its standard error."""
        try:
            status = self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return "does not answer"
        words = self._process.last_words()
        how = f"was ended by {_signal_name(-status)}" if status < 0 else f"ended with status {status}"
        return f"{how} ({words})" if words else how

    def _say(self, line: ChannelMessage) -> None:
        """Sends a message to the child, and ignores a child that has ended."""
        assert self._child.stdin is not None
        with suppress(OSError, ValueError):  # the child has ended, or its input is closed
            self._child.stdin.write(encode_message(line).encode())

    def _hang_up(self) -> None:
        assert self._child.stdin is not None
        with suppress(OSError):  # unwritten bytes do not matter any more
            self._child.stdin.close()

    def _end(self) -> None:
        """Makes the child end; kills it if it is silent for too long."""
        began = self._word = time.monotonic()
        self._hang_up()
        while self._child.poll() is None:
            now = time.monotonic()
            if now > min(self._word + PATIENCE, began + TO_WRITE):
                self._kill()
                return
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(0.1)

    def _let_go(self) -> None:
        """Closes the connection to a child that has ended."""
        self._process.errors.close()
        self._lines.close()

    def _kill(self) -> None:
        """Kills the child. We cannot kill sudo, but the process that it started; then sudo ends, too."""
        for pid in {self._child.pid, self._pid}:
            with suppress(OSError):  # the process is not ours, or has ended
                os.kill(pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # it waits for a disk, and ends later
            self._child.wait(PATIENCE)

    def _listen(self) -> None:
        """Handles all messages of the child until its end; a thread."""
        while (line := self._lines.read_message(None)) is not None:
            self._word = time.monotonic()
            run = self._run
            if run is None:
                continue
            if isinstance(line, FileBegunMessage | FileRemovedMessage):
                run.announce_file(line)
            with self._lock:
                self._count(run, line)
            if isinstance(line, RunEndMessage | FailureMessage):
                self._finish(run, line.problem if isinstance(line, RunEndMessage) else line.text)
            with self._lock:
                self._changed.notify_all()
        how = (
            None
            if self._closed
            else f"The capturing process {self._how_it_ended()}. The packets that it wrote are kept."
        )
        with self._lock:
            self._over, run = True, self._run
            unfinished = self._running
        if run is not None and unfinished:
            self._finish(run, how)
        elif how is not None:
            self.problem = self.problem or how
        with self._lock:
            self._changed.notify_all()

    def _count(self, run: RunMonitor, line: ChannelMessage) -> None:
        if isinstance(line, CountMessage | RunEndMessage):
            run.count(line, time.monotonic())
        elif isinstance(line, FileBegunMessage):
            run.count_file(line.path)
        elif isinstance(line, FileRemovedMessage):
            run.deleted += 1

    def _finish(self, run: RunMonitor, problem: str | None) -> None:
        """Ends a run. Finishes the succession first, so all packets can be found as soon as `stopped` is true."""
        run.succession.finish()
        run.remove_spool()
        with self._lock:
            self.problem = run.explain_problem(problem)
            self._running = False


class _Lines:
    """Reads messages from a child's standard output, and waits for them."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        self._stream = child.stdout
        self._reader = ChannelReader(child.stdout.fileno())
        self._read: deque[ChannelMessage] = deque()

    def read_message(self, until: float | None) -> ChannelMessage | None:
        """Waits until a time.monotonic() for the next message; returns None at the end, or if none came."""
        while not self._read:
            wait = None if until is None else max(until - time.monotonic(), 0)
            if self._reader.ended or not select.select([self._stream], [], [], wait)[0]:
                return None
            self._read.extend(self._reader.lines())
        return self._read.popleft()

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
