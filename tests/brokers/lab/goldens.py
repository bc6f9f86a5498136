"""Golden files: the rows of a vendor's decoding, a line each, as tests/golden reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import zstandard

PLACE = ("offset", "length", "protocol")
"""What of our rows says where a message is."""

LEVEL = 19


def write(capture: Path, folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """The file that stands beside a capture of this name."""
    lines = "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows)
    packed = zstandard.ZstdCompressor(LEVEL).compress(lines.encode())
    (folder / f"{capture.name.removesuffix('.pcap.zst')}.expected.ndjson.zst").write_bytes(packed)
