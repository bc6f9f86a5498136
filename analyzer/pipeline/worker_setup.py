"""What a worker's process is set up with before its first task, for it to stay small.

Theory. Most of what a worker holds is what libraries keep. Arrow's allocator keeps what it frees, and a task frees as
much as it reads; which one it takes is told by the environment (spark_sessions.py), and here, how soon that one gives
memory back. And Arrow asks with its first array whether that might be one of pandas, for which it imports pandas: a
quarter of a second and 24 MB. In workers of a session of our own, and in the command `export`, nobody has pandas,
so Arrow is told that there is none.
"""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from importlib.abc import MetaPathFinder

import pyarrow as pa

from analyzer.tables.options import OWN_WORKER

JEMALLOC, DECAY = "jemalloc", 100
"""The allocator, and after how many ms it gives free memory back."""


@cache
def set_up_process() -> None:
    """Sets up this process, once; nothing in it works differently from then on."""
    if pa.default_memory_pool().backend_name == JEMALLOC:
        pa.jemalloc_set_decay_ms(DECAY)
    if OWN_WORKER in os.environ:
        leave_out_pandas()
    # Decoded values are trees without cycles; looking for cycles costs a tenth of the time.
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)


def leave_out_pandas() -> None:
    """Lets Arrow do without pandas for as long as this process lives; for one that has no use for both together."""
    sys.meta_path.insert(0, _PandasFinder())
    pa.array([0])
    del sys.meta_path[0]


class _PandasFinder(MetaPathFinder):
    """Finds that there is no pandas."""

    def find_spec(self, fullname: str, path: object, target: object = None, /) -> None:
        """Raises ModuleNotFoundError for pandas; leaves other modules to the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)
