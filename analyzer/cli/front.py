"""Interprets command lines without a command: `wireanalyze FILE...`, and options that tshark's users type.

Theory. The first word decides. A command is a command. A file or an option selects the first of open, list and sniff
that accepts all the options that follow; open needs a terminal. Any other word is a misspelt command.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from analyzer.errors import UserError

SYNONYMS = {
    **dict.fromkeys(("ls", "cat", "print", "dump", "read", "rows", "messages", "tshark"), "list"),
    **dict.fromkeys(("view", "tui", "gui", "ui", "browse", "wireshark", "termshark"), "open"),
    **dict.fromkeys(("capture", "live", "record", "tail", "listen", "tcpdump", "dumpcap"), "sniff"),
    **dict.fromkeys(("summary", "statistics", "stat", "count", "top"), "stats"),
    "compare": "diff",
    **dict.fromkeys(("diagnose", "check", "lint", "errors", "findings", "problems"), "doctor"),
    **dict.fromkeys(("hex", "parse", "dissect", "explain"), "decode"),
    **dict.fromkeys(("save", "convert", "write", "extract", "cut", "editcap"), "export"),
    **dict.fromkeys(("spark", "tables", "batch"), "pipeline"),
    **dict.fromkeys(("capinfos", "properties", "about"), "info"),
    **dict.fromkeys(("message", "tree", "detail", "get"), "show"),
    **dict.fromkeys(("stream", "conversation"), "follow"),
    **dict.fromkeys(("http", "browser"), "web"),
    "mcp": "serve",
    **dict.fromkeys(("devices", "nics", "ifconfig"), "interfaces"),
    **dict.fromkeys(("settings", "configuration"), "config"),
    **dict.fromkeys(("dissectors", "apis", "docs", "kafka", "zookeeper", "pulsar", "rocketmq"), "protocols"),
    **dict.fromkeys(("columns", "keys", "schema"), "fields"),
}
"""Words that users try first, and the commands that they mean."""

OWN = {"--config": 2, "--plugin": 2, "--debug": 1}
"""Options of the program itself that may precede a command, and the number of words of each."""

ANSWERED = frozenset({"-h", "--help", "--version"})


def with_command(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Puts the command that the user means in front of the arguments, unless they begin with a command."""
    place = 0
    while place < len(arguments) and (size := _own(arguments[place])):
        place += size
    before, rest = list(arguments[:place]), list(arguments[place:])
    if rest and rest[0] == "help":
        return [*before, *rest[1:], "--help"]
    if not rest or rest[0] in commands or rest[0] in ANSWERED or not _is_front(rest[0]):
        return [*before, *rest]
    return [*before, *_guess_command(rest), *rest]


def _own(word: str) -> int:
    return 1 if word.startswith(("--config=", "--plugin=")) else OWN.get(word, 0)


def _is_front(word: str) -> bool:
    """Returns whether a word is an option or a file name, so that the command is missing."""
    return word.startswith("-") or os.path.exists(word) or os.sep in word or bool(os.path.splitext(word)[1])


def _guess_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the command, and the option that it needs if there is no terminal."""
    from analyzer.cli.open import check_terminal

    try:
        check_terminal()
        found: Sequence[tuple[str, ...]] = (("open",), ("list",), ("sniff",))
    except UserError:
        found = (("list",), ("sniff", "--headless"))
    return next((each for each in found if _takes(each[0], arguments)), ("list",))


def _takes(name: str, arguments: Sequence[str]) -> bool:
    """Returns whether a command has all these options."""
    command: click.Command = import_module(f"analyzer.cli.{name}").command
    context = click.Context(command, info_name=name)
    try:
        command.make_parser(context).parse_args(list(arguments))
    except click.UsageError:
        return False
    return True


def unknown_command(word: str, commands: Collection[str]) -> str:
    """Returns the error message for a word that is neither a command nor a file."""
    if word in SYNONYMS:
        meant: Sequence[str] = [SYNONYMS[word]]
    else:
        lower = word.lower()
        near = get_close_matches(lower, commands, 2, 0.6) or get_close_matches(lower, SYNONYMS, 2, 0.7)
        meant = list(dict.fromkeys(SYNONYMS.get(each, each) for each in near))
    hint = f"Did you mean {' or '.join(meant)}?" if meant else f"Commands are {', '.join(commands)}."
    return f"{word} is neither a command nor a file. {hint}"
