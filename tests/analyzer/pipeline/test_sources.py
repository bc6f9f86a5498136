"""What files, folders and patterns stand for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline.sources import find
from tests.analyzer.capture.writers import pcap

EMPTY = pcap()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a/2.pcap", "a/10.pcap", "a/1.pcap.old", "b/c/x.cap", "b/y.pcap", "_staging/z.pcap", ".hidden/z.pcap"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(EMPTY)
    (tmp_path / "a" / "notes.txt").write_text("no capture")
    return tmp_path


WHOLE = ["0 a/1.pcap.old", "0 a/2.pcap", "0 a/10.pcap", "1 b/y.pcap", "2 b/c/x.cap"]


@pytest.mark.parametrize(
    ("sources", "files"),
    [
        ([""], WHOLE),
        (["b", "a"], WHOLE),
        (["a", "a/2.pcap", "b", "a/../b"], WHOLE),
        (["a/10.pcap", "a/2.pcap"], ["0 a/2.pcap", "0 a/10.pcap"]),
        (["a/*.pcap"], ["0 a/2.pcap", "0 a/10.pcap"]),
        (["b/**/*.*ap", "a/2.pcap"], ["0 a/2.pcap", "1 b/y.pcap", "2 b/c/x.cap"]),
        (["?"], WHOLE),
        (["_staging"], ["0 _staging/z.pcap"]),
    ],
)
def test_the_files_of_a_folder_are_one_capture(tree: Path, sources: list[str], files: list[str]) -> None:
    found = find([str(tree / source) for source in sources]).files
    assert [f"{file.capture} {os.path.relpath(file.path, tree)}" for file in found] == files


def test_a_file_is_read_once_whatever_it_is_called(tree: Path) -> None:
    (tree / "a" / "0.pcap").symlink_to(tree / "a" / "2.pcap")
    found = find([str(tree / "a" / "2.pcap"), str(tree / "a")]).files
    assert [file.name for file in found] == ["1.pcap.old", "2.pcap", "10.pcap"]
    assert {file.folder for file in found} == {str(tree / "a")}


def test_what_is_passed_over_in_a_folder_is_told(tree: Path) -> None:
    (told,) = find([str(tree / "a")]).passed_over
    assert "notes.txt is not a capture" in told


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a/notes.txt", "is not a capture"),
        ("a/nope.pcap", "cannot open"),
        ("nope/*.pcap", "matches no file"),
        ("a/*.txt", "is not a capture"),
        ("void", "no capture was found"),
        ("pipe", "is no file"),
    ],
)
def test_what_cannot_be_read(tree: Path, source: str, text: str) -> None:
    (tree / "void").mkdir()
    os.mkfifo(tree / "pipe")
    with pytest.raises(UserError, match=text):
        find([str(tree / source)])
