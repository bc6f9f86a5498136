"""The fixture `wire`: records a test's traffic while it runs, as messages.

Theory. The packets are recorded by `wireanalyze sniff` in a process of its own, so the tests' process needs no
privilege, drops none and decodes nothing until it asks. A question waits until the file has stopped growing, and reads
it from the beginning. Everything is imported by the first test that uses the fixture.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pytest

if TYPE_CHECKING:
    from wireanalyze.capture import Capture, SelectionOptions
    from wireanalyze.inputs import DecodeAs, Names
    from wireanalyze.message import Message

LOOPBACK = "lo" if sys.platform.startswith("linux") else "lo0"

READY, SETTLE, PATIENCE = 20.0, 0.15, 5.0
"""Seconds until recording must have begun, in which the file must not grow before it is read, and to wait for that."""

SHOWN = 20
"""Messages that a failed assertion prints."""

MARKER = (
    "wire(interface=..., filter=..., file=..., keylog=..., decode_as=...): what the fixture `wire` records (by default "
    "all of loopback), or the file in which others record"
)


class Wire:
    """The traffic of one test. Every question sees what was sent up to then."""

    def __init__(
        self,
        folder: Path,
        *,
        interface: str = LOOPBACK,
        filter: str = "tcp",
        file: str | os.PathLike[str] | None = None,
        keylog: Names | None = None,
        decode_as: DecodeAs | None = None,
    ) -> None:
        self._file = None if file is None else os.fspath(file)
        self._keylog, self._decode_as = keylog, decode_as
        self._own = folder / "wire.pcapng"
        self._process: subprocess.Popen[bytes] | None = None
        self._capture: Capture | None = None
        self._size = -1
        if self._file is None:
            self._start(interface, filter)

    @property
    def capture(self) -> Capture:
        """All that was recorded up to now."""
        import wireanalyze

        size = self._await_packets()
        if self._capture is None or size != self._size:
            self._close_capture()
            self._capture = wireanalyze.open(self.files, keylog=self._keylog, decode_as=self._decode_as)
            self._size = size
        return self._capture

    @property
    def files(self) -> list[str]:
        """The files of the capture."""
        return [str(self._own)] if self._file is None else sorted(glob(self._file)) or [self._file]

    def read_from(self, file: str | os.PathLike[str]) -> None:
        """Reads this file from now on, in which others record (a test container, tcpdump), and stops recording."""
        self.stop()
        self._close_capture()
        self._file = os.fspath(file)

    def messages(self, filter: str | None = None, **options: Unpack[SelectionOptions]) -> list[Message]:
        """Returns the messages that pass a filter; the options are those of Capture.messages()."""
        return list(self.capture.messages(filter, **options))

    def assert_some(self, filter: str) -> list[Message]:
        """Fails if no message passes the filter; returns those that do."""
        __tracebackhide__ = True
        found = self.messages(filter)
        if not found:
            pytest.fail(f"None of {len(self.capture)} messages passes {filter!r}.")
        return found

    def assert_no(self, filter: str) -> None:
        """Fails if a message passes the filter, and prints the first ones."""
        __tracebackhide__ = True
        self._refuse(self.messages(filter), f"must not pass {filter!r}")

    def assert_latency(self, below: str, filter: str | None = None, *, percentile: float = 100) -> None:
        """Fails if the latency of responses is not below a duration such as `50ms`.

        percentile: of the latencies of the responses that pass the filter, by nearest rank; 100 is the longest one.
        Fails, too, if there is no such response.
        """
        __tracebackhide__ = True
        from wireanalyze.arguments import parse_duration

        limit = parse_duration(below)
        timed = [each for each in self.messages(filter) if each.latency_ns is not None]
        if not timed:
            pytest.fail(f"No response passes {filter!r}, so there is no latency.")
        timed.sort(key=lambda message: message.latency_ns or 0)
        rank = max(-(-len(timed) * percentile // 100), 1)
        if (timed[int(rank) - 1].latency_ns or 0) >= limit:
            self._refuse(timed[int(rank) - 1 :][::-1], f"must be below {below} (percentile {percentile:g})")

    def stop(self) -> None:
        """Ends recording; what was recorded can still be read."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.communicate(timeout=READY)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
            self._process = None

    def close(self) -> None:
        """Ends recording and closes the capture."""
        self.stop()
        self._close_capture()

    def _start(self, interface: str, filter: str) -> None:
        command = [sys.executable, "-m", "analyzer.cli", "sniff", "--headless", "-i", interface, "-f", filter]
        command += ["-w", str(self._own), "-e", "number"]
        if os.geteuid() == 0 and "SUDO_USER" not in os.environ:
            command += ["-Z", "root"]  # tests in a container: their own traffic, and no other user to become
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + READY
        while not (self._own.exists() and self._own.stat().st_size):
            if self._process.poll() is not None or time.monotonic() > end:
                self._explain()
            time.sleep(0.01)

    def _explain(self) -> None:
        """Skips the test where this user may not capture; else fails it with what the program says."""
        from analyzer.live.interfaces import may_capture

        assert self._process is not None
        self._process.kill()
        output = self._process.communicate()[1].decode(errors="replace").strip() or "it does not begin"
        self._process = None
        if may_capture():
            pytest.fail(f"The fixture `wire` cannot record: {output}", pytrace=False)
        pytest.skip(f"the fixture `wire` may not capture packets: {output}")

    def _await_packets(self) -> int:
        """Waits until the files have stopped growing; returns their size."""
        end, size, since = time.monotonic() + PATIENCE, -1, 0.0
        while time.monotonic() < end:
            now = sum(os.path.getsize(file) for file in self.files if os.path.exists(file))
            if now != size:
                size, since = now, time.monotonic()
            if self._process is None or time.monotonic() - since >= SETTLE:
                break
            time.sleep(0.02)
        return size

    def _refuse(self, found: list[Message], why: str) -> None:
        __tracebackhide__ = True
        if found:
            lines = [f"  {message.time:%H:%M:%S.%f} {message!r} {message.info}" for message in found[:SHOWN]]
            more = [f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            pytest.fail("\n".join([f"{len(found)} messages {why}:", *lines, *more]))

    def _close_capture(self) -> None:
        if self._capture is not None:
            self._capture.close()
            self._capture = None


@pytest.fixture
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Wire]:
    """Records loopback while the test runs; the marker `wire` changes what is recorded."""
    marker = request.node.get_closest_marker("wire")
    found = Wire(tmp_path, **({} if marker is None else marker.kwargs))
    try:
        yield found
    finally:
        found.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --wire-keep."""
    parser.getgroup("wireanalyze").addoption(
        "--wire-keep",
        metavar="DIR",
        default="wire-captures",
        help="Where the fixture `wire` keeps the captures of failed tests.  [default: wire-captures]",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps the capture of a test that failed, and says where."""
    report = yield
    wire = getattr(item, "funcargs", {}).get("wire")
    if call.when == "call" and report.failed and isinstance(wire, Wire):
        wire.stop()
        folder = item.config.rootpath / item.config.getoption("--wire-keep")
        saved = [_keep(Path(file), folder, item.nodeid) for file in wire.files if os.path.exists(file)]
        report.sections.append(("capture", "\n".join(f"kept in {path}" for path in saved) or "there is none"))
    return report


def _keep(file: Path, folder: Path, test: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", test.rpartition("/")[2])[-120:]
    return Path(shutil.copy(file, folder / f"{name}-{file.name}"))
