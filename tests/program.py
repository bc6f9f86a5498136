"""The program in a process of its own that begins as a copy of this one, which has imported what the program would.

Theory. Most of what a command on a small capture costs are imports. A copy (fork) of the tests' process has made them
already, and nothing that it does changes the tests' process. What a fresh interpreter imports is asked of a fresh one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from typing import NoReturn

import analyzer.cli
import analyzer.cli.list
import analyzer.cli.program

PATIENCE = 180
"""Seconds after which the program is ended."""


def run(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs `wireanalyze ARGUMENTS...`, with `stdin` and with these variables beside those that there are."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: other threads are not copied
            child = os.fork()
        if not child:
            _become(arguments, (given.fileno(), out.fileno(), err.fileno()), environment)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), out.read(), err.read())


def _become(arguments: tuple[str, ...], streams: tuple[int, int, int], environment: Mapping[str, str]) -> NoReturn:
    """Turns this process into the program, and ends it."""
    status = os.EX_SOFTWARE
    try:
        signal.alarm(PATIENCE)
        os.environ.pop("NO_COLOR", None)
        os.environ.update(environment)
        encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, encoding=encoding, closefd=False) for number, mode in enumerate(("r", "w", "w"))
        )
        sys.argv = ["wireanalyze", *arguments]
        analyzer.cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
