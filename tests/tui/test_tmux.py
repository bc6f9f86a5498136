"""The installed program as a person uses it, in a terminal that tmux plays."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.namespaces import in_namespace, privileged
from tests.tui.driving import KAFKA

PROGRAM = Path(sys.executable).parent / "wireanalyze"
PATIENCE = 60
TRAFFIC = Path(__file__).parent.parent / "analyzer" / "capture" / "live_traffic.py"
STREAM, PORT, MESSAGES = 2, 29092, 6

pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not installed beside this Python"),
]


class Tmux:
    """One terminal, on a server of its own."""

    def __init__(self, socket: Path) -> None:
        self._command = ["tmux", "-S", str(socket), "-f", os.devnull]

    def run(self, *arguments: str) -> str:
        ours = ("NO_COLOR", "TMUX", "COLUMNS", "LINES")
        environment = {key: value for key, value in os.environ.items() if key not in ours}
        done = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment
        )
        return done.stdout

    def start(self, command: str, size: tuple[int, int]) -> None:
        width, height = map(str, size)
        self.run("new-session", "-d", "-x", width, "-y", height, f"{command}; echo ended with $?; exec cat")

    def type(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def screen(self) -> list[str]:
        return self.run("capture-pane", "-p").splitlines()

    def wait(self, pattern: str) -> list[str]:
        """The screen, as soon as a pattern is on it."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, "\n".join(lines := self.screen()), re.MULTILINE):
            assert time.monotonic() < end, "\n".join(lines)
            time.sleep(0.05)
        return lines


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    found = Tmux(tmp_path / "s")
    try:
        yield found
    finally:
        found.run("kill-server")


def test_a_person_looks_at_a_capture(tmux: Tmux) -> None:
    tmux.start(f"{shlex.quote(str(PROGRAM))} open {shlex.quote(str(KAFKA))}", (140, 40))
    tmux.wait(r"648 messages .* complete")
    tmux.wait(r"^▾  0 adminclient-1 .*:33862 > :29092")
    tmux.wait("clientSoftwareName")
    tmux.wait(r"0000  00 00 00 36 00 12")
    tmux.type("j")
    tmux.wait(r"kafka ApiVersions v5 response")
    tmux.type("p")
    tmux.wait(r"kafka ApiVersions v5 request")
    tmux.type("C-g")
    tmux.wait("message 1 to 648")
    tmux.type("48", "Enter")
    tmux.wait("kafka Fetch v18 response")
    tmux.type("Tab")
    tmux.wait("▌kafka Fetch")
    tmux.type("Down", "Down", "Down")
    tmux.wait(r"header\.correlationId +int32 +4 bytes at 4")
    tmux.type("BTab", "v")
    tmux.wait("No. .*Str .*Operation")
    tmux.type("/", "latency > 100xs", "Enter")
    tmux.wait("^ .*unit")
    tmux.type("BSpace", "BSpace")
    tmux.wait("^✓ latency > 100 *$")
    tmux.type("ms", "Enter")
    tmux.wait(r"filter: latency > 100ms, \d+ of 648 .*complete")
    tmux.type("/")
    tmux.wait("^ filter .*empty: all messages")
    tmux.type("BSpace", "Enter")
    tmux.wait("648 messages .* complete")
    tmux.type("C-f", "ADMINCLIENT", "Enter")
    tmux.wait(r"found in message \d+: header.clientId")
    tmux.type("?")
    tmux.wait("Everywhere")
    tmux.type("q")
    tmux.wait("No. .*Str .*Operation")
    tmux.type("q")
    tmux.wait("^ended with 0$")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_sizes(tmux: Tmux, size: tuple[int, int]) -> None:
    tmux.start(f"{shlex.quote(str(PROGRAM))} open {shlex.quote(str(KAFKA))}", size)
    tmux.wait(r"648 messages .* complete")
    tmux.wait(r"0000  00 00 00 36")
    side_by_side = r"No\. .*│ *kafka ApiVersions v5 request" if size[0] >= 120 else r"^ *kafka ApiVersions v5 request"
    lines = tmux.wait(side_by_side)
    assert len(lines) <= size[1]
    assert "? help" in lines[-1]
    tmux.type("q")
    tmux.wait("^ended with 0$")


def test_a_pipe(tmux: Tmux) -> None:
    tmux.start(f"cat {shlex.quote(str(KAFKA))} | {shlex.quote(str(PROGRAM))} open -Y 'protocol == kafka' -", (120, 40))
    tmux.wait(r"standard input +filter: protocol == kafka, 648 of 648")
    tmux.type("j")
    tmux.wait(r"kafka ApiVersions v5 response")
    tmux.type("q")
    tmux.wait("^ended with 0$")


@privileged
def test_an_interface(tmux: Tmux, tmp_path: Path) -> None:
    words = shlex.join([str(PROGRAM.with_name("python")), str(TRAFFIC), str(KAFKA), str(STREAM), str(PORT)])
    talk = f"(while read -r _ <{shlex.quote(str(tmp_path / 'talk'))}; do {words} >/dev/null; done) & TALK=$!"
    script = (
        f":; {talk}; TMPDIR={shlex.quote(str(tmp_path))} {shlex.quote(str(PROGRAM))} sniff -i lo -Z root; kill $TALK"
    )
    os.mkfifo(tmp_path / "talk")
    tmux.start(f"cd {shlex.quote(str(tmp_path))} && {shlex.join(in_namespace(script))}", (140, 30))
    tmux.wait(r"live: lo .* capturing")
    tmux.wait("▼ newest")

    def say_all() -> None:
        with (tmp_path / "talk").open("w") as fifo:
            fifo.write("once\n")

    say_all()
    tmux.wait(rf"{MESSAGES} messages +1 stream ")
    tmux.wait("kafka InitProducerId v5 response")  # the last message is selected as it comes
    tmux.type("k")
    tmux.wait("kafka InitProducerId v5 request")
    tmux.wait("G: newest")
    tmux.type("Z")
    say_all()
    tmux.wait(rf"{MESSAGES} messages .* {MESSAGES} more wait +paused")
    tmux.type("Z")
    tmux.wait(rf"{2 * MESSAGES} messages +2 streams .* capturing")
    tmux.type("E")
    tmux.wait("stopped$")
    tmux.type("W")
    tmux.wait("capture.pcapng")
    tmux.type("Enter")
    tmux.wait(r"packets written to .*capture.pcapng")
    tmux.type("E")  # nothing would be lost: another capture begins
    tmux.wait("another capture has started")
    say_all()
    tmux.wait(rf"{MESSAGES} messages +1 stream .* capturing")
    tmux.type("q")
    tmux.wait("packets not saved")
    tmux.type("q")
    tmux.wait("packets captured")
    tmux.wait("^ended with 0$")
    listed = subprocess.run(
        [str(PROGRAM), "list", str(tmp_path / "capture.pcapng")], capture_output=True, text=True, check=True
    )
    assert listed.stdout.count("InitProducerId") == 4
