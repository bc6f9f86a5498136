"""Help of commands: a first sentence, examples that work, and options in sections."""

from __future__ import annotations

import shlex
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

import click
import pytest

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
