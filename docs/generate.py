"""Writes the pages of docs/reference whose text stands in the code: commands, fields, findings,
configuration, keys, the Python package.

    python -m docs.generate     (make docs-reference)

tests/test_reference.py fails when a page is not what this program would write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent

import click
import orjson

from analyzer.cli.parameters import list_sections
from analyzer.cli.program import COMMANDS
from docs import python_reference
from tests import program
from tui.keys import KEYS

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- docs/generate.py writes this page from the code: make docs-reference. Do not edit it. -->\n\n"
WIDTH = 100


def run(*arguments: str) -> str:
    """What the program prints, without a configuration file."""
    return program.run(*arguments, XDG_CONFIG_HOME="/nonexistent", COLUMNS=str(WIDTH)).stdout.decode()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def commands() -> str:
    """Each command with its help and its options."""
    text = f"{NOTE}# Commands\n\n`wireanalyze FILE` opens a capture in the terminal UI, like `wireanalyze open FILE`. "
    text += "In a pipe it lists the messages, like `wireanalyze list FILE`.\n\nFour options stand before the command: "
    text += "`--config PATH` reads the configuration from a file, `--plugin FILE` loads a dissector, "
    text += "`--debug` prints a traceback if the program fails "
    text += "because of a defect, and `--version` prints the version. `wireanalyze COMMAND --help` prints the text of "
    text += "this page.\n\n"
    text += table(("command", "what it does"), ((f"[{name}](#{name})", said) for name, said in COMMANDS.items()))
    for name in COMMANDS:
        command: click.Command = import_module(f"analyzer.cli.{name}").command
        text += f"## {name}\n\n{_command(name, command)}"
        if isinstance(command, click.Group):
            for below, each in command.commands.items():
                text += f"### {name} {below}\n\n{_command(f'{name} {below}', each)}"
    return text


def _command(name: str, command: click.Command) -> str:
    """Usage, help and options of a command."""
    context = click.Context(command, info_name=f"wireanalyze {name}", terminal_width=WIDTH)
    usage = re.sub(r"\s+", " ", command.get_usage(context).removeprefix("Usage: "))
    text = f"```text\n{usage}\n```\n\n"
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            text += f"```text\n{dedent(paragraph.partition(chr(10))[2]).rstrip()}\n```\n\n"
        else:
            text += " ".join(paragraph.split()).replace("<", "&lt;") + "\n\n"
    sections = list_sections(command, context)
    for title, records in sections:
        shown = [(names, help_) for names, help_ in records if "--help" not in names.split(", ")]
        text += f"**{title}**\n\n" if len(sections) > 1 and shown else ""
        text += "".join(f"- `{names}`: {' '.join(help_.split())}\n" for names, help_ in shown) + "\n"
    return text


def fields() -> str:
    """The names that need no path through a body."""
    found = [orjson.loads(line) for line in run("fields", "--json").splitlines()]
    short = [each for each in found if each["name"].count(".") <= 1]
    text = f"{NOTE}# Fields\n\nThese names serve filters (`-Y`), columns (`-e`), sorting (`--sort`) and grouping "
    text += f"(`stats --by`). They are those without a path. There are {len(found) - len(short):,} more, one for each "
    text += "field in the body of a message, such as `kafka.Fetch.request.maxWaitMs`. Find them with "
    text += "`wireanalyze fields WORD`. [Filters](filters.md#fields) explains how such a name is made.\n\n"
    text += "*Repeated* means that a message can have several values.\n\n"
    tshark = "tshark's name"
    protocols = dict.fromkeys(each["name"].partition(".")[0] for each in short if "." in each["name"])
    known = [each.split("\t")[0] for each in run("protocols").splitlines()]
    own = [each for each in short if each["name"].partition(".")[0] not in known]
    parts = {"Of every message": own}
    for protocol in protocols:
        if protocol in known:
            parts[f"Of {protocol}"] = [
                each for each in short if each["name"].startswith(f"{protocol}.") and each["about"] != tshark
            ]
    for title, rows in parts.items():
        if rows:
            text += f"## {title}\n\n" + table(
                ("field", "type", "repeated", "what it is"),
                ((f"`{x['name']}`", x["type"], "yes" if x["repeated"] else "", x["about"]) for x in rows),
            )
    names = ", ".join(f"`{each['name']}`" for each in short if each["about"] == tshark)
    return f"{text}## Names of tshark\n\nThese are tshark's own names for fields of Kafka: {names}.\n"


def findings() -> str:
    """The codes of findings."""
    found = orjson.loads(run("protocols", "findings", "--json"))
    text = (
        f"{NOTE}# Findings\n\nA finding says what is worth knowing about a message, a connection or a file. It has a "
    )
    text += "severity (`note`, `warning` or `error`), a code of this list, and a sentence. `wireanalyze doctor` prints "
    text += "all findings, `list -Y 'findings == crc-mismatch'` the messages that have one of this code. "
    text += "Codes are stable; sentences may change. [Output](output.md#findings-doctor) says which findings "
    text += "only `doctor` knows.\n\n"
    rows = ((f"`{each['code']}`", each["what"], each["advice"]) for each in found)
    return text + table(("code", "what it says", "what to do"), rows)


def configuration() -> str:
    """The keys of the configuration file, and what holds without one."""
    shown = run("config", "show")
    default = re.sub(r"  # built-in$", "", "\n".join(shown.splitlines()[1:]), flags=re.MULTILINE).strip()
    text = (REFERENCE / "configuration.in").read_text()
    return text.replace("{note}", NOTE).replace("{default}", default)


PLACES = {
    "screen": "Everywhere",
    "pane": "In every pane",
    "list": "In the list",
    "tree": "In the fields",
    "hex": "In the bytes",
    "time": "In the time line",
    "folding": "On pages whose lines unfold",
    "views": "In statistics and conversations",
    "diagram": "In the sequence diagram",
}


def keys() -> str:
    """The keys of the terminal UI, by the place where they work."""
    text = (
        f"{NOTE}# Keys\n\nThese are the keys of the terminal UI. `?` shows them there, and Ctrl+P finds every command "
    )
    text += "by a word, also those without a key.\n\n"
    for place, title in PLACES.items():
        found = [each for each in KEYS if each.place == place and each.label]
        text += f"## {title}\n\n{table(('key', 'what it does'), ((each.label, each.help) for each in found))}"
    return text


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "fields.md": fields,
    "findings.md": findings,
    "configuration.md": configuration,
    "keys.md": keys,
    "python.md": lambda: NOTE + python_reference.write_page(),
}


def main() -> None:
    """Writes all pages."""
    for name, write in PAGES.items():
        (REFERENCE / name).write_text(write())


if __name__ == "__main__":
    main()
