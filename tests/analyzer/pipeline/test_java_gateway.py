"""What Java is started with, and what is said if it does not start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.pipeline import java_gateway as module
from analyzer.pipeline.java_gateway import Gateway, choose_heap
from analyzer.pipeline.spark_errors import LOG_NAME, SparkError

JAVA = """#!/bin/sh
for each in "$@"; do echo "$each"; done > {told}
{rest}
"""
COMES_UP = r"""printf '\000\000\001\002\000\000\000\003key' > "$_PYSPARK_DRIVER_CONN_INFO_PATH"; exec cat"""


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
    gateway = Gateway(fake(tmp_path, COMES_UP), tmp_path, settings, {"FROM_US": "yes"})
    try:
        assert (gateway.port, gateway.secret, gateway.alive) == (258, "key", True)
    finally:
        gateway.close()
    assert not gateway.alive
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
        ("one\n\ntwo", "two"),
        ("", "it said nothing"),
    ],
)
def test_a_java_that_ends_at_once(tmp_path: Path, said: str, told: str) -> None:
    (tmp_path / "said").write_text(said)
    with pytest.raises(SparkError, match="Java could not start Spark: ") as raised:
        Gateway(fake(tmp_path, f"cat {tmp_path / 'said'} >&2; exit 1"), tmp_path, {}, {})
    assert told in str(raised.value)
    assert str(tmp_path / LOG_NAME) in str(raised.value)


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
        Gateway("java", tmp_path, {}, {})
