"""Records the terminal user interface as a cast: `python -m docs.cast CAPTURE OUT.cast`; `make cast` does it.

Theory. A cast (asciinema's format, version 2) is a JSON header, then a line for each output: its time in seconds, "o",
and text. The program runs on a pseudo terminal, and keys are pressed as a user would. The times in the cast are not
those of the recording: each key has its pause in STEPS, so the cast looks the same from any machine.
"""

from __future__ import annotations

import codecs
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.terminal import Output, Terminal

SIZE = (100, 30)
START = 0.5
"""Seconds before the first screen."""

SETTLE = 0.8
"""Seconds without output after which a screen is complete."""


class Step(NamedTuple):
    """Keys, one after the other, and the seconds that the screen after the last one stays."""

    keys: tuple[bytes, ...]
    pause: float


ESCAPE, ENTER, DOWN, TAB = b"\x1b", b"\r", b"\x1b[B", b"\t"

STEPS = (
    Step((), 3.0),  # the first view
    Step((DOWN,) * 6, 1.5),
    Step((b"F",), 3.5),  # what is wrong
    Step((ENTER,), 2.5),
    Step((ESCAPE,), 0.8),
    Step((b"I",), 3.5),  # graphs over time
    Step((ESCAPE,), 0.8),
    Step((b"M",), 3.5),  # who talks to whom
    Step((ESCAPE,), 0.8),
    Step((b"S",), 4.0),  # the sequence diagram
    Step((ESCAPE,), 1.5),
)

KEY_PAUSE = 0.25
"""Seconds between two keys of one step."""


def record(capture: Path) -> Iterator[str]:
    """Yields the lines of a cast of a capture in the user interface."""
    header = {"version": 2, "width": SIZE[0], "height": SIZE[1], "title": f"wireanalyze open {capture.name}"}
    yield json.dumps({**header, "env": {"TERM": "xterm-256color"}})
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    # With 256 colours a cast is half as large as with 16 million.
    program = ["env", "-u", "COLORTERM", sys.executable, "-m", "analyzer.cli", "open", str(capture)]
    with tempfile.TemporaryDirectory() as home, Terminal(program, Path(home), SIZE) as terminal:
        now, place = START, 0
        for step in STEPS:
            for key in step.keys or (b"",):
                if key:
                    terminal.press(key)
                    now += KEY_PAUSE
                terminal.read(10.0)
                terminal.settle(SETTLE)
                text = decoder.decode(_join(terminal.output[place:]))
                place = len(terminal.output)
                yield json.dumps([round(now, 2), "o", text], ensure_ascii=False)
            now += step.pause
        yield json.dumps([round(now, 2), "o", ""])


def _join(outputs: list[Output]) -> bytes:
    return b"".join(output.data for output in outputs)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("".join(f"{line}\n" for line in record(Path(sys.argv[1]))), encoding="utf-8")
