"""What the program says on stderr when it ends otherwise than asked."""

from __future__ import annotations

import click

from analyzer.text import safe_text

PROGRAM = "wireanalyze"
_PACKAGES = ("analyzer", "dissectors", "tui")
_LONGEST = 2_000


def sentence(text: str) -> str:
    """The one line of an error or a remark."""
    return f"{PROGRAM}: {safe_text(' '.join(text.split()), _LONGEST)}"


def usage_sentence(error: click.ClickException) -> str:
    """Click's message as one line, with where to read on."""
    text = error.format_message().rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text = f"{text[:1].lower()}{text[1:]}; see {error.ctx.command_path} --help"
    return sentence(text)


def version() -> str:
    """The installed version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(PROGRAM)
    except PackageNotFoundError:
        return "not installed"


def bug_report(error: BaseException) -> str:
    """A defect of ours, with what is needed to find it and nothing from the capture but the exception's own words."""
    import platform  # three modules for a sentence that is hardly ever said
    import traceback
    from pathlib import Path

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if any(part in _PACKAGES for part in Path(frame.filename).parts)]
    place = "unknown place"
    if ours or frames:
        frame = (ours or frames)[-1]
        parts = Path(frame.filename).parts
        first = next((index for index, part in enumerate(parts) if part in _PACKAGES), len(parts) - 1)
        place = f"{'/'.join(parts[first:])}:{frame.lineno} in {frame.name}"
    return "\n".join(
        (
            f"{PROGRAM}: this is a defect of the program, not of your input; please report these lines:",
            f"  error:   {type(error).__name__}: {safe_text(str(error), 200)}",
            f"  place:   {place}",
            f"  version: {PROGRAM} {version()}, Python {platform.python_version()}, {platform.system()}",
            f"  (--debug before the command shows the whole traceback: {PROGRAM} --debug COMMAND ...)",
        )
    )
