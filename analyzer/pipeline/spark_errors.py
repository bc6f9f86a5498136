"""What Spark raises, as one sentence: what failed, and what to do.

Theory. A failure comes to us as pages of Java and Python tracebacks in one text. A few causes are known by their
words and have a remedy; of all else the last line of the innermost traceback says most.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from analyzer.errors import UserError

LOG_NAME = "spark.log"
"""The file for what Java and the workers of a session of our own say."""

LONGEST_REASON = 300
"""Characters of a reason that is not ours."""


DISK_FULL = (
    "a disk is full, that of the tables or that of Spark's own files: make room, or name another folder with "
    "--conf spark.local.dir=DIR"
)
TOO_LARGE = "a file has become larger than this system allows (ulimit -f): raise that, or give more --partitions"
"""Known by their words from Spark, and by their numbers from this process."""


class KnownCause(NamedTuple):
    """Words by which a cause is known, and its sentence; groups of the words have places in it."""

    words: str
    sentence: str


KNOWN_CAUSES: Sequence[KnownCause] = (
    KnownCause(
        r"No module named '([\w.]+)'",
        "the executors have no Python package {0}: give them this command's environment (see docs/how-to/clusters.md)",
    ),
    KnownCause(
        r"PYTHON_VERSION_MISMATCH\].*?(\d+\.\d+).*?(\d+\.\d+)",
        "the executors run another Python ({0}) than this command ({1}): set PYSPARK_PYTHON to one of the same version",
    ),
    KnownCause(
        r'Cannot run program "([^"]+)"',
        "the executors have no {0}: set PYSPARK_PYTHON to the path of their Python",
    ),
    KnownCause(r"No space left on device|Disk quota exceeded", DISK_FULL),
    KnownCause(r"File too large", TOO_LARGE),
    KnownCause(
        r"increase heap size using the --driver-memory",
        "Java has less memory than Spark starts with: give it more (--conf spark.driver.memory=1g)",
    ),
    KnownCause(
        r"EOFException occurred while reading the port number",
        "a worker ended before it had begun: it was killed, or PYSPARK_PYTHON is no Python with Spark",
    ),
    KnownCause(
        r"java\.lang\.OutOfMemoryError|Java heap space",
        "Java ran out of memory: give it more (--conf spark.driver.memory=4g), or give more --partitions",
    ),
    KnownCause(
        r"Python worker exited unexpectedly|Python worker process terminated",
        "a worker was killed, most likely for want of memory: let fewer run at a time (--master 'local[1]'), or give "
        "more --partitions",
    ),
    KnownCause(
        r"ExecutorLostFailure.*?Reason: ([^\n]+)",
        "an executor was lost ({0}): if it was for want of memory, give it more "
        "(--conf spark.executor.memoryOverhead=1g)",
    ),
    KnownCause(
        r"LoginException: java\.lang\.NullPointerException: invalid null input: name",
        "the user that runs this has no name on this machine, and Spark asks for it: give its number a line in "
        "/etc/passwd",
    ),
    KnownCause(
        r"All masters are unresponsive|Could not parse Master URL",
        "no Spark master answered: check --master",
    ),
    KnownCause(
        r"java\.net\.BindException: ([^\n]+)",
        "Spark could not listen on this machine ({0}): check --conf spark.driver.bindAddress and spark.driver.port",
    ),
)

OUR_ERROR = re.compile(r"^(?:analyzer\.[\w.]+\.)(?:UserError|CaptureError): (.+)$", re.MULTILINE)
"""What a worker of ours says for people."""


class SparkError(UserError):
    """Spark could not do it; its log says why."""


@contextmanager
def translate_spark_errors(log: Path | None) -> Iterator[None]:
    """Makes of what Spark raises one sentence, and where to read on; without a log, that is where Spark runs."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        where = "the logs of the driver and its executors say more" if log is None else f"what Spark says is in {log}"
        raise SparkError(
            f"Spark could not finish: {extract_reason(str(error)) or type(error).__name__}; {where}"
        ) from error


@contextmanager
def translate_full_disk() -> Iterator[None]:
    """Makes a sentence of a write of this process for which there was no room; such an error names no file."""
    try:
        yield
    except OSError as error:
        told = {errno.ENOSPC: DISK_FULL, errno.EDQUOT: DISK_FULL, errno.EFBIG: TOO_LARGE}.get(error.errno or 0)
        if told is None:
            raise
        raise UserError(told) from error


def extract_reason(text: str) -> str:
    """What went wrong: a known cause with its remedy, what one of our workers said, or the last line of a traceback."""
    ours = OUR_ERROR.search(text)
    if ours is not None:
        return ours[1]
    for cause in KNOWN_CAUSES:
        found = re.search(cause.words, text, re.DOTALL)
        if found is not None:
            return cause.sentence.format(*found.groups())
    lines = [line.strip(" :") for line in text.splitlines()]
    told = [line for line in lines if ": " in line and not line.startswith(("File ", "at ", "Traceback", "SQLSTATE"))]
    return (told or [*filter(None, lines)] or [""])[-1][:LONGEST_REASON]
