"""The project itself: what a wheel carries, what the lock promises, and what no file may contain."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("dissectors", "analyzer", "tui")
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120)
    return zipfile.ZipFile(next(folder.glob("wireanalyze-*.whl")))


def test_the_wheel_carries_the_three_packages_whole(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == set(PACKAGES)
    wanted = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for pattern in ("*.py", "*.json", "*.tcss", "py.typed")
        for path in (ROOT / package).rglob(pattern)
    }
    assert wanted <= names
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert any(re.fullmatch(r"dissectors/kafka/tables/.+\.json", name) for name in names)


def test_the_wheel_has_command_and_license(wheel: zipfile.ZipFile) -> None:
    info = f"wireanalyze-{PROJECT['version']}.dist-info"
    assert "wireanalyze = analyzer.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert "Apache License" in wheel.read(f"{info}/licenses/LICENSE").decode()
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: Apache-2.0" in metadata


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_pin_has_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert "--index" not in text
    pins = [entry for entry in re.split(r"\n(?=[a-z0-9])", text) if "==" in entry.split("\n")[0]]
    assert len(pins) >= 10
    assert all("--hash=sha256:" in pin for pin in pins)


def pinned(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / lock).read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", text, re.MULTILINE))


def test_the_locks_hold_what_the_project_asks_for_and_agree() -> None:
    def asked(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=~!\[; ]", requirement)[0] for requirement in requirements}

    extras = PROJECT["optional-dependencies"]
    assert asked(PROJECT["dependencies"]) <= set(pinned("runtime.lock"))
    assert asked(PROJECT["dependencies"] + extras["dev"] + extras["web"]) <= set(pinned("dev.lock"))
    assert asked(PROJECT["dependencies"] + extras["pipeline"]) <= set(pinned("pipeline.lock"))
    for lock in ("runtime.lock", "pipeline.lock"):
        shared = set(pinned(lock)) & set(pinned("dev.lock"))
        assert {name: pinned(lock)[name] for name in shared} == {name: pinned("dev.lock")[name] for name in shared}


MACHINE = re.compile(
    rb"(?<![\w.])/(?:work|root|farm|Users|home/\w+)/|\b(?:pypi|files\.pythonhosted|proxy\.golang)\.org\b"
)


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for path in tracked():
        content = path.read_bytes()
        if path != Path(__file__) and b"\0" not in content[:1024] and (hit := MACHINE.search(content)):
            found.append(f"{path.relative_to(ROOT)}: {hit.group().decode()}")
    assert found == []


def test_every_package_is_typed() -> None:
    assert all((ROOT / package / "py.typed").is_file() for package in PACKAGES)


def test_public_commands_are_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"make {target}" in readme for target in ("demo", "test"))
