"""The command line: one file for each command, imported when that command is run and not before.

What has to be settled before the first import stands here: NumPy brings OpenBLAS, which at import starts a thread for
each processor and a buffer for each thread. No matrix is multiplied here, and starting them costs as much as all
other imports together. What is imported stays, so it is rarely looked through for cycles: Python's own pace takes a
fifteenth of what `open` imports. And `decode HEX` needs so little that even click is left out (decoding.py).
"""

from __future__ import annotations

import gc
import os
import sys

RARELY = (200_000, 50, 50)
"""Objects more, and smaller searches, between two searches for cycles."""


def main() -> None:
    """Runs the command line program; the entry point of the console script `wireanalyze`."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(*RARELY)
    if sys.argv[1:2] == ["decode"]:
        from analyzer.cli.decoding import plain_text

        text = plain_text(sys.argv[1:], os.environ, sys.stdout.isatty())
        if text is not None:
            sys.exit(_print_error(text))
    from analyzer.cli.program import run  # importing this package costs nothing

    sys.exit(run(sys.argv[1:]))


def _print_error(text: str) -> int:
    """Prints all that there is to print, ending as program.run does."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a narrow locale must not end it
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0
