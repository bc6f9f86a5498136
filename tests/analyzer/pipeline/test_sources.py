"""What files, folders and patterns stand for."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline.sources import find_captures
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


WHOLE = ["1 a/1.pcap.old", "1 a/2.pcap", "1 a/10.pcap", "2 b/y.pcap", "3 b/c/x.cap"]


@pytest.mark.parametrize(
    ("sources", "files"),
    [
        ([""], WHOLE),
        (["b", "a"], WHOLE),
        (["a", "a/2.pcap", "b", "a/../b"], WHOLE),
        (["a/10.pcap", "a/2.pcap"], ["1 a/2.pcap", "1 a/10.pcap"]),
        (["a/*.pcap"], ["1 a/2.pcap", "1 a/10.pcap"]),
        (["b/**/*.*ap", "a/2.pcap"], ["1 a/2.pcap", "2 b/y.pcap", "3 b/c/x.cap"]),
        (["?"], WHOLE),
        (["_staging"], ["1 _staging/z.pcap"]),
    ],
)
def test_the_files_of_a_folder_are_one_capture(tree: Path, sources: list[str], files: list[str]) -> None:
    found = find_captures([str(tree / source) for source in sources]).files
    assert [f"{file.capture} {os.path.relpath(file.path, tree)}" for file in found] == files


def test_a_file_is_read_once_whatever_it_is_called(tree: Path) -> None:
    (tree / "a" / "0.pcap").symlink_to(tree / "a" / "2.pcap")
    found = find_captures([str(tree / "a" / "2.pcap"), str(tree / "a")]).files
    assert [file.name for file in found] == ["1.pcap.old", "2.pcap", "10.pcap"]
    assert {file.capture_name for file in found} == {str(tree / "a")}


def test_a_link_does_not_rename_the_file_next_to_it(tree: Path) -> None:
    """The state of a ring knows files by name, and such a link leads elsewhere tomorrow."""
    link = tree / "a" / "0.pcap"
    link.symlink_to(tree / "a" / "2.pcap")
    for sources in ([str(link), str(tree / "a")], [str(tree / "a"), str(link)]):
        assert [file.name for file in find_captures(sources).files] == ["1.pcap.old", "2.pcap", "10.pcap"]


def test_a_folder_that_cannot_be_looked_into(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has gone is none."""
    real = os.scandir

    def refused(folder: str) -> Iterator[os.DirEntry[str]]:
        if os.path.basename(folder) == "c":
            raise error
        return real(folder)  # type: ignore[return-value]

    monkeypatch.setattr(os, "scandir", refused)
    error = OSError(errno.ENOENT, "gone", "c")
    assert len(find_captures([str(tree)]).files) == len(WHOLE) - 1
    error = OSError(errno.EACCES, "Permission denied", str(tree / "b" / "c"))
    with pytest.raises(UserError, match=r"Cannot list .*/b/c: Permission denied"):
        find_captures([str(tree)])


