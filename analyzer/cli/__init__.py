"""The command line: one file for each command, imported only when that command runs.

This module sets up what must be in place before the first import. NumPy brings OpenBLAS, which at import starts a
thread for each processor and allocates a buffer for each thread. The program multiplies no matrices, and starting these
threads costs as much as all other imports together. Arrow's own allocator needs up to a second more of the kernel's
time for a table than the system's, and a fifth more memory. Imported objects are never freed, so the garbage collector
runs rarely: at Python's default rate it takes a fifteenth of the import time of `open`. `decode HEX` needs so little
that it even avoids click (decoding.py).
"""

from __future__ import annotations

import gc
import io
import os
import sys

RARELY = (200_000, 50, 50)
"""Thresholds of the garbage collector: allocated objects, and smaller collections, between two collections."""

is_program = False
"""Whether this process is the program, and not another one that imports a part of it."""


def main() -> None:
    """Runs the command line program; the entry point of the console script `wireanalyze`."""
    global is_program  # noqa: PLW0603  set once, before anything asks
    is_program = True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    gc.set_threshold(*RARELY)
    _buffer_output()
    if sys.argv[1:2] == ["decode"]:
        from analyzer.cli.decoding import plain_text

        text = plain_text(sys.argv[1:], os.environ, sys.stdout.isatty())
        if text is not None:
            sys.exit(_print_error(text))
    from analyzer.cli.program import run  # importing this package costs nothing

    sys.exit(run(sys.argv[1:]))


def _buffer_output() -> None:
    """Replaces a standard output that is closed or unbuffered.

    With PYTHONUNBUFFERED or `python -u`, sys.stdout.buffer is a raw file. Its write() may write only a part, for
    example to a full pipe when a signal arrives, and tells that by its result alone; the rest would be lost.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  until the end
    elif isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        buffered = io.BufferedWriter(sys.stdout.buffer)
        sys.stdout = io.TextIOWrapper(buffered, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


def _print_error(text: str) -> int:
    """Prints a text, and ends as program.run() does."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a narrow locale must not end it
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0
