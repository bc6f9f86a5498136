"""New files and folders are there whole or not at all, and what was there stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.capture.output import INDEX, check_file, check_folder, create_file, create_folder
from analyzer.errors import UserError


class Interrupted(BaseException):
    """As Ctrl-C is none of the Exceptions."""


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with create_file(str(out)) as output:
        output.write(b"one ")
        output.writelines([b"two", memoryview(b" three")])
        assert not out.exists()
    assert (names(tmp_path), out.read_bytes()) == (["out"], b"one two three")
    umask = os.umask(0)
    os.umask(umask)
    assert out.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("error", [Interrupted, ValueError])
def test_what_is_interrupted_leaves_nothing(tmp_path: Path, error: type[BaseException], force: bool) -> None:
    out = tmp_path / "out"
    if force:
        out.write_bytes(b"old")

    def file() -> None:
        with create_file(str(out), force=force) as output:
            output.write(b"half")
            raise error

    def folder() -> None:
        with create_folder(str(tmp_path / "folder")) as hidden:
            Path(hidden, "file").write_bytes(b"half")
            raise error

    with pytest.raises(error):
        file()
    assert names(tmp_path) == (["out"] if force else [])
    with pytest.raises(error):
        folder()
    assert names(tmp_path) == (["out"] if force else [])
    assert not force or out.read_bytes() == b"old"


def test_existing_files_stay_without_force(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    with pytest.raises(UserError, match="exists already"):
        check_file(str(out), force=False)
    with pytest.raises(UserError, match="exists already"), create_file(str(out)):
        raise AssertionError
    with create_file(str(out), force=True) as output:
        output.write(b"new")
    assert (names(tmp_path), out.read_bytes()) == (["out"], b"new")


def test_what_appears_meanwhile_stays(tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "folder"
    with pytest.raises(UserError, match="meanwhile"), create_file(str(out)):
        out.write_bytes(b"theirs")
    with pytest.raises(UserError, match="meanwhile"), create_folder(str(folder)):
        folder.mkdir()
    assert (names(tmp_path), out.read_bytes(), names(folder)) == (["folder", "out"], b"theirs", [])


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with create_file(str(link), force=True) as output:
        output.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    with create_file(os.devnull) as output:
        output.write(b"gone")
    assert not os.path.isfile(os.devnull)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
@pytest.mark.parametrize("size", [10, 1 << 22])
def test_a_full_disk_is_one_sentence(size: int) -> None:
    with (
        pytest.raises(UserError, match="Cannot write /dev/full: No space left on device"),
        create_file("/dev/full") as out,
    ):
        out.write(bytes(size))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("no/such/out", "there is no folder"),
        ("", "output is empty"),
        (".", "is a folder. Give a file."),
        ("file/out", "there is no folder"),
    ],
)
def test_where_no_file_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, text: str) -> None:
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=text):
        check_file(path, force=False)


def test_only_our_own_folders_are_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with create_folder(str(out)) as hidden:
        Path(hidden, INDEX).write_text("{}\n")
        assert not out.exists()
    with pytest.raises(UserError, match="exists already"):
        check_folder(str(out), force=False)
    with create_folder(str(out), force=True) as hidden:
        Path(hidden, "other").touch()
    assert (names(tmp_path), names(out)) == (["out"], ["other"])
    for path in (out, out / "other"):
        with pytest.raises(UserError, match="no export wrote it"):
            check_folder(str(path), force=True)
    with pytest.raises(UserError, match="not standard output"):
        check_folder("-", force=True)


KILLED = """
import os, sys
from analyzer.capture.output import create_file, create_folder
with create_file(sys.argv[1], force=True) as output, create_folder(sys.argv[2], force=True) as hidden:
    output.write(bytes(1 << 22))
    open(os.path.join(hidden, "file"), "wb").close()
    os._exit(9)
"""


def test_a_kill_leaves_no_half_under_the_name(tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "folder"
    out.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(out), str(folder)], check=False, timeout=60)
    assert (done.returncode, out.read_bytes(), folder.exists()) == (9, b"old", False)
    assert all(name == "out" or name.startswith(".wireanalyze-") for name in names(tmp_path))
