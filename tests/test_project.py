"""The project itself: what a wheel carries, what the lock promises, and what no file may contain."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("built")

ROOT = Path(__file__).parent.parent
PACKAGES = ("dissectors", "analyzer", "tui", "wireanalyze")
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
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built.glob("wireanalyze-*.whl")))


@pytest.fixture(scope="module")
def unpacked(built: Path) -> Path:
    """The sdist as a folder."""
    with tarfile.open(next(built.glob("wireanalyze-*.tar.gz"))) as archive:
        archive.extractall(built, filter="data")
    return built / f"wireanalyze-{PROJECT['version']}"


def test_the_wheel_carries_the_packages_whole(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    shared = f"wireanalyze-{PROJECT['version']}.data"
    assert {name.split("/")[0] for name in names} == {*PACKAGES, shared}
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
    points = wheel.read(f"{info}/entry_points.txt").decode()
    assert "wireanalyze = analyzer.cli:main" in points
    assert "[pytest11]\nwireanalyze = wireanalyze.pytest_plugin" in points
    assert "Apache License" in wheel.read(f"{info}/licenses/LICENSE").decode()
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: Apache-2.0" in metadata


def test_the_metadata_says_where_the_project_is(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(f"wireanalyze-{PROJECT['version']}.dist-info/METADATA").decode()
    assert set(re.findall(r"^Project-URL: (\w+), https://", metadata, re.MULTILINE)) == set(PROJECT["urls"])
    assert set(re.findall(r"^Provides-Extra: (\w+)", metadata, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_the_pictures_of_the_readme_show_on_a_package_index() -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert pictures
    for address in pictures:
        assert address.startswith("https://")
        assert (ROOT / address.partition("/main/")[2]).is_file()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pip") is None, reason="installs the wheel with pip")
def test_the_wheel_runs_in_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    """Outside of the checkout. Dependencies come from the environment of the tests: no package index is asked."""
    home = tmp_path / "env"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    wheel = str(next(built.glob("wireanalyze-*.whl")))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, capture_output=True, check=True, timeout=120)
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.copy(ROOT / "captures" / "kafka.pcap", tmp_path)

    elsewhere = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=elsewhere, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    where = run(str(python), "-c", "import analyzer, wireanalyze; print(analyzer.__file__, wireanalyze.__file__)")
    assert where.count(str(site)) == 2
    printed = run(str(home / "bin" / "wireanalyze"), "list", "kafka.pcap", "--format", "ndjson", "-e", "operation")
    assert (printed.count("\n"), printed.partition("\n")[0]) == (648, '{"operation":"ApiVersions"}')


def test_the_sdist_has_every_file_of_the_project(unpacked: Path) -> None:
    lacking = [str(path.relative_to(ROOT)) for path in tracked() if not (unpacked / path.relative_to(ROOT)).is_file()]
    assert lacking == []


@pytest.mark.slow
def test_tests_run_from_the_sdist(unpacked: Path) -> None:
    """Those that read files of the project; those that build it would build it again and again."""
    tests = ["tests/test_documents.py", "tests/test_project.py", "-k", "not built and not wheel and not sdist"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


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
    assert asked(extras["parquet"]) <= set(pinned("pipeline.lock"))
    assert asked(PROJECT["dependencies"] + extras["pipeline"]) <= set(pinned("pipeline.lock"))
    assert asked([name for extra in ("pandas", "polars", "duckdb", "delta", "mcp") for name in extras[extra]]) <= set(
        pinned("python.lock")
    )
    for lock in ("runtime.lock", "pipeline.lock", "python.lock"):
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
