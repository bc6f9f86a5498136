"""Lines that ask for files: one for a capture, in which Tab completes paths, and one to save what a page shows."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from analyzer.session import Session
from tui.model.input_advice import InputHistory
from tui.screens.input_line import LineDialog, LineQuestion
from tui.screens.page import Page
from tui.theme import Palette
from tui.widgets.bars import BarPart


class OpenDialog(LineDialog[Session]):
    """A line for the name of a file; its result is a session of it that was not read yet.

    recent: paths of earlier captures, the newest first.
    """

    def __init__(self, palette: Palette, question: LineQuestion[Session], recent: Sequence[str]) -> None:
        super().__init__(palette, question)
        self._history = InputHistory(recent)

    def press_help_key(self, key: str) -> None:
        """Completes the path, or brings an older or newer one."""
        text = self.line.value
        if key == "older":
            self._set(self._history.go_older(text))
        elif key == "newer":
            self._set(self._history.go_newer())
        elif key == "next":
            found = complete_path(text)
            self._set(found.text)
            if len(found.names) != 1:
                self._show_names(found.names)

    def _set(self, text: str | None) -> None:
        if text is not None:
            self.line.set_text(text, len(text))

    def _show_names(self, names: Sequence[str]) -> None:
        """Shows as many names as fit, after the change of the text has shown the question again."""
        text = safe_text("  ".join(names), max(self.size.width - 2, 1)) if names else "no name begins like this"
        self.call_after_refresh(self.show_above, [BarPart("bar-dim", f" {text}")], "")


MOST_NAMES = 500
"""Names of a folder that are examined."""


class PathCompletion(NamedTuple):
    """A text with as much added as is certain, and the names that it may become."""

    text: str
    names: list[str]


def complete_path(text: str) -> PathCompletion:
    """Completes a path by the names in its folder, hidden ones only if they were begun; folders end in a slash."""
    folder, begun = os.path.split(os.path.expanduser(text))
    try:
        with os.scandir(folder or ".") as entries:
            names = [
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in islice(entries, MOST_NAMES)
                if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
            ]
    except (OSError, ValueError):
        return PathCompletion(text, [])
    names.sort()
    common = os.path.commonprefix(names)  # noqa: RUF071 # characters are compared, and there is one part of a path
    base = text[: len(text) - len(begun)] if begun and text.endswith(begun) else text
    return PathCompletion(f"{base}{common}" if common else text, names)


def list_files(text: str) -> list[str]:
    """Returns the absolute paths that a text means; `*`, `?` and `[...]` match names. Raises UserError for none."""
    path = os.path.expanduser(text.strip())
    if not path:
        raise UserError("give the name of a file: Tab completes it, Up and Down bring recent ones")
    found = [path] if os.path.exists(path) else sorted(glob.glob(path))
    if not found:
        raise UserError(f"there is no file {path}")
    if any(os.path.isdir(each) for each in found):
        raise UserError(f"{path} is a folder: Tab completes names in it")
    if not all(map(os.path.isfile, found)):
        raise UserError(f"{path} is no regular file: a pipe or device would keep the program waiting")
    return [os.path.abspath(each) for each in found]


def save_file(page: Page, forms: str, name: str, write: Callable[[str], str]) -> None:
    """Asks for the name of a new file and writes it. forms: names for people. write: makes the text for a path."""
    from tui.screens.input_line import LineDialog, LineQuestion

    def work(path: str) -> str:
        from analyzer.errors import UserError
        from analyzer.export.forms import write_bytes

        try:
            write_bytes(write(path).encode(), path, force=False)
        except UserError as error:
            return str(error)
        return f"written to {path}"

    def save(answer: tuple[str] | None) -> None:
        if answer is not None:
            page.run_in_background("save", lambda: work(*answer), page.show_note)

    page.app.push_screen(LineDialog(page.palette, LineQuestion("save as", forms, name, check_name)), save)


def check_name(name: str) -> str:
    """Returns the path of a file that does not exist. Raises UserError."""
    import os

    from analyzer.capture.output import check_file

    path = os.path.expanduser(name.strip())
    check_file(path, force=False)
    return path
