"""The command line: one file for each command, imported when that command is run and not before."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script `wireanalyze`."""
    from analyzer.cli.program import run  # importing this package costs nothing

    sys.exit(run(sys.argv[1:]))
