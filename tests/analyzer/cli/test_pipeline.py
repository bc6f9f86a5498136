"""`wireanalyze pipeline`: its words and its ends; what it writes is tested in tests/analyzer/pipeline."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from analyzer.cli.program import run
from analyzer.pipeline import spark_sessions

CAPTURE = Path(__file__).parents[3] / "captures" / "kafka.pcap"

needs_spark = pytest.mark.skipif(
    find_spec("pyspark") is None or find_spec("pyarrow") is None,
    reason="the extra wireanalyze[pipeline] is not installed",
)


@needs_spark
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nope.pcap"], "Cannot open nope.pcap: No such file or directory"),
        ([__file__], "is not a capture"),
        ([str(CAPTURE), "--conf", "spark"], "'spark' is not NAME=VALUE"),
        ([str(CAPTURE), "--partitions", "0"], "--partitions: Give a whole number, 1 or more, not '0'."),
        ([str(CAPTURE), "-d", "9092=nope"], "There is no protocol 'nope'."),
        ([str(CAPTURE), "--master", "nonsense"], "'nonsense' is not a Spark master. Give local[N]"),
        ([str(CAPTURE), "--remote", "host:15002"], "is not a Spark Connect server. Give sc://HOST:PORT."),
        ([str(CAPTURE), "--master", "local", "--remote", "sc://host"], "--master and --remote exclude each other"),
        ([], "pipeline needs SOURCE..."),
    ],
)
def test_wrong_usage(arguments: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", *arguments, "-o", str(tmp_path / "out")]) == 2
    reported = capsys.readouterr()
    assert (reported.out, text in reported.err, reported.err.count("\n")) == ("", True, 1)
    assert not (tmp_path / "out").exists()


@needs_spark
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-o", "s3a://bucket/tables"], "-o s3a://bucket/tables: pipeline does not write to s3a://. Give a folder"),
        (["-o", "file://host/tables"], "-o file://host/tables: pipeline does not write to file://."),
        (["-o", "out", "--state", "hdfs:///state"], "--state hdfs:///state: pipeline does not write to hdfs://."),
    ],
)
def test_a_uri_is_no_folder_of_this_name(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["pipeline", str(CAPTURE), *arguments]) == 2
    assert text in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@needs_spark
def test_spark_submit_decides_where_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(spark_sessions.SUBMITTED, "1")
    assert run(["pipeline", str(CAPTURE), "-o", str(tmp_path / "out"), "--conf", "spark.x=y"]) == 2
    assert (
        "spark-submit itself takes --master, --remote and --conf. Give them before the script."
        in capsys.readouterr().err
    )


def test_where_the_script_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "--script"]) == 0
    assert Path(capsys.readouterr().out.strip()).read_text().count("def main() -> int:") == 1


@needs_spark
def test_tables_are_not_replaced_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exchanges").mkdir()
    assert run(["pipeline", str(CAPTURE), "-o", str(tmp_path)]) == 2
    assert "has tables already (exchanges). Give another folder, or --overwrite" in capsys.readouterr().err


@needs_spark
@pytest.mark.xdist_group("spark")
def test_a_run(tmp_path: Path) -> None:
    """The whole of it, from a folder that is not the project's; nothing but our words is printed."""
    (tmp_path / "in").mkdir()
    shutil.copy(CAPTURE, tmp_path / "in")
    shutil.copy(CAPTURE, tmp_path / "in" / "copy.pcap")
    (tmp_path / "in" / "README.md").write_text("no capture")
    command = [sys.executable, "-m", "analyzer.cli", "pipeline", "in", "-o", f"file://{tmp_path}/out"]
    command += ["--master", "local[1]", "--partitions", "1", "--conf", "spark.driver.memory=600m", "--no-fields"]
    old = tmp_path / "out" / "messages" / "date=2020-01-01" / "old.parquet"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"")
    done = subprocess.run(
        [*command, "--overwrite"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (
        0,
        "2,482 packets in 2 files: 324 exchanges, 648 messages, 95 records, 37 streams, 1 names, 160 summaries\n",
    )
    assert done.stderr.startswith("wireanalyze: note: ")
    assert "README.md is not a capture" in done.stderr
    assert "warning: copy.pcap and kafka.pcap are files of one capture, " in done.stderr
    assert done.stderr.count("\n") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    folders = {str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")}
    tables = ("exchanges", "messages", "names", "records", "streams", "summaries")
    kafka = {f"out/{table}/date=2026-11-21/protocol=kafka" for table in tables}
    assert folders == {*kafka, "out/files/date=2026-11-21/protocol=unknown"}
    assert not old.exists()
