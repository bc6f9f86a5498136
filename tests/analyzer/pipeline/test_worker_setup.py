"""What a worker is set up with: Arrow without pandas, in workers of a session of our own and in the program alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.tables.options import OWN_WORKER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CAPTURE = Path(__file__).parents[3] / "captures" / "kafka.pcap"

SCRIPT = """
import sys
from analyzer.pipeline.worker_setup import set_up_process
set_up_process()
import pyarrow as pa
print(pa.array([1, None]).null_count, pa.array(["a"]).to_pylist(), "pandas" in sys.modules)
"""


@pytest.mark.parametrize("own", [True, False])
def test_arrow_does_not_import_pandas(own: bool) -> None:
    pytest.importorskip("pandas", reason="pyspark's companion is not installed")
    environment = {**os.environ, **({OWN_WORKER: "1"} if own else {})}
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert (run.stdout.strip(), run.stderr) == (f"1 ['a'] {not own}", "")


EXPORT = """
import atexit, sys
from analyzer.cli import main
atexit.register(lambda: print("pandas" in sys.modules))
main()
"""


def test_an_export_does_not_import_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pyspark's companion is not installed")
    command = [sys.executable, "-c", EXPORT, "export", str(CAPTURE), "-o", str(tmp_path / "out"), "--as", "parquet"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_workers_begin_with_what_they_need(spark: SparkSession) -> None:
    """They are forked with the modules of their tasks, and pyspark does not come from an archive without bytecode."""

    def look(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        import pyspark

        before = {"analyzer.pipeline.scan", "analyzer.pipeline.task"} <= sys.modules.keys()
        yield pa.record_batch([[before], [".zip" in pyspark.__file__]], ["before", "packed"])

    (found,) = spark.range(1, numPartitions=1).mapInArrow(look, "before BOOLEAN, packed BOOLEAN").collect()
    assert (found.before, found.packed) == (True, False)
