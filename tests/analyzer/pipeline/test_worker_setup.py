"""What a worker is set up with: Arrow without pandas, in workers of a session of our own alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.pipeline.options import OWN_WORKER

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
