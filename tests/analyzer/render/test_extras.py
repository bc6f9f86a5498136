"""What is said where an extra is not installed: one sentence with the command that installs it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from analyzer.cli.program import run
from analyzer.render import extras

ROOT = Path(__file__).parents[3]
CAPTURE = ROOT / "captures" / "kafka.pcap"
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


class Distribution:
    """Stands for what pip noted of an installation."""

    def __init__(self, noted: object) -> None:
        self._noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._noted is None else json.dumps(self._noted)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment with pip, at a path without surprises, from a package index."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/env/bin/python")
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution(None))
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ["click>=8", "pyarrow>=18; extra == 'parquet'"])
    monkeypatch.setattr(extras, "_is_missing", lambda module: module == "pyarrow")
    return monkeypatch


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "/env/bin/python -m pip install 'wireanalyze[parquet]'"),
        (
            {"url": "file:///src/wire%20analyze", "dir_info": {"editable": True}},
            "/env/bin/python -m pip install -e '/src/wire analyze[parquet]'",
        ),
        ({"url": "file:///src/w", "dir_info": {}}, "/env/bin/python -m pip install '/src/w[parquet]'"),
        ({"url": "file:///w.whl", "archive_info": {}}, "/env/bin/python -m pip install 'pyarrow>=18'"),
        ({"url": "https://example.org/w.git", "vcs_info": {}}, "/env/bin/python -m pip install 'pyarrow>=18'"),
    ],
)
def test_the_command_fits_the_installation(origin: object, command: str, noted: pytest.MonkeyPatch) -> None:
    noted.setattr("importlib.metadata.distribution", lambda name: Distribution(origin))
    assert extras.make_install_command("parquet") == command


def test_the_command_of_pipx(noted: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    assert extras.make_install_command("parquet") == "pipx inject wireanalyze 'pyarrow>=18'"


def test_the_command_of_an_environment_without_pip(noted: pytest.MonkeyPatch) -> None:
    noted.setattr(extras, "_is_missing", lambda module: module == "pip")
    assert extras.make_install_command("web") == "uv pip install --python /env/bin/python 'wireanalyze[web]'"


@pytest.mark.parametrize(
    ("module", "arguments", "what"),
    [
        ("pyarrow", ["export", str(CAPTURE), "--as", "parquet", "-o", "OUT"], "parquet"),
        ("pyspark", ["pipeline", str(CAPTURE), "-o", "OUT"], "pipeline"),
        ("pandas", ["pipeline", str(CAPTURE), "-o", "OUT"], "pipeline"),
        ("grpc_status", ["pipeline", str(CAPTURE), "-o", "OUT", "--remote", "sc://localhost"], "pipeline"),
        ("aiohttp", ["web", str(CAPTURE)], "web"),
        ("textual_serve", ["web", str(CAPTURE)], "web"),
    ],
)
def test_a_hidden_package_is_named(
    module: str,
    arguments: list[str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for each in extras.EXTRAS[what].modules + extras.EXTRAS[what].sometimes:
        monkeypatch.setitem(sys.modules, each, sys)  # others may be missing here
    monkeypatch.setitem(sys.modules, module, None)
    assert run([each.replace("OUT", str(tmp_path / "out")) for each in arguments]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert f" needs {module}, which is not installed. Run: " in text
    assert f"[{what}]" in text
    assert f"({extras.EXTRAS[what].size})" in text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["aiohttp", "textual_serve.app", "google.rpc"])
def test_a_failed_import_of_an_extra_is_no_defect(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ModuleNotFoundError("gone", name=name)

    monkeypatch.setattr("analyzer.cli.inputs.check_names", fail)
    assert run(["list", str(CAPTURE)]) == 2
    assert "This command needs " in capsys.readouterr().err


def test_a_failed_import_of_our_own_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ImportError("gone", name="analyzer.gone")

    monkeypatch.setattr("analyzer.cli.inputs.check_names", fail)
    assert run(["list", str(CAPTURE)]) == 70
    assert "defect of the program" in capsys.readouterr().err


HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "pandas", "py4j"}:
            raise ModuleNotFoundError(f"hidden: {name}", name=name)

sys.meta_path.insert(0, Hidden())
from analyzer.cli.program import run
status = run(sys.argv[1:])
sys.exit(status or any(name in sys.modules for name in ("pyspark", "pandas", "py4j")))
"""


def test_parquet_needs_neither_spark_nor_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra wireanalyze[parquet] is not installed")
    out = tmp_path / "tables"
    command = [sys.executable, "-c", HIDING, "export", str(CAPTURE), "--as", "parquet", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "")
    assert "648 messages" in done.stderr
    assert (out / "messages").is_dir()


def test_the_pipeline_includes_what_tables_need() -> None:
    assert set(OPTIONAL["parquet"]) <= set(OPTIONAL["pipeline"])
    assert set(extras.EXTRAS) <= set(OPTIONAL)
