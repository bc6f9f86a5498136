"""The picture for the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tui.driving import KAFKA


@pytest.mark.slow
def test_a_picture_of_records_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "open.svg"
    command = [sys.executable, "-m", "tui.picture", str(KAFKA), str(out)]
    subprocess.run(command, check=True, timeout=60, cwd=KAFKA.parent.parent)
    svg = out.read_text()
    ElementTree.fromstring(svg)  # it is XML
    assert not re.findall(r"url\(['\"]?https?:|@font-face|<image|<script", svg)
    assert "kafka.pcap" in svg
    assert "records" in svg
