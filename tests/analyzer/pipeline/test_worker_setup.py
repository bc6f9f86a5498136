"""What a worker is set up with: Arrow without pandas, until somebody has pandas."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

BEFORE = """
import sys
import analyzer.pipeline.scan, analyzer.pipeline.task
from analyzer.pipeline.worker_setup import set_up_process
set_up_process(), set_up_process()
import pyarrow as pa
made = pa.array([1, None]).null_count, pa.array(["a"]).to_pylist()
"""

CASES = {
    "arrays are made without pandas": ("made, 'pandas' in sys.modules", "((1, ['a']), False)"),
    "what is imported later is known": (
        "__import__('pandas') and pa.array(__import__('pandas').Series([1.0, float('nan')])).null_count",
        "1",
    ),
    "what Arrow needs itself it gets": ("type(pa.array([1]).to_pandas()).__name__", "Series"),
    "nobody waits for it after that": (
        "__import__('pandas') and [one for one in sys.meta_path if type(one).__module__.startswith('analyzer.')]",
        "[]",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
def test_arrow_knows_of_pandas_when_it_is_there(case: str) -> None:
    pytest.importorskip("pandas", reason="pyspark's companion is not installed")
    requested, expected = CASES[case]
    run = subprocess.run([sys.executable, "-c", f"{BEFORE}\nprint(({requested}))"], capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == (expected, "")
