"""CRC-32C by the library crc32c, without the cost of its package's import.

Theory. The package reads its own version from importlib.metadata, which imports email, zipfile and forty more modules:
more than all our modules that decode a message. The function is in an extension module beside the package, which is
loaded alone. If it is not found there, the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TypeAlias

Checksum: TypeAlias = "Callable[[bytes | memoryview], int]"


def _find_checksum() -> Checksum:
    package = PathFinder.find_spec("crc32c")
    folders = None if package is None else package.submodule_search_locations
    spec = None if folders is None else PathFinder.find_spec("crc32c._crc32c", folders)
    if spec is not None and spec.loader is not None:
        extension = module_from_spec(spec)
        spec.loader.exec_module(extension)
        function: Checksum | None = getattr(extension, "crc32c", None)
        if function is not None:
            return function
    from crc32c import crc32c as whole

    return whole


crc32c = _find_checksum()
"""The checksum of bytes."""
