"""An annex keeps its last bytes in memory; what is read is the same wherever they are."""

from __future__ import annotations

import os

import numpy as np
import pytest

from analyzer.capture import sources
from analyzer.capture.sources import Annex


@pytest.mark.parametrize("tail", [1, 64, 1 << 20])
def test_bytes_are_those_that_were_appended(monkeypatch: pytest.MonkeyPatch, tail: int) -> None:
    monkeypatch.setattr(sources, "TAIL", tail)
    annex, whole = Annex(), b""
    for number in range(60):
        data = bytes((number,)) * (number % 13)
        assert annex.append(data) == len(whole)
        whole += data
        assert annex.size() == len(whole)
        for begin in (0, len(whole) // 2, len(whole) - 1, len(whole)):
            assert bytes(annex.window(max(begin, 0), 9)) == whole[max(begin, 0) : max(begin, 0) + 9]
    rows = annex.gather(np.array([0, 5, len(whole) - 2]), 4)
    assert rows.tobytes() == whole[:4] + whole[5:9] + whole[-2:] + b"\0\0"
    descriptor = annex.duplicate()
    assert os.read(descriptor, 1 << 16) == whole
    os.close(descriptor)
    annex.close()
