"""What a worker's process is set up with before its first task, for it to stay small.

Theory. Most of what a worker holds is what libraries keep. Arrow's allocator keeps what it frees, and a task
frees as much as it reads; which one it takes is told by the environment (spark_sessions.py), and here, how soon that
one gives memory back. And Arrow asks with its first array whether that might be one of pandas, for which it imports
pandas: a quarter of a second and 24 MB. But there is no object of pandas as long as nobody has imported it, so Arrow is
told that there is none until somebody does.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

PANDAS = "pandas"

JEMALLOC, DECAY = "jemalloc", 100
"""The allocator, and after how many ms it gives free memory back."""


def set_up_process() -> None:
    """Sets up this process, once or often; nothing in it works differently from then on."""
    if pa.default_memory_pool().backend_name == JEMALLOC:
        pa.jemalloc_set_decay_ms(DECAY)
    hide_pandas()
    _limit_collection()


def hide_pandas() -> None:
    """Lets Arrow know of pandas when it is imported, instead of importing it; without effect if it is there already."""
    if PANDAS in sys.modules or any(isinstance(each, _PandasFinder) for each in sys.meta_path):
        return
    watch = _PandasFinder()
    sys.meta_path.insert(0, watch)
    pa.array([0])
    watch.hides = False


def _limit_collection() -> None:
    """Decoded values are trees without cycles; looking for cycles costs a tenth of the time."""
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)


class _PandasFinder(MetaPathFinder):
    """Waits for the import of pandas, once Arrow has asked for it in vain."""

    def __init__(self) -> None:
        self.hides = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Somebody else's answer, with a loader that tells Arrow."""
        if fullname != PANDAS:
            return None
        if self.hides:
            raise ModuleNotFoundError(name=fullname)
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _PandasLoader(found.loader)
        return found


class _PandasLoader(Loader):
    """A loader after whose work Arrow knows that there is pandas."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See Loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See Loader."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        pa.nulls(0).to_pandas()
