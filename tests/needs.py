"""What some tests need of a machine: each is skipped with a reason where that is missing."""

from __future__ import annotations

from ctypes.util import find_library

import pytest

LIBPCAP = pytest.mark.skipif(
    find_library("pcap") is None, reason="compiles a capture filter: needs libpcap (Debian, Ubuntu: libpcap0.8)"
)
