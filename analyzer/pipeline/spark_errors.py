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
    "The disk of the tables or of Spark's own files is full. Free some space, or give another folder with "
    "--conf spark.local.dir=DIR."
)
TOO_LARGE = "A file became larger than this system allows. Raise ulimit -f, or give more --partitions."
"""Known by their words from Spark, and by their numbers from this process."""


class KnownCause(NamedTuple):
    """Words by which a cause is known, and its sentence; groups of the words have places in it."""

    words: str
    sentence: str


KNOWN_CAUSES: Sequence[KnownCause] = (
    KnownCause(
        r"No module named '([\w.]+)'",
        "The executors have no Python package {0}. Give them this command's environment (see docs/how-to/clusters.md).",
    ),
    KnownCause(
        r"PYTHON_VERSION_MISMATCH\].*?(\d+\.\d+).*?(\d+\.\d+)",
        "The executors run Python {0}, this command runs {1}. Set PYSPARK_PYTHON to a Python of the same version.",
    ),
    KnownCause(
        r'Cannot run program "([^"]+)"',
        "The executors have no {0}. Set PYSPARK_PYTHON to the path of their Python.",
    ),
    KnownCause(r"No space left on device|Disk quota exceeded", DISK_FULL),
    KnownCause(r"File too large", TOO_LARGE),
    KnownCause(
        r"increase heap size using the --driver-memory",
        "Java has less memory than Spark needs. Give it more (--conf spark.driver.memory=1g).",
    ),
    KnownCause(
        r"EOFException occurred while reading the port number",
        "A worker ended before it began. Something killed it, or PYSPARK_PYTHON is not a Python with Spark.",
    ),
    KnownCause(
        r"java\.lang\.OutOfMemoryError|Java heap space",
        "Java ran out of memory. Give it more (--conf spark.driver.memory=4g), or give more --partitions.",
    ),
    KnownCause(
        r"Python worker exited unexpectedly|Python worker process terminated",
        "A worker was killed, probably because memory ran out. Run fewer at a time (--master 'local[1]'), or give "
        "more --partitions.",
    ),
    KnownCause(
        r"ExecutorLostFailure.*?Reason: ([^\n]+)",
        "An executor was lost: {0}. If its memory ran out, give it more (--conf spark.executor.memoryOverhead=1g).",
    ),
    KnownCause(
        r"LoginException: java\.lang\.NullPointerException: invalid null input: name",
        "Your user has no name on this machine, and Spark needs one. Add a line for its number to /etc/passwd.",
    ),
    KnownCause(
        r"All masters are unresponsive|Could not parse Master URL",
        "No Spark master answered. Check --master.",
    ),
    KnownCause(
        r"java\.net\.BindException: ([^\n]+)",
        "Spark could not listen on this machine: {0}. Check --conf spark.driver.bindAddress and spark.driver.port.",
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
        where = "See the logs of the driver and its executors." if log is None else f"{log} has Spark's output."
        reason = extract_reason(str(error)) or type(error).__name__
        raise SparkError(f"Spark could not finish: {reason}{'' if reason.endswith('.') else '.'} {where}") from error


@contextmanager
def translate_full_disk() -> Iterator[None]:
    """Makes a sentence of a write of this process for which there was no room; such an error names no file."""
    try:
        yield
    except OSError as error:
        message = {errno.ENOSPC: DISK_FULL, errno.EDQUOT: DISK_FULL, errno.EFBIG: TOO_LARGE}.get(error.errno or 0)
        if message is None:
            raise
        raise UserError(message) from error


def extract_reason(text: str) -> str:
    """Returns the cause of a Spark error: a known one with its remedy, a worker's, or the traceback's last line."""
    ours = OUR_ERROR.search(text)
    if ours is not None:
        return ours[1]
    for cause in KNOWN_CAUSES:
        found = re.search(cause.words, text, re.DOTALL)
        if found is not None:
            return cause.sentence.format(*found.groups())
    lines = [line.strip(" :") for line in text.splitlines()]
    message = [
        line for line in lines if ": " in line and not line.startswith(("File ", "at ", "Traceback", "SQLSTATE"))
    ]
    return (message or [*filter(None, lines)] or [""])[-1][:LONGEST_REASON]


_JAVA_NOISE = re.compile(r"\b(?:[a-z]\w*\.){2,}\w*(?:Exception|Error): | ?\((?:Service|SDK Attempt Count): [^)]*\)")
"""Names of Java's classes, and what Amazon's library says of a request."""


def shorten_java_error(text: str) -> str:
    """Returns the first line of what Java says, without what only its programmers need."""
    return _JAVA_NOISE.sub("", text.strip().partition("\n")[0])[:LONGEST_REASON].rstrip(". ")
