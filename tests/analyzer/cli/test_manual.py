"""The manual page and the completion scripts: they are current, they are in the wheel, and man can format them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from analyzer.cli.manual import build_files, build_manual
from analyzer.cli.program import COMMANDS
from tests.documents import ROOT


@pytest.mark.parametrize("path", build_files())
def test_files_are_current(path: str) -> None:
    """Run `python -m analyzer.cli.manual` if this fails."""
    assert (ROOT / "share" / path).read_text() == build_files()[path]


def test_wheel_installs_all_of_share(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the builder is not installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition(".data/data/share/")[2] for name in names if ".data/data/share/" in name} == set(
        build_files()
    )


def test_manual_has_all_commands() -> None:
    manual = build_manual()
    assert all(f"\n.SS wireanalyze {name}" in manual for name in COMMANDS)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_formats_the_manual_without_a_warning() -> None:
    run = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=build_manual(), capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert "You pressed Ctrl-C." in run.stdout
