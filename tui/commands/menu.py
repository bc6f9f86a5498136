"""The menu of what is selected: filters for messages like it, its columns and copies, and where one can go from it.

Theory. Filters are made from the names and values that the selected field or row has, and are asked of the row itself
before they are offered; that may decode a message, so the menu opens when another thread has made them. What has a key
of its own is listed by its row of tui.keys, and so says its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from dissectors.field import Field
from tui.keys import KEYS
from tui.model.detail import Note

if TYPE_CHECKING:
    from tui.model.copies import Subject
    from tui.screens.chooser import Choice
    from tui.screens.main import MainScreen

    Act = Callable[[MainScreen], None]

LONGEST = 200
"""Characters of a filter that a line of the menu shows."""

FOR_ROWS = (
    "examining.follow",
    "going.partner",
    "examining.packets",
    "marking.mark",
    "marking.ignore",
    "timing.reference",
    "decoding.choose",
    "saving.choose",
    "columns.choose",
    "examining.reports",
)
"""Commands that have to do with the selected message."""


class Offer(NamedTuple):
    """A line of the menu. of: what a filter is about."""

    of: str
    text: str


def show(main: MainScreen) -> None:
    """Opens the menu of the field that is selected, or of the row where the list has the focus."""
    place = main.timeline.selected
    if place is None:
        main.say("nothing is selected", "bar-warning")
    elif main.view.detail is None:
        _open_of_stream(main, place.stream)
    elif main.bars.focused is main.timeline:
        _open_of_row(main, main.view.detail.row)
    else:
        _open_of_field(main)


def _open_of_stream(main: MainScreen, stream: int) -> None:
    offers = [Offer("this stream", f"stream == {stream}")]
    _open(main, f"stream {stream}", [*_filters(offers), *_commands(main), *_combined(main, offers)])


def _open_of_row(main: MainScreen, row: int) -> None:
    from analyzer.query.filter.of_row import filters_of_row

    session = main.session

    def then(offers: list[Offer]) -> None:
        choices = [*_filters(offers), *_commands(main), *_copies(), *_combined(main, offers)]
        _open(main, f"message {row + 1}", choices)

    main.background.ask("menu", lambda: [Offer(*each) for each in filters_of_row(session, row)], then)


def _open_of_field(main: MainScreen) -> None:
    from tui.commands.copying import subject_of

    subject = subject_of(main, field=True)
    if subject is None:
        return
    if not subject.path:
        what = main.tree_pane.path()
        _open(main, f"message {subject.row + 1}", [*_of_note(main, what), *_copies(), *_commands(main)])
        return
    from analyzer.query.filter.alike import filter_of, path_of

    found, name = subject, safe_text(subject.path[-1].spec.name, LONGEST)

    def work() -> tuple[str | None, str | None]:
        session, row, path = found.session, found.row, found.path
        return filter_of(session, row, found.detail.tree, path), path_of(session, row, path)

    def then(made: tuple[str | None, str | None]) -> None:
        text, column = made
        offers = [] if text is None else [Offer("this value", text)]
        choices = [*_filters(offers), *_unequal(text), *_column(column), *_combined(main, offers), *_of_field(found)]
        _open(main, name, [*choices, *_copies(), *_commands(main)])

    main.background.ask("menu", work, then)


def _open(main: MainScreen, title: str, choices: list[Choice[Act]]) -> None:
    from tui.screens.chooser import Chooser

    main.open(Chooser(main.palette, title, choices), lambda act: act(main))


def _choice(text: str, act: Act, beside: str = "") -> Choice[Act]:
    from tui.screens.chooser import Choice

    return Choice((("", text),), act, beside)


def _filters(offers: list[Offer]) -> Iterator[Choice[Act]]:
    return (_filter(f"filter: {offer.of}", offer.text) for offer in offers)


def _combined(main: MainScreen, offers: list[Offer]) -> Iterator[Choice[Act]]:
    """Each filter with the one in force, then what does not fulfil it."""
    in_force = None if main.filter.in_force is None else main.filter.in_force.text
    if in_force is not None:
        for word in ("and", "or", "and not"):
            for offer in (each for each in offers if each.text != in_force):
                text = f"{_whole(in_force)} {word} {_whole(offer.text)}"
                yield _filter(f"filter: the one in force {word} {offer.of}", text)
    for offer in offers:
        yield _filter(f"filter: all but {offer.of}", f"not {_whole(offer.text)}")


def _unequal(text: str | None) -> Iterator[Choice[Act]]:
    """What has the field with another value."""
    field, _, value = (text or "").partition(" == ")
    if value and not field.startswith(("bytes[", "count(")) and " " not in field and " and " not in value:
        yield _filter("filter: another value", f"{field} != {value}")


def _whole(text: str) -> str:
    """A filter as one part of another."""
    return text if " " not in text else f"({text})"


def _filter(about: str, text: str) -> Choice[Act]:
    return _choice(f"{about}:  {safe_text(text, LONGEST)}", lambda main: apply(main, text))


def apply(main: MainScreen, text: str) -> None:
    """Puts a filter in force, or says what is wrong with it."""
    from analyzer.query.filter import compiled

    try:
        wanted = compiled(text, main.named)
    except UserError as error:
        main.say(str(error), "bar-warning")
    else:
        main.filter.apply(wanted)


def _column(name: str | None) -> Iterator[Choice[Act]]:
    if name is not None:
        yield _choice(f"as a column:  {safe_text(name, LONGEST)}", lambda main: _add_column(main, name))


def _add_column(main: MainScreen, name: str) -> None:
    from tui.commands.columns import add

    try:
        add(main, name)
    except UserError as error:
        main.say(str(error), "bar-warning")
    else:
        main.say(f"{safe_text(name, LONGEST)} is a column now")


def _of_field(subject: Subject) -> Iterator[Choice[Act]]:
    """Where one can go from a field."""
    yield _choice("go to its bytes", _to_bytes)
    yield _choice("go to its place in the tree", _to_tree)
    if not subject.hides:
        from tui.commands.saving import save_field

        yield _choice("save its bytes to a file", lambda main: save_field(main, subject))


def _to_bytes(main: MainScreen) -> None:
    main.hex_pane.focus()


def _to_tree(main: MainScreen) -> None:
    main.tree_pane.focus()


def _of_note(main: MainScreen, path: list[Field | Note]) -> Iterator[Choice[Act]]:
    """A line that is no field may be a defect of a dissector."""
    from tui.commands.defects import report_of

    lines = None if main.view.detail is None else report_of(main.session, main.view.detail, path)
    if lines is not None:
        from tui.commands.defects import offer

        yield _choice("a report of this bug", lambda main: offer(main, lines))


def _copies() -> Iterator[Choice[Act]]:
    from tui.commands import copying
    from tui.model.copies import KINDS

    def copies(name: str) -> Act:
        def act(main: MainScreen) -> None:
            subject = copying.subject_of(main)
            if subject is not None:
                copying.copy(main, subject, name)

        return act

    yield _choice("copy ...", copying.choose, "y")
    for name in ("value", "hex", "row", "filter"):
        yield _choice(f"copy {KINDS[name].about}", copies(name))


def _commands(main: MainScreen) -> Iterator[Choice[Act]]:
    for name in FOR_ROWS:
        key = next((key for key in KEYS if key.action == f"do('{name}')"), None)
        if key is not None:
            yield _choice(key.help, methodcaller("action_do", name), key.shown)
