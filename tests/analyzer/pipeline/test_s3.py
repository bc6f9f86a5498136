"""The command reads captures in S3 with Spark's connector, from the server of moto on this machine.

WIREANALYZE_MOTO names the program moto_server; WIREANALYZE_S3_JARS the folder with hadoop-aws and what it needs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analyzer.pipeline.house import ROOT

MOTO, JARS = os.environ.get("WIREANALYZE_MOTO", ""), os.environ.get("WIREANALYZE_S3_JARS", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(not (MOTO and JARS), reason="WIREANALYZE_MOTO and WIREANALYZE_S3_JARS name no server and jars"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([MOTO, "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        address, end = f"http://127.0.0.1:{port}", time.monotonic() + 60
        while not put(f"{address}/captures", b""):
            assert time.monotonic() < end, "moto did not start"
            time.sleep(0.2)
        assert put(f"{address}/captures/today/kafka.pcap", (ROOT / "captures" / "kafka.pcap").read_bytes())
        yield address
    finally:
        process.kill()
        process.wait()


def put(url: str, data: bytes) -> bool:
    try:
        request = urllib.request.Request(url, data, {"Content-Type": "application/octet-stream"}, method="PUT")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@pytest.mark.parametrize(
    ("source", "status", "text"),
    [
        ("s3a://captures/today", 0, "1,241 packets in 1 files: 324 exchanges, 648 messages"),
        ("s3a://captures/*/*.pcap", 0, "1,241 packets in 1 files: 324 exchanges, 648 messages"),
        ("s3a://captures/none", 1, "Cannot read s3a://captures/none: "),
        ("s3a://nobucket/none", 1, "Cannot read s3a://nobucket/none: "),
    ],
)
def test_captures_in_s3(source: str, status: int, text: str, server: str, tmp_path: Path) -> None:
    conf = {
        "spark.jars": ",".join(map(str, sorted(Path(JARS).glob("*.jar")))),
        "spark.hadoop.fs.s3a.endpoint": server,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
    }
    command = [sys.executable, "-m", "analyzer.cli", "pipeline", source, "-o", str(tmp_path / "tables")]
    command += ["--master", "local[1]", *(part for each in conf.items() for part in ("--conf", "=".join(each)))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert text in done.stdout + done.stderr
    assert (done.returncode != 0) == (status != 0)