@pytest.mark.parametrize(
    ("pattern", "captures"),
    [
        (r"/(\d+)\.pcap", {"1": ["a/1.pcap.old"], "2": ["a/2.pcap"], "10": ["a/10.pcap"]}),
        (r"\.(pcap|cap)", {"cap": ["b/c/x.cap"], "pcap": ["a/1.pcap.old", "a/2.pcap", "a/10.pcap", "b/y.pcap"]}),
        ("[ab]/", {"a/": ["a/1.pcap.old", "a/2.pcap", "a/10.pcap"], "b/": ["b/c/x.cap", "b/y.pcap"]}),
        ("(z)?[.]pcap", {".pcap": ["a/1.pcap.old", "a/2.pcap", "a/10.pcap", "b/y.pcap"]}),
    ],
)
def test_a_pattern_names_captures(
    tree: Path, pattern: str, captures: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then files of several folders may be one, and the whole path is a file's name; what fits nowhere is told."""
    monkeypatch.chdir(tree)
    found = find_captures(["a", "b"], pattern)
    names = {file.capture_name: file.capture for file in found.files}
    assert names == {name: number for number, name in enumerate(sorted(captures), 1)}
    relative = {name: [] for name in captures}  # type: dict[str, list[str]]
    for file in found.files:
        relative[file.capture_name].append(os.path.relpath(file.path, tree))
        assert file.name == file.path
    assert relative == captures
    others = len(WHOLE) - len(found.files)
    assert sum("does not match" in text for text in found.passed_over) == others


def test_patterns_that_are_none_or_fit_nothing(tree: Path) -> None:
    with pytest.raises(UserError, match="not a regular expression"):
        find_captures([str(tree)], "(")
    with pytest.raises(UserError, match="does not match ring"):
        find_captures([str(tree / "a" / "2.pcap")], "ring")
    with pytest.raises(UserError, match="No capture was found"):
        find_captures([str(tree)], "ring")


def test_uris(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of files are paths; others are left to Spark, but for what is a file by that very name."""
    odd = tree / "b:" / "x y.pcap"
    odd.parent.mkdir()
    odd.write_bytes(EMPTY)
    monkeypatch.chdir(tree)
    local = [
        f"file:{tree}/a/2.pcap",
        f"file://{tree}/b/*.pcap",
        f"file://localhost{tree}/b%3A/x%20y.pcap",
        "b:/x y.pcap",
    ]
    found = find_captures([*local, "hdfs://host/heap", "s3a://heap/2026/"])
    assert [os.path.relpath(file.path, tree) for file in found.files] == ["a/2.pcap", "b/y.pcap", "b:/x y.pcap"]
    assert found.remote == ("hdfs://host/heap", "s3a://heap/2026/")
    assert find_captures(["hdfs://host/heap"]).files == ()


def test_what_is_known_of_a_file_when_it_is_found(tree: Path) -> None:
    packed = tree / "a" / "3.pcap.gz"
    packed.write_bytes(gzip.compress(EMPTY))
    os.utime(packed, ns=(5, 1_700_000_000_123_456_789))
    (file,) = find_captures([str(packed)]).files
    assert (file.size, file.changed, file.plain, file.found, file.remote) == (
        *(packed.stat().st_size, 1_700_000_000_123_456_789),
        *(False, False, False),
    )
    assert {(file.plain, file.found) for file in find_captures([str(tree / "b")]).files} == {(True, True)}


def test_what_looks_like_a_capture_in_a_folder_is_left_to_its_scan(tree: Path) -> None:
    cut = tree / "a" / "cut.pcap"
    cut.write_bytes(EMPTY[:20])
    assert str(cut) in [file.path for file in find_captures([str(tree)]).files]
    with pytest.raises(UserError, match="ends within its pcap header"):
        find_captures([str(cut)])


def test_tables_and_a_state_among_captures_are_left_alone(tree: Path) -> None:
    """Nobody wants to hear of each of their files, run after run."""
    for name in ("_lock", "messages/date=2026-11-21/part.parquet", "ledger.json", "open-3/names.json"):
        (tree / "b" / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / "b" / name).touch()
    found = find_captures([str(tree)])
    assert len(found.files) == len(WHOLE)
    assert [text.partition(" is not")[0] for text in found.passed_over] == [str(tree / "a" / "notes.txt")]
    (tree / "b" / "_lock").unlink()
    assert len(find_captures([str(tree)]).passed_over) == 4


def test_what_vanishes_while_folders_are_looked_through(tree: Path) -> None:
    """A link that leads nowhere stands for it."""
    (tree / "a" / "gone.pcap").symlink_to("nowhere")
    assert sum("gone.pcap: No such file" in text for text in find_captures([str(tree)]).passed_over) == 1
    with pytest.raises(UserError, match=r"Cannot open .*gone\.pcap"):
        find_captures([str(tree / "a" / "gone.pcap")])


def test_what_is_passed_over_in_a_folder_is_reported(tree: Path) -> None:
    (reported,) = find_captures([str(tree / "a")]).passed_over
    assert "notes.txt is not a capture" in reported


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a/notes.txt", "is not a capture"),
        ("a/nope.pcap", "Cannot open"),
        ("nope/*.pcap", "matches no file"),
        ("a/*.txt", "is not a capture"),
        ("void", "No capture was found"),
        ("pipe", "is not a regular file"),
    ],
)
def test_what_cannot_be_read(tree: Path, source: str, text: str) -> None:
    (tree / "void").mkdir()
    os.mkfifo(tree / "pipe")
    with pytest.raises(UserError, match=text):
        find_captures([str(tree / source)])
