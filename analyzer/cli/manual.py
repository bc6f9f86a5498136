"""The manual page `wireanalyze(1)` and the completion scripts, generated from the click commands.

The results are in share/, and the wheel installs them (shared-data in pyproject.toml). Run `python -m
analyzer.cli.manual` after a change of a command, an option or a help text; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from analyzer.cli.parameters import list_sections
from analyzer.cli.program import COMMANDS, COMPLETE_VARIABLE, program
from analyzer.render.bug_report import PROGRAM

COMPLETIONS = {
    "bash": f"bash-completion/completions/{PROGRAM}",
    "zsh": f"zsh/site-functions/_{PROGRAM}",
    "fish": f"fish/vendor_completions.d/{PROGRAM}.fish",
}
"""The path of each shell's completion script below share/."""

EXIT_STATUS = (
    ("0", "The command did what it was asked to do."),
    ("1", "A check failed, such as doctor with --fail-on."),
    ("2", "The command line is wrong, or a file cannot be read or written."),
    ("70", "A defect of the program. Standard error tells how to report it."),
    ("130", "You pressed Ctrl-C."),
)


def build_files() -> dict[str, str]:
    """Returns the text of each generated file by its path below share/."""
    return {
        f"man/man1/{PROGRAM}.1": build_manual(),
        **{path: build_completion(shell) for shell, path in COMPLETIONS.items()},
    }


def build_completion(shell: str) -> str:
    """Returns the completion script of bash, zsh or fish. Raises click.UsageError for another shell."""
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"There is no completion for {shell}. Give bash, zsh or fish.")
    return found(program, {}, PROGRAM, COMPLETE_VARIABLE).source()


def build_manual() -> str:
    """Returns the manual page in man(7) macros: every command, argument and option with its help text."""
    context = click.Context(program, info_name=PROGRAM, **program.context_settings)
    summary, *paragraphs = _read_help(program)
    lines = [
        f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM}" "User Commands"',
        *(".SH NAME", f"{PROGRAM} \\- {_escape(summary.rstrip('.'))}"),
        *(".SH SYNOPSIS", f".B {PROGRAM}", "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]..."),
        ".SH DESCRIPTION",
        *_format_paragraphs(paragraphs),
        *(".SH OPTIONS", *_format_options(program, context)),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        lines += _format_command(command, click.Context(command, context, info_name=name))
    lines.append(".SH EXIT STATUS")
    for status, text in EXIT_STATUS:
        lines += [".TP", f".B {status}", _escape(text)]
    return "\n".join(lines) + "\n"


def _format_command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_escape(context.command_path)} {_escape(usage)}"
    yield from _format_paragraphs(_read_help(command))
    yield from _format_options(command, context)


def _format_paragraphs(paragraphs: Sequence[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *map(_escape, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _escape(" ".join(paragraph.split()))


def _format_options(command: click.Command, context: click.Context) -> Iterator[str]:
    sections = list_sections(command, context)
    for title, records in sections:
        if len(sections) > 1:
            yield from (".PP", f"\\fI{title}\\fR")
        for names, text in records:
            yield from (".TP", f".B {_escape(names)}", _escape(" ".join(text.split())))


def _read_help(command: click.Command) -> list[str]:
    """Returns the paragraphs of a command's help; one that begins with a backspace character keeps its lines."""
    return [each.strip("\n") for each in re.split(r"\n\s*\n", cleandoc(command.help or ""))]


def _escape(text: str) -> str:
    """Escapes backslashes, hyphens and leading dots for roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def write_files(folder: Path) -> None:
    """Writes the generated files into a folder named share. Raises OSError."""
    for name, text in build_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write_files(Path(__file__).parents[2] / "share")
