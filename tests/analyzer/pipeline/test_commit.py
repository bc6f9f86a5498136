"""Whatever a killed run leaves behind, the next one comes to the tables of before or of after, and to no others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline import commit

TABLES = ("messages", "exchanges", "records")
STEPS = ("rename", "rmdir", "mkdir")
"""What the functions of commit.py are made of; rmtree goes through rmdir as well."""

Files = dict[str, str]


class Killed(BaseException):
    """The process is gone."""


def put(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def seen(folder: Path) -> Files:
    """What a reader of Parquet folders sees."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path.read_text() for path in paths}
    return {name: text for name, text in names.items() if not name.startswith("_")}


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch, work: Callable[[], None]) -> bool:
    """Does the work until its n-th step, which is not done; False if it has no such step."""
    left = step

    def watched(real: Callable[..., None]) -> Callable[..., None]:
        def one(*arguments: object, **named: object) -> None:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            real(*arguments, **named)

        return one

    with monkeypatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, watched(getattr(os, name)))
        try:
            work()
        except Killed:
            return True
    return False


OLD = {"messages/date=1/a": "old", "exchanges/date=1/b": "old"}
NEW = {"messages/date=1/a": "new", "messages/date=2/c": "new", "records/date=1/d": "new"}


def test_tables_are_replaced_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []
    for step in range(100):
        folder = tmp_path / str(step)
        with commit.lock_folder(str(folder)):
            put(folder, OLD)
            written = commit.create_staging_folder(str(folder))
            put(Path(written), NEW)
            was_killed = killed_at(step, monkeypatch, lambda: commit.replace_tables(str(folder), written, TABLES))  # noqa: B023
        with commit.lock_folder(str(folder)):
            commit.recover_folder(str(folder), 0)
        assert [name for name in os.listdir(folder) if name.startswith("_")] == [commit.LOCK]
        ends.append(seen(folder))
        if not was_killed:
            break
    assert step > 5
    assert all(end in (OLD, NEW) for end in ends)
    turned = ends.index(NEW)
    assert ends[:turned] == [OLD] * turned
    assert ends[turned:] == [NEW] * (step + 1 - turned)


@pytest.mark.parametrize("decided", [False, True])
def test_a_batch_is_added_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: bool) -> None:
    """decided: whether the ledger had been written when the process was killed, while it recovered."""
    more = {"messages/date=1/e": "more", "streams/date=3/f": "more"}
    expected = {**OLD, **more} if decided else OLD
    for step in range(100):
        folder = tmp_path / str(step)
        with commit.lock_folder(str(folder)):
            put(folder, OLD)
            written = commit.create_staging_folder(str(folder))
            put(Path(written), more)
            commit.prepare_batch(str(folder), written, 7)
            killed = killed_at(step, monkeypatch, lambda: commit.recover_folder(str(folder), 7 if decided else 6))  # noqa: B023
        with commit.lock_folder(str(folder)):
            commit.recover_folder(str(folder), 7 if decided else 6)
        assert seen(folder) == expected
        assert [name for name in os.listdir(folder) if name.startswith("_")] == [commit.LOCK]
        if not killed:
            break
        shutil.rmtree(folder)
    assert step > 1


@pytest.mark.parametrize("batch", [False, True])
def test_all_is_on_the_disk_before_the_step_that_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    written = commit.create_staging_folder(str(tmp_path))
    put(Path(written), NEW)
    done, sync, rename = list[str](), os.fsync, os.rename

    def synced(descriptor: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def renamed(old: str, new: str) -> None:
        if old == written:
            assert {os.path.join(written, name) for name in NEW} <= set(done)
            done.append("decided")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    if batch:
        commit.prepare_batch(str(tmp_path), written, 1)
    else:
        commit.replace_tables(str(tmp_path), written, TABLES)
    assert "decided" in done


def test_two_runs_do_not_write_at_once(tmp_path: Path) -> None:
    other = pytest.raises(UserError, match="Another run is writing")
    with commit.lock_folder(str(tmp_path)), other, commit.lock_folder(str(tmp_path)):
        pass
    with commit.lock_folder(str(tmp_path)):
        pass


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="Cannot write"), commit.lock_folder(str(tmp_path / "file" / "tables")):
        pass


def test_a_folder_whose_name_parquet_cannot_take(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="whose name is UTF-8"),
        commit.lock_folder(os.fsdecode(bytes(tmp_path) + b"/\xff")),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_what_is_written_whole_is_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.json"
    commit.write_atomically(str(path), b"first")

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            commit.write_atomically(str(path), b"second")
    assert path.read_bytes() == b"first"
    commit.write_atomically(str(path), b"third")
    assert path.read_bytes() == b"third"
    assert os.listdir(tmp_path) == ["ledger.json"]
