"""Folders of runs: those of the living stay, those of the dead go, what was kept stays."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline import owned_folders
from analyzer.pipeline.owned_folders import OWNER_FILE, create_owned_folder, remove_abandoned


def killed(parent: Path) -> Path:
    """A folder whose owner was killed."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        with create_owned_folder("x-", str(parent)) as home:
            os.write(writing, os.fsencode(home))
            signal.pause()
    home = Path(os.fsdecode(os.read(reading, 4096)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    return home


def test_who_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x-kept").mkdir()
    (tmp_path / "y-other").mkdir()
    (tmp_path / "y-other" / OWNER_FILE).touch()
    with create_owned_folder("x-", str(tmp_path)) as living:
        dead = killed(tmp_path)
        assert (dead / OWNER_FILE).exists()
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(owned_folders, "_encode_machine", lambda: b"another")
            remove_abandoned("x-", str(tmp_path))
            assert dead.exists()
        with create_owned_folder("x-", str(tmp_path)) as next_one:
            assert {path.name for path in tmp_path.iterdir()} == {living.name, next_one.name, "x-kept", "y-other"}
            shutil.rmtree(next_one)
    remove_abandoned("x-", str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"x-kept", "y-other"}
    remove_abandoned("x-", str(tmp_path / "nowhere"))


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(UserError, match=r"Cannot write .*nowhere: No such file"),
        create_owned_folder("x-", str(tmp_path / "nowhere")),
    ):
        pass
    monkeypatch.setattr(owned_folders.tempfile, "gettempdir", lambda: str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="No temporary folder can be written"), create_owned_folder("x-"):
        pass
