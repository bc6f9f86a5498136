"""Copying what is selected: into the terminal's clipboard, and into a file for terminals that have none.

Theory. The clipboard is set by OSC 52, an escape with the text in base64, which the terminal may obey, bound or ignore,
and it does not say which. So the same text goes to a file that is the user's alone, and the status line names it. What
is longer than terminals are known to take goes there only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from dissectors.field import Field
from tui.remembered import file_path, short
from tui.remembered import put as put_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.model.copies import Subject
    from tui.screens.main import MainScreen

LONGEST = 74_994
"""Bytes that terminals take: with base64 and the escape around it, 100,000."""

LARGEST = 1 << 26
"""Bytes of the file; what is longer is not copied but exported."""

NAME = "copied.txt"
"""The file."""

LAST = "copied"
"""What the kind that was copied last is remembered by."""


class Put(NamedTuple):
    """A text that was put into a file. size: in bytes; acting: control characters in it; path: None where it failed."""

    text: str
    size: int
    acting: int
    path: str | None


def choose(main: MainScreen) -> None:
    """Asks what of the selected is to be copied."""
    found = subject_of(main)
    if found is None:
        return
    from tui.model.copies import KINDS, fitting
    from tui.screens.chooser import Choice, Chooser

    last = main.remembered.get(LAST, "")
    names = fitting(found)
    beside = {last: "Y"}
    choices = [Choice((("", KINDS[name].about),), name, beside.get(name, "")) for name in names]
    title = f"copy of message {found.row + 1}" if found.node is None else f"copy of {safe_text(found.node.spec.name)}"

    main.open(Chooser(main.palette, title, choices), lambda name: copy(main, found, name))


def again(main: MainScreen) -> None:
    """Copies of what is selected what was copied last of something else."""
    from tui.model.copies import KINDS, fitting

    found, last = subject_of(main), main.remembered.get(LAST, "")
    if found is None:
        return
    if last not in KINDS:
        main.say("nothing has been copied yet: y asks what", "bar-warning")
    elif last not in fitting(found):
        main.say(f"there is no such thing here: {KINDS[last].about}", "bar-warning")
    else:
        copy(main, found, last)


def subject_of(main: MainScreen, *, field: bool = False) -> Subject | None:
    """What is selected, for copies; says so where that is nothing. field: also if the list has the focus."""
    from tui.model.copies import Subject

    if main.view.detail is None:
        main.say("no message is selected", "bar-warning")
        return None
    looks_at_fields = field or main.bars.focused is not main.timeline
    path = [what for what in main.tree_pane.path() if isinstance(what, Field)] if looks_at_fields else []
    return Subject(main.session, main.limits, main.view.detail, tuple(path))


def copy(main: MainScreen, subject: Subject, name: str) -> None:
    """Copies one kind, beside the keys, for a message may be long."""
    from tui.model.copies import KINDS

    kind = KINDS[name]
    main.remembered.keep(LAST, name)
    hides = subject.hides or (bool(subject.detail.masks) and (kind.whole or not subject.path))
    put_text(main, kind.about, lambda: kind.make(subject), hides=hides)


def put_text(main: MainScreen, about: str, make: Callable[[], str | None], *, hides: bool = False) -> None:
    """Copies what `make` gives. hides: something in it may be masked."""

    def work() -> Put | str:
        try:
            made = make()
            if not made:
                return f"there is no such thing here: {about}"
            text = made.encode("utf-8", "backslashreplace").decode()  # half of a pair of surrogates is no text
            size = len(text.encode())
            if size > LARGEST:
                raise UserError(f"{about}: {size:,} bytes are too many to copy: w exports them")
        except UserError as error:
            return str(error)
        acting = sum(not character.isprintable() and character != "\n" for character in text)
        return Put(text, size, acting, put_file(NAME, text.encode()))

    def then(put: Put | str) -> None:
        if isinstance(put, str):
            main.say(put, "bar-warning")
            return
        fits = put.size <= LONGEST
        if fits:
            main.app.copy_to_clipboard(put.text)
        main.say(_said(about, put, fits=fits, hides=hides), "bar" if fits or put.path else "bar-warning")

    main.background.ask("copy", work, then)


def _said(about: str, put: Put, *, fits: bool, hides: bool) -> str:
    to = ["the clipboard"] if fits else []
    to += [] if put.path is None else [short(put.path)]
    more = [] if fits else ["too long for a terminal's clipboard"]
    more += [f"{file_path(NAME)} cannot be written"] if put.path is None else []
    more += ["secrets are masked"] if hides else []
    more += [f"{put.acting:,} control characters as they are"] if put.acting else []
    where = f" to {' and '.join(to)}" if to else " nowhere"
    return "; ".join((f"copied {about}, {put.size:,} bytes,{where}", *more))
