"""Entry point for `spark-submit`: runs the command `pipeline` in the session that spark-submit has started.

`wireanalyze pipeline --script` prints the path of this file. It has no imports of its own, because a cluster may run a
copy of it; everything else comes from the environment that spark-submit sets up.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command; returns its exit status."""
    # Python puts the folder of a script first in sys.path, but its modules must not be found there.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    from analyzer.cli.program import run

    return run(["pipeline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
