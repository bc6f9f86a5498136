"""A dissector of tests/examples, installed as a stranger's package would be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dissectors import registry
from dissectors.api import Dissector


@contextmanager
def installed(name: str, target: str, folder: Path) -> Iterator[Dissector]:
    """The dissector of `target` (module:Class) under its entry point."""
    info = folder / f"{name}_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = {target}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        registry.forget_plugins()
        yield registry.by_name(name)
        assert registry.problems() == ()
    registry.forget_plugins()
