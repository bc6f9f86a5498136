"""Help of commands: a first sentence, examples that work, options in sections; the manual page, the completion."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from analyzer.cli.manual import build_files, build_manual
from analyzer.cli.parameters import LONGEST, SECTIONS, list_sections
from analyzer.cli.program import COMMANDS, program
from tests.analyzer.cli.conftest import Call
from tests.documents import ROOT

NOT_RUN = {"open", "web", "sniff", "pipeline", "interfaces", "serve"}
"""Commands that need a terminal, a browser, an interface, Spark, or what a machine may lack."""


def load_command(name: str) -> click.Command:
    found: click.Command = import_module(f"analyzer.cli.{name}").command
    return found


def examples(command: click.Command) -> list[str]:
    """The lines below `Examples:`."""
    text = cleandoc(command.help or "").partition("Examples:\n\n\b\n")[2].partition("\n\n")[0]
    return [line.strip() for line in text.splitlines()]


EXAMPLES = [
    (name, line) for name in COMMANDS for line in examples(load_command(name)) if line.startswith("wireanalyze")
]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_one_sentence_and_examples(name: str) -> None:
    command = load_command(name)
    first, second, *_ = cleandoc(command.help or "").split("\n\n")
    assert (first, second) == (COMMANDS[name], "Examples:")
    assert 2 <= len(examples(command)) <= 4


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_an_example_is_a_command_line(name: str, line: str) -> None:
    words = shlex.split(line.partition("|")[0])
    command = load_command(name)
    assert words[:2] == ["wireanalyze", name]
    command.make_context(name, words[2:], click.Context(program))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param(name, line, marks=pytest.mark.slow if "parquet" in line else ())
        for name, line in EXAMPLES
        if name not in NOT_RUN
    ],
)
def test_an_example_works(name: str, line: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "captures").symlink_to(ROOT / "captures")
    monkeypatch.chdir(tmp_path)
    status, printed, reported = call(*shlex.split(line.partition("|")[0])[1:])
    assert status == 0, reported
    assert printed or "written to" in reported or "no such file" in reported


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_one_section(name: str) -> None:
    command = load_command(name)
    context = click.Context(command, info_name=name)
    sections = list_sections(command, context)
    shown = [names for _, records in sections for names, _ in records]
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    assert len(shown) == len(set(shown)) == len(options)
    assert all(text for _, records in sections for _, text in records)
    assert (len(sections) > 1) == (len(options) > LONGEST)


def test_sections_name_parameters_that_there_are() -> None:
    known = {each.name for name in COMMANDS for each in load_command(name).params}
    assert {name for names in SECTIONS.values() for name in names} <= known


# ---- the manual page and the completion scripts: they are current, they are in the wheel, and man can format them


@pytest.mark.parametrize("path", build_files())
def test_files_are_current(path: str) -> None:
    """Run `python -m analyzer.cli.manual` if this fails."""
    assert (ROOT / "share" / path).read_text() == build_files()[path]


def test_wheel_installs_all_of_share(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the builder is not installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition(".data/data/share/")[2] for name in names if ".data/data/share/" in name} == set(
        build_files()
    )


def test_manual_has_all_commands() -> None:
    manual = build_manual()
    assert all(f"\n.SS wireanalyze {name}" in manual for name in COMMANDS)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_formats_the_manual_without_a_warning() -> None:
    run = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=build_manual(), capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert "You pressed Ctrl-C." in run.stdout
