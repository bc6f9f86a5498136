"""What Spark raises, as people are told."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline.spark_errors import (
    LONGEST_REASON,
    SparkError,
    extract_reason,
    shorten_java_error,
    translate_full_disk,
    translate_spark_errors,
)

WORKER = 'An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File "x.py", line 1\n'

CASES = [
    (WORKER + "analyzer.errors.UserError: no room: make some", "no room: make some"),
    (WORKER + "analyzer.errors.CaptureError: cannot open x\nmore: y", "cannot open x"),
    (WORKER + "ModuleNotFoundError: No module named 'analyzer.pipeline'", "no Python package analyzer.pipeline. Give"),
    (
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, PySpark",
        "run Python 3.12, this command runs 3.11.",
    ),
    (
        'java.io.IOException: Cannot run program "./env/bin/python": error=2',
        "have no ./env/bin/python. Set PYSPARK_PYTHON",
    ),
    (WORKER + "OSError: [Errno 28] No space left on device: '/x'", "files is full"),
    (WORKER + "OSError: [Errno 122] Disk quota exceeded", "files is full"),
    ("java.io.IOException: File too large", "larger than this system allows"),
    ("Please increase heap size using the --driver-memory option or", "less memory than Spark needs"),
    (
        "x.SparkException: EOFException occurred while reading the port number from",
        "A worker ended before it began",
    ),
    ("Job aborted.\njava.lang.OutOfMemoryError: Java heap space", "Java ran out of memory"),
    ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "A worker was killed"),
    (
        "Lost task: ExecutorLostFailure (executor 1 exited) Reason: Command exited with code 137\nDriver stacktrace:",
        "An executor was lost: Command exited with code 137.",
    ),
    ("org.apache.spark.SparkException: Could not parse Master URL: 'x'", "No Spark master answered"),
    (
        "java.net.BindException: Cannot assign requested address: Service\nat x",
        ": Cannot assign requested address: Service.",
    ),
    (WORKER + "KeyError: 'x'", "KeyError: 'x'"),
    ("LoginException: java.lang.NullPointerException: invalid null input: name\nat x", "its number to /etc/passwd."),
    (WORKER + "KeyError: 'x'\n SQLSTATE: 38000", "KeyError: 'x'"),
    ("one line", "one line"),
    ("y: " + "x" * 500, "y: " + "x" * (LONGEST_REASON - 3)),
    ("", ""),
]


@pytest.mark.parametrize(("text", "told"), CASES)
def test_reasons(text: str, told: str) -> None:
    assert told in extract_reason(text)
    assert "\n" not in extract_reason(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            (
                "org.apache.hadoop.fs.s3a.UnknownStoreException: `s3a://no/x': getFileStatus on s3a://no/x: "
                "software.amazon.awssdk.services.s3.model.NoSuchBucketException: The specified bucket does not exist "
                "(Service: S3, Status Code: 404, Request ID: 7a) (SDK Attempt Count: 1)\n\tat org.apache.hadoop.Some"
            ),
            "`s3a://no/x': getFileStatus on s3a://no/x: The specified bucket does not exist",
        ),
        ("java.net.ConnectException: Connection refused.", "Connection refused"),
        (
            "[PATH_NOT_FOUND] Path does not exist: s3a://a/b. SQLSTATE: 42K03",
            "[PATH_NOT_FOUND] Path does not exist: s3a://a/b. SQLSTATE: 42K03",
        ),
    ],
)
def test_what_java_says_is_shortened(text: str, told: str) -> None:
    assert shorten_java_error(text) == told


@pytest.mark.parametrize(
    ("log", "where"), [(Path("spark.log"), "spark.log has"), (None, "of the driver and its executors")]
)
def test_where_to_read_on(log: Path | None, where: str) -> None:
    pyspark = pytest.importorskip("pyspark.errors", reason="the extra wireanalyze[pipeline] is not installed")
    with pytest.raises(SparkError, match=where), translate_spark_errors(log):
        raise pyspark.PySparkException("it is: broken")
    with pytest.raises(KeyError), translate_spark_errors(log):
        raise KeyError


@pytest.mark.parametrize(("number", "told"), [(errno.ENOSPC, "files is full"), (errno.EFBIG, "ulimit -f")])
def test_no_room_for_what_this_process_writes(number: int, told: str) -> None:
    with pytest.raises(UserError, match=told), translate_full_disk():
        raise OSError(number, "words")
    with pytest.raises(FileNotFoundError), translate_full_disk():
        raise FileNotFoundError(errno.ENOENT, "words")
