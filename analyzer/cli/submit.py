"""Entry point for `spark-submit`: the command `pipeline` in the session that spark-submit has started.

`wireanalyze pipeline --script` says where this file is. It stands alone, for a cluster may run a copy of it; the rest
comes from the environment that spark-submit was told of.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command; gives its exit status."""
    # Python puts the folder of a script before all others, and its modules are not meant to be found there.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    from analyzer.cli.program import run

    return run(["pipeline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
