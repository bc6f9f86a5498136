"""Commands that copy the selection into the terminal's clipboard, and into a file for terminals that have none.

Theory. The clipboard is set by OSC 52, an escape sequence with the text in base64. The terminal may obey, limit or
ignore it, and does not say which. So the same text goes to a file that only the user can read, and the status line
names it. A text that is longer than terminals are known to accept goes only to the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from dissectors.field import Field
from tui.saved_state import locate_file, shorten_path
from tui.saved_state import write_file as put_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.model.copies import CopySubject
    from tui.screens.main import MainScreen

LONGEST = 74_994
"""The bytes of a text that terminals accept: with base64 and the escape sequence, 100,000."""

LARGEST = 1 << 26
"""The bytes of the file at most; a longer text must be saved instead."""

COPY_FILE = "copied.txt"
"""The name of the file."""

LAST_KEY = "copied"
"""The key of the format that was used last."""


class CopyResult(NamedTuple):
    """A copied text.

    size: in bytes. control_characters: their number. path: the file, None if it could not be written.
    """

    text: str
    size: int
    control_characters: int
    path: str | None


def choose_copy(main: MainScreen) -> None:
    """Opens the dialog of copy formats for the selection."""
    found = find_subject(main)
    if found is None:
        return
    from tui.model.copies import COPY_FORMATS, list_copy_formats
    from tui.screens.chooser import Choice, Chooser

    last = main.saved_state.get(LAST_KEY, "")
    names = list_copy_formats(found)
    keys = {last: "Y"}
    choices = [Choice((("", COPY_FORMATS[name].about),), name, keys.get(name, "")) for name in names]
    title = f"copy of message {found.row + 1}" if found.node is None else f"copy of {safe_text(found.node.spec.name)}"

    main.open_dialog(Chooser(main.palette, title, choices), lambda name: copy(main, found, name))


def copy_again(main: MainScreen) -> None:
    """Copies the selection in the format that was used last."""
    from tui.model.copies import COPY_FORMATS, list_copy_formats

    found, last = find_subject(main), main.saved_state.get(LAST_KEY, "")
    if found is None:
        return
    if last not in COPY_FORMATS:
        main.show_message("nothing has been copied yet: press y to choose what to copy", "bar-warning")
    elif last not in list_copy_formats(found):
        main.show_message(f"the selection does not have this: {COPY_FORMATS[last].about}", "bar-warning")
    else:
        copy(main, found, last)


def find_subject(main: MainScreen, *, field: bool = False) -> CopySubject | None:
    """Returns the selection, for copies; shows a message if there is none.

    field: the field in the tree, also if the list has the focus.
    """
    from tui.model.copies import CopySubject

    if main.view.detail is None:
        main.show_message("no message is selected", "bar-warning")
        return None
    looks_at_fields = field or main.bars.focused is not main.timeline
    path = [what for what in main.tree_pane.get_path() if isinstance(what, Field)] if looks_at_fields else []
    return CopySubject(main.session, main.limits, main.view.detail, tuple(path))


def copy(main: MainScreen, subject: CopySubject, name: str) -> None:
    """Copies a subject in a format, in the worker thread, because a message may be long."""
    from tui.model.copies import COPY_FORMATS

    kind = COPY_FORMATS[name]
    main.saved_state.set(LAST_KEY, name)
    hides = subject.hides or (bool(subject.detail.masks) and (kind.whole or not subject.path))
    copy_text(main, kind.about, lambda: kind.make(subject), hides=hides)


def copy_text(main: MainScreen, about: str, make: Callable[[], str | None], *, hides: bool = False) -> None:
    """Copies the text that `make` returns.

    hides: something in it may be masked.
    """

    def work() -> CopyResult | str:
        try:
            made = make()
            if not made:
                return f"the selection does not have this: {about}"
            text = made.encode("utf-8", "backslashreplace").decode()  # half of a pair of surrogates is no text
            size = len(text.encode())
            if size > LARGEST:
                raise UserError(f"{about}: {size:,} bytes are too many to copy. Press w to export them.")
        except UserError as error:
            return str(error)
        acting = sum(not character.isprintable() and character != "\n" for character in text)
        return CopyResult(text, size, acting, put_file(COPY_FILE, text.encode()))

    def show_result(put: CopyResult | str) -> None:
        if isinstance(put, str):
            main.show_message(put, "bar-warning")
            return
        fits = put.size <= LONGEST
        if fits:
            main.app.copy_to_clipboard(put.text)
        main.show_message(
            _describe_result(about, put, fits=fits, hides=hides), "bar" if fits or put.path else "bar-warning"
        )

    main.background.submit("copy", work, show_result)


def _describe_result(about: str, put: CopyResult, *, fits: bool, hides: bool) -> str:
    to = ["the clipboard"] if fits else []
    to += [] if put.path is None else [shorten_path(put.path)]
    more = [] if fits else ["too long for a terminal's clipboard"]
    more += [f"{locate_file(COPY_FILE)} cannot be written"] if put.path is None else []
    more += ["secrets are masked"] if hides else []
    more += [f"{put.control_characters:,} control characters as they are"] if put.control_characters else []
    where = f" to {' and '.join(to)}" if to else " nowhere"
    return "; ".join((f"copied {about}, {put.size:,} bytes,{where}", *more))
