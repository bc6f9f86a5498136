"""What a batch does with the files of a ring, from the files themselves."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline import ledger
from analyzer.pipeline.ledger import (
    FileMark,
    FilePlan,
    KnownFile,
    Ledger,
    is_open_for_writing,
    plan_files,
    record_files,
)
from analyzer.tables.table_schemas import VERSION

LONG_AGO = time.time() - 10_000


def ring(folder: Path, *names: str) -> dict[str, str]:
    """Files, the last of which was written to last, and all of them long ago."""
    found = {}
    for place, name in enumerate(names):
        path = folder / name
        path.write_bytes(name.encode() * 10)
        os.utime(path, (LONG_AGO + place, LONG_AGO + place))
        found[str(path)] = "ring"
    return found


def planned(told: Ledger, files: dict[str, str], *, close: bool = False) -> tuple[list[str], list[str], dict[str, str]]:
    found: FilePlan = plan_files(told.files, files, told.waiting, settle=60, close=close)
    lost = {os.path.basename(path): reason for path, reason in found.lost.items()}
    return sorted(map(os.path.basename, found.new)), sorted(map(os.path.basename, found.waiting)), lost


@pytest.fixture
def told(tmp_path: Path) -> Ledger:
    return Ledger(str(tmp_path / "tables"), "{}")


def done(told: Ledger, files: dict[str, str], *, end: list[int] | None = None, apart: tuple[str, ...] = ()) -> None:
    """A batch that reads all that is finished, but for files that are put apart."""
    found = plan_files(told.files, files, told.waiting, settle=60)
    read = [path for path in found.new if os.path.basename(path) not in apart]
    told.files, told.waiting = record_files(told.files, found, dict.fromkeys(read, end)), found.waiting


def test_what_is_finished_is_read_once(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2", "3")
    assert planned(told, files) == (["1", "2", "3"], [], {})
    done(told, files)
    assert planned(told, files) == ([], [], {})
    assert planned(told, {**files, **ring(tmp_path, "4")}) == (["4"], [], {})


def test_the_newest_may_still_be_written(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    os.utime(tmp_path / "2")
    assert planned(told, files) == (["1"], ["2"], {})
    assert planned(told, files, close=True) == (["1", "2"], [], {})


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="this system has no leases")
def test_what_is_open_to_write_is_left_alone(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2", "3")
    with open(tmp_path / "1", "ab"):
        assert is_open_for_writing(str(tmp_path / "1"))
        assert planned(told, files) == (["2", "3"], ["1"], {})
    assert is_open_for_writing(str(tmp_path / "1")) is False
    assert planned(told, files) == (["1", "2", "3"], [], {})


def test_where_nobody_tells_who_writes_a_fresh_file_is_left_alone(
    tmp_path: Path, told: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(fcntl, "F_SETLEASE", raising=False)
    files = ring(tmp_path, "1", "2", "3")
    os.utime(tmp_path / "1")
    os.utime(tmp_path / "2")
    assert is_open_for_writing(str(tmp_path / "1")) is None
    assert planned(told, files) == (["3"], ["1", "2"], {})


def test_a_name_that_is_used_again_is_a_new_file(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    done(told, files)
    (tmp_path / "1").write_bytes(b"another capture")
    os.utime(tmp_path / "1", (LONG_AGO + 50, LONG_AGO + 50))
    assert planned(told, files) == (["1"], [], {})


def test_what_has_grown_is_read_on(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    (tmp_path / "1").write_bytes(bytes(9_000))
    os.utime(tmp_path / "1", (LONG_AGO, LONG_AGO))
    done(told, files, end=[7])
    with open(tmp_path / "1", "ab") as file:
        file.write(b"more")
    assert planned(told, files) == ([], ["1"], {})
    os.utime(tmp_path / "1", (LONG_AGO, LONG_AGO))
    assert planned(told, files) == (["1"], [], {})
    assert plan_files(told.files, files, settle=60).grown == {str(tmp_path / "1"): [7]}
    os.truncate(tmp_path / "1", 8_000)
    assert planned(told, files)[2] == {"1": "it has changed since it was read: what is new in it is not in the tables"}


def test_what_was_touched_is_not_new(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    done(told, files)
    os.utime(tmp_path / "1")
    assert planned(told, files) == ([], [], {})


@pytest.mark.parametrize("more", [b"x", b"x" * 10_000])
def test_what_has_grown_and_cannot_be_read_on_is_reported(tmp_path: Path, told: Ledger, more: bytes) -> None:
    files = ring(tmp_path, "1", "2")
    done(told, files)
    with open(tmp_path / "1", "ab") as file:
        file.write(more)
    new, waiting, lost = planned(told, files)
    assert (new, waiting) == ([], [])
    assert lost == {"1": f"it has grown since it was read: its last {len(more):,} bytes are not in the tables"}
    done(told, files)
    assert planned(told, files) == ([], [], {})


def test_what_vanished_is_reported_once(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2", "3")
    os.utime(tmp_path / "3")
    done(told, files)
    (tmp_path / "3").unlink()
    left = {path: name for path, name in files.items() if not path.endswith("3")}
    assert planned(told, left) == ([], [], {"3": "it vanished before it was read"})
    assert planned(told, files)[2]["3"].startswith("it cannot be read: No such file")
    done(told, left)
    assert planned(told, left) == ([], [], {})


def test_what_was_read_and_is_removed_is_forgotten(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    done(told, files)
    (tmp_path / "1").unlink()
    done(told, {str(tmp_path / "2"): "ring"})
    assert list(told.files) == [str(tmp_path / "2")]


def test_what_waits_in_other_sources_stays(tmp_path: Path, told: Ledger) -> None:
    """Then it was put in quarantine, and never read."""
    files = ring(tmp_path, "1", "2")
    os.utime(tmp_path / "2")
    done(told, files)
    assert planned(told, {}) == ([], ["2"], {})
    done(told, {})
    os.utime(tmp_path / "2", (LONG_AGO, LONG_AGO))
    assert planned(told, files) == (["2"], [], {})


def test_a_folder_that_is_not_mounted_for_a_while(tmp_path: Path, told: Ledger) -> None:
    """All that was read in it would be read again, and that which waits was not lost."""
    (tmp_path / "mount" / "ring").mkdir(parents=True)
    files = ring(tmp_path / "mount" / "ring", "1", "2", "3")
    os.utime(tmp_path / "mount" / "ring" / "3")
    done(told, files)
    (tmp_path / "mount").rename(tmp_path / "elsewhere")
    (tmp_path / "mount").mkdir()
    assert planned(told, {}) == ([], ["3"], {})
    done(told, {})
    (tmp_path / "mount").rmdir()
    (tmp_path / "elsewhere").rename(tmp_path / "mount")
    assert planned(told, files) == ([], ["3"], {})


@pytest.mark.parametrize("at_all", [False, True])
def test_what_changes_while_it_is_read_is_read_on(tmp_path: Path, told: Ledger, at_all: bool) -> None:
    """at_all: whether something of it was read."""
    files = ring(tmp_path, "1", "2")
    path = str(tmp_path / "1")
    found = plan_files(told.files, files, settle=60)
    with open(path, "ab") as file:
        file.write(b"more")
    os.utime(path, (LONG_AGO, LONG_AGO + 1))
    told.files = record_files(told.files, found, {each: [7] for each in found.new if at_all or each != path})
    after = plan_files(told.files, files, settle=60)
    assert (list(after.new), dict(after.grown)) == ([path], {path: [7]} if at_all else {})


def test_reading_on_that_failed_is_tried_again(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    done(told, files, end=[7])
    for more in range(2):
        with open(tmp_path / "1", "ab") as file:
            file.write(b"more")
        os.utime(tmp_path / "1", (LONG_AGO, LONG_AGO + more))
        assert plan_files(told.files, files, settle=60).grown == {str(tmp_path / "1"): [7]}
        done(told, files, apart=("1",))


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="this system has no leases")
def test_who_opens_a_file_while_it_is_looked_at_ends_nobody(tmp_path: Path) -> None:
    path = tmp_path / "1"
    path.write_bytes(b"a capture")
    work = f"""
