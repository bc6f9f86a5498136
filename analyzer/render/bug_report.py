"""A report of a defect of this program, without anything from the capture: no values, variables or file names.

Theory. Users can pass on a report only if it contains nothing confidential. So it says which of our lines failed and
how they were reached. The text of an exception may quote a value, so only the user's own terminal shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.columns.text import safe_text

if TYPE_CHECKING:
    from dissectors.finding import Finding

PROGRAM = "wireanalyze"
_PACKAGES = ("analyzer", "dissectors", "tui")

MOST_STEPS = 12
"""Number of stack frames in a report; the last ones count."""


def find_version() -> str:
    """Returns the version of the installed package, from its metadata."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(PROGRAM)
    except PackageNotFoundError:
        return "not installed"


def format_defect(error: BaseException) -> str:
    """Formats a defect for the user's own terminal: with the text of the exception, without the traceback."""
    return "\n".join(
        (
            f"{PROGRAM}: this is a defect of the program, not of your input; please report these lines:",
            f"  error:   {type(error).__name__}: {safe_text(str(error), 200)}",
            f"  place:   {(_list_steps(error) or ['unknown place'])[-1]}",
            f"  version: {_list_versions()}",
            f"  (--debug before the command shows the whole traceback: {PROGRAM} --debug COMMAND ...)",
        )
    )


def format_report(error: BaseException) -> list[str]:
    """Formats the report of a defect for its authors: without the text of the exception, with its traceback."""
    steps = _list_steps(error) or ["unknown place"]
    way = [f"  by:      {step}" for step in reversed(steps[-MOST_STEPS:-1])]
    return [
        f"{PROGRAM}: a defect of the program",
        f"  error:   {type(error).__name__}",
        f"  place:   {steps[-1]}",
        *way,
        f"  version: {_list_versions()}",
    ]


def format_finding_report(finding: Finding, kind: str) -> list[str]:
    """Formats the report of a dissector's defect. kind: the message, such as `kafka Fetch v12 response`."""
    return [
        f"{PROGRAM}: a defect of a dissector",
        f"  error:   {safe_text(finding.text, 200)}",
        f"  message: {safe_text(kind, 200)}",
        f"  version: {_list_versions()}",
    ]


def _list_versions() -> str:
    import platform  # only needed for defects

    return f"{PROGRAM} {find_version()}, Python {platform.python_version()}, {platform.system()}"


def _list_steps(error: BaseException) -> list[str]:
    """Returns the stack frames of an exception, such as `analyzer/session.py:120 in body`, the origin last.

    Only our own frames; if there are none, the last one.
    """
    import traceback  # only needed for defects
    from pathlib import Path

    frames = traceback.extract_tb(error.__traceback__)
    found = []
    for frame in frames:
        parts = Path(frame.filename).parts
        first = next((index for index, part in enumerate(parts) if part in _PACKAGES), None)
        if first is not None:
            found.append(f"{'/'.join(parts[first:])}:{frame.lineno} in {frame.name}")
    if not found and frames:
        found.append(f"{Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}")
    return found
