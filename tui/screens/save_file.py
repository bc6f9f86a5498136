"""Saves what a page shows to a file: asks for a name, whose end says the format, and writes in the worker thread."""

from __future__ import annotations

from collections.abc import Callable

from tui.screens.page import Page


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
