"""What we start ends when we do: also where a test run is killed and gets to clean up nothing.

Theory. A pipe closes when the last process that holds its other end is gone, whatever made it go. So a shell waits at
one whose other end is ours, and then ends the process it was told of. It is called off before that process is waited
for, since from then on the number may be somebody else's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def leashed(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> Iterator[None]:
    """While it is entered, our own end is the process's, too. To be left before the process is stopped."""
    command = ["/bin/sh", "-c", 'cat > /dev/null; kill "$0"', str(process.pid)]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        watcher.kill()
        watcher.communicate()
