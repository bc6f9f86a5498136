"""What Java is started with, and what is said if it does not start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.pipeline import java_gateway as module
from analyzer.pipeline.class_archive import RUNS, WRITE_SECONDS, ClassArchive
from analyzer.pipeline.java_gateway import choose_heap, make_start_error, write_launcher
from analyzer.pipeline.spark_errors import LOG_NAME

JAVA = """#!/bin/sh
for each in "$@"; do echo "$each"; done > {told}
{rest}
"""


def fake(folder: Path, rest: str) -> str:
    """A Java that notes how it was called."""
    path = folder / "java"
    path.write_text(JAVA.format(told=folder / "told", rest=rest))
    path.chmod(0o755)
    return str(path)


def test_java_gets_the_configuration_but_not_in_its_arguments(tmp_path: Path) -> None:
    settings = {
        "spark.hadoop.fs.s3a.secret.key": "pass = w\\ord:#1\n",
        "spark.driver.memory": "700m",
        "spark.driver.extraJavaOptions": "-Done='a b' -Dtwo",
        "spark.driver.extraClassPath": "/before",
    }
    found, archive = write_launcher(fake(tmp_path, "echo $SPARK_HOME"), tmp_path, settings, "/the spark")
    assert archive is None
    subprocess.run([f"{found['SPARK_HOME']}/bin/spark-submit", "pyspark-shell"], check=True)
    assert (tmp_path / LOG_NAME).read_text() == "/the spark\n"
    reported = (tmp_path / "told").read_text().splitlines()
    assert {"-Xmx700m", "-Done=a b", "-Dtwo", "--add-opens=java.base/java.lang=ALL-UNNAMED"} <= set(reported)
    assert reported[reported.index("-cp") + 1].startswith("/before:")
    assert "spark-mllib_" not in reported[reported.index("-cp") + 1]
    assert not [each for each in reported if "ord" in each.split(":")[-1] and "pass" in each]
    properties = tmp_path / "spark.properties"
    assert properties.stat().st_mode & 0o777 == 0o600
    assert r"spark.hadoop.fs.s3a.secret.key=pass\ \=\ w\\ord\:\#1\n" in properties.read_text()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Error: Could not find or load main class x", "Error: Could not find or load main class x"),
        (
            'first\nException in thread "main" java.lang.Boom: no\n\tat x.y(z)',
            'Exception in thread "main" java.lang.Boom',
        ),
        ("#\n# A fatal error has been detected\n#\n# see x\n#\n", "A fatal error has been detected"),
        ("one\n\ntwo", "two"),
        ("", "it said nothing"),
    ],
)
def test_a_java_that_ends_at_once(tmp_path: Path, said: str, told: str) -> None:
    (tmp_path / LOG_NAME).write_text(said)
    error = str(make_start_error(tmp_path / LOG_NAME))
    assert error.startswith(f"Java could not start Spark: {told}")
    assert error.endswith(f"{tmp_path / LOG_NAME} has the whole output.")


def test_a_session_whose_java_ends_at_once(tmp_path: Path) -> None:
    """In a process of its own: a session of another test has a Java in this one."""
    code = """
import sys
from analyzer.pipeline import spark_sessions
for java in sys.argv[1:]:
    spark_sessions.find_java = lambda: java
    try:
        with spark_sessions.open_session("local", {}):
            pass
    except spark_sessions.SparkError as error:
        print(error)
from pyspark import java_gateway
assert java_gateway.Popen is __import__("subprocess").Popen
"""
    javas = []
    for status in (1, 0):
        (tmp_path / str(status)).mkdir()
        javas.append(fake(tmp_path / str(status), f"echo 'Error: no heap' >&2; exit {status}"))
    alone = {**os.environ, "TMPDIR": str(tmp_path)}  # the log stays there
    done = subprocess.run([sys.executable, "-c", code, *javas], capture_output=True, text=True, check=True, env=alone)
    assert done.stdout.count("Java could not start Spark: Error: no heap.") == 2


@pytest.mark.parametrize(
    ("pages", "limit", "expected"),
    [(1 << 20, "max", 1 << 30), (1 << 20, str(3 << 30), 768 << 20), (1 << 10, "", 640 << 20), (1 << 30, "", 8 << 30)],
)
def test_memory(monkeypatch: pytest.MonkeyPatch, pages: int, limit: str, expected: int) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}.__getitem__)
    monkeypatch.setattr(Path, "read_text", lambda self: limit)
    assert choose_heap() == expected


def test_a_spark_home_without_spark_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(module.UserError, match="has no Spark"):
        write_launcher("java", tmp_path, {}, "")


@pytest.mark.parametrize(
    ("command", "option"),
    [("echo classes > $1", "-XX:SharedArchiveFile="), ("exit 0", None), ("echo cut > $1; exit 3", None)],
    ids=["written", "not written", "failed"],
)
def test_an_archive_of_classes_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str | None
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    libraries = ("/java", f"{__file__}:/none")
    for name, age in (("old.jsa", WRITE_SECONDS + 9), ("old.runs", WRITE_SECONDS + 9), ("new.17", 0)):
        (tmp_path / "wireanalyze").mkdir(exist_ok=True)
        (tmp_path / "wireanalyze" / f"spark-{name}").touch()
        os.utime(tmp_path / "wireanalyze" / f"spark-{name}", (time.time() - age,) * 2)
    assert [ClassArchive.find(*libraries) for _ in range(RUNS)] == [None] * RUNS
    writing = ClassArchive.find(*libraries)
    assert writing is not None
    kind, _, path = writing.option.partition("=")
    assert kind == "-XX:ArchiveClassesAtExit"
    writing.await_writing(subprocess.Popen(["sh", "-c", command, "sh", path]))
    assert not os.path.exists(path)
    others = {each.name for each in (tmp_path / "wireanalyze").iterdir() if each.stem != writing.path.stem}
    assert others == ({"spark-new.17"} if option else {"spark-new.17", "spark-old.jsa", "spark-old.runs"})
    later = ClassArchive.find(*libraries)
    assert (later and later.option.removesuffix(str(later.path))) == option
    assert ClassArchive.find("/other", "/none") is None
    writing.remove()
    assert not writing.path.exists()


@pytest.mark.parametrize("cache", ["relative", "/dev/null/cache", "/proc/cache"])
def test_a_cache_that_cannot_be_written_does_no_harm(monkeypatch: pytest.MonkeyPatch, cache: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    assert [ClassArchive.find("/java", "/none") for _ in range(RUNS + 1)] == [None] * (RUNS + 1)