import fcntl, os
from analyzer.pipeline.ledger import is_open_for_writing
real = fcntl.fcntl
def opened(descriptor, what, *rest):
    if (what, *rest) == (fcntl.F_SETLEASE, fcntl.F_UNLCK):
        try:
            os.open({str(path)!r}, os.O_WRONLY | os.O_NONBLOCK)
        except BlockingIOError:
            print("held")
    return real(descriptor, what, *rest)
fcntl.fcntl = opened
print(is_open_for_writing({str(path)!r}))
"""
    ended = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)
    assert ended.stdout.split() in (["held", "False"], ["None"])


def test_what_was_in_quarantine_is_read_when_it_has_changed(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    done(told, files, apart=("1",))
    assert planned(told, files) == ([], [], {})
    (tmp_path / "1").write_bytes(b"a capture now")
    os.utime(tmp_path / "1", (LONG_AGO - 50, LONG_AGO - 50))
    assert planned(told, files) == (["1"], [], {})


def test_it_is_saved_and_read_again(tmp_path: Path, told: Ledger) -> None:
    files = ring(tmp_path, "1", "2")
    os.utime(tmp_path / "2")
    mark = FileMark.from_file(str(tmp_path / "1"))
    told.files = {str(tmp_path / "1"): KnownFile(mark, True, [90, 2, 17, ["<"]]), str(tmp_path / "2"): KnownFile(mark)}
    told.waiting, told.batches = list(files), 3
    told.save(str(tmp_path))
    assert Ledger.load(str(tmp_path), told.folder, told.settings) == told
    assert Ledger.load(str(tmp_path / "other"), "a", "b") == Ledger("a", "b")


@pytest.mark.parametrize(
    ("folder", "settings", "text", "sentence"),
    [
        ("other", "{}", None, "belongs to the tables in"),
        (None, '{"fields": false}', None, "was begun with other options"),
        (None, "{}", '{"version": 1}', "belongs to tables of version 2, but this program writes version"),
        (None, "{}", '{"version": 99}', "belongs to tables of version 99"),
        (None, "{}", "[]", "Cannot read"),
        (None, "{}", "{", "Cannot read"),
        (
            None,
            "{}",
            f'{{"version": {VERSION}, "batches": 1, "colour": 3}}',
            "it is damaged, or of another version of .* Begin",
        ),
    ],
)
def test_a_state_of_something_else(
    tmp_path: Path, told: Ledger, folder: str | None, settings: str, text: str | None, sentence: str
) -> None:
    told.save(str(tmp_path))
    if text is not None:
        (tmp_path / ledger.LEDGER_NAME).write_text(text)
    with pytest.raises(UserError, match=sentence):
        Ledger.load(str(tmp_path), folder or told.folder, settings)
