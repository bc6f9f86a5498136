"""Menus: the one of the selected row or field, the palette of all commands, and the help page.

Theory. Filters are made from the names and values of the selected field or row, and are tested on the row before they
are offered. That may decode a message, so the menu opens when another thread has made them. A command with a key of its
own is listed by its row of tui.keys, with the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from dissectors.field import Field
from tui.keys import KEYS, KeyBinding, KeyPlace, find_synonyms
from tui.model.detail import TreeNote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.copies import CopySubject
    from tui.screens.chooser import Choice
    from tui.screens.main import MainScreen

    Act = Callable[[MainScreen], None]


LONGEST = 200
"""The characters of a filter that the menu shows."""

FOR_ROWS = (
    "pages.open_conversation",
    "navigation.go_to_partner",
    "pages.open_comparison",
    "pages.open_packets",
    "navigation.toggle_mark",
    "navigation.toggle_ignored",
    "appearance.toggle_reference",
    "decoding.choose_protocol",
    "saving.choose_rows",
    "columns.choose_columns",
    "pages.open_reports",
)
"""Commands for the selected message."""


class FilterOffer(NamedTuple):
    """A filter that the menu offers; title: what it is about."""

    title: str
    text: str


def open_menu(main: MainScreen) -> None:
    """Opens the menu of the selected field, or of the row if the list has the focus."""
    place = main.timeline.selected
    if place is None:
        main.show_message("nothing is selected", "bar-warning")
    elif main.view.detail is None:
        _open_of_stream(main, place.stream)
    elif main.bars.focused is main.timeline:
        _open_of_row(main, main.view.detail.row)
    else:
        _open_of_field(main)


def _open_of_stream(main: MainScreen, stream: int) -> None:
    offers = [FilterOffer("this stream", f"stream == {stream}")]
    _open_choices(
        main, f"stream {stream}", [*_list_filters(offers), *_list_row_commands(main), *_combine_offers(main, offers)]
    )


def _open_of_row(main: MainScreen, row: int) -> None:
    from analyzer.query.filter.alike import list_row_filters

    session = main.session

    def open_row_menu(offers: list[FilterOffer]) -> None:
        choices = [
            *_list_filters(offers),
            *_list_row_commands(main),
            *_list_copies(),
            *_combine_offers(main, offers),
            *_offer_colours(offers),
        ]
        _open_choices(main, f"message {row + 1}", choices)

    main.background.submit(
        "menu", lambda: [FilterOffer(*each) for each in list_row_filters(session, row)], open_row_menu
    )


def _open_of_field(main: MainScreen) -> None:
    from tui.commands.copying import find_subject

    subject = find_subject(main, field=True)
    if subject is None:
        return
    if not subject.path:
        what = main.tree_pane.get_path()
        _open_choices(
            main,
            f"message {subject.row + 1}",
            [*_list_note_choices(main, what), *_list_copies(), *_list_row_commands(main)],
        )
        return
    from analyzer.query.filter.alike import find_path, make_filter

    found, name = subject, safe_text(subject.path[-1].spec.name, LONGEST)

    def work() -> tuple[str | None, str | None]:
        session, row, path = found.session, found.row, found.path
        return make_filter(session, row, found.detail.tree, path), find_path(session, row, path)

    def open_field_menu(made: tuple[str | None, str | None]) -> None:
        text, column = made
        offers = [] if text is None else [FilterOffer("this value", text)]
        choices = [
            *_list_filters(offers),
            *_offer_unequal(text),
            *_offer_column(column),
            *_offer_colours(offers),
            *_combine_offers(main, offers),
            *_list_field_choices(found),
        ]
        _open_choices(main, name, [*choices, *_list_copies(), *_list_row_commands(main)])

    main.background.submit("menu", work, open_field_menu)


def _open_choices(main: MainScreen, title: str, choices: list[Choice[Act]]) -> None:
    from tui.screens.chooser import Chooser

    main.open_dialog(Chooser(main.palette, title, choices), lambda act: act(main))


def _make_choice(text: str, act: Act, key_name: str = "") -> Choice[Act]:
    from tui.screens.chooser import Choice

    return Choice((("", text),), act, key_name)


def _list_filters(offers: list[FilterOffer]) -> Iterator[Choice[Act]]:
    return (_make_filter_choice(f"filter: {offer.title}", offer.text) for offer in offers)


def _combine_offers(main: MainScreen, offers: list[FilterOffer]) -> Iterator[Choice[Act]]:
    """Combines each filter with the one in force, then negates each."""
    in_force = None if main.filter.in_force is None else main.filter.in_force.text
    if in_force is not None:
        for word in ("and", "or", "and not"):
            for offer in (each for each in offers if each.text != in_force):
                text = f"{_parenthesise(in_force)} {word} {_parenthesise(offer.text)}"
                yield _make_filter_choice(f"filter: the current one {word} {offer.title}", text)
    for offer in offers:
        yield _make_filter_choice(f"filter: all but {offer.title}", f"not {_parenthesise(offer.text)}")


def _offer_unequal(text: str | None) -> Iterator[Choice[Act]]:
    """Offers messages whose field has another value."""
    field, _, value = (text or "").partition(" == ")
    if value and not field.startswith(("bytes[", "count(")) and " " not in field and " and " not in value:
        yield _make_filter_choice("filter: another value", f"{field} != {value}")


def _parenthesise(text: str) -> str:
    """Puts a filter in parentheses if it needs them."""
    return text if " " not in text else f"({text})"


def _offer_colours(offers: list[FilterOffer]) -> Iterator[Choice[Act]]:
    """Offers a colour rule for each filter."""
    for offer in offers:
        yield _make_choice(f"colour: {offer.title}:  {safe_text(offer.text, LONGEST)}", _make_colour_act(offer.text))


def _make_colour_act(text: str) -> Act:
    def act(main: MainScreen) -> None:
        from tui.commands.colouring import choose_colour

        choose_colour(main, text)

    return act


def _make_filter_choice(about: str, text: str) -> Choice[Act]:
    return _make_choice(f"{about}:  {safe_text(text, LONGEST)}", lambda main: apply_filter(main, text))


def apply_filter(main: MainScreen, text: str) -> None:
    """Puts a filter in force, or shows its error."""
    from analyzer.query.filter import compile_filter

    try:
        wanted = compile_filter(text, main.named)
    except UserError as error:
        main.show_message(str(error), "bar-warning")
    else:
        main.filter.apply(wanted)


def _offer_column(name: str | None) -> Iterator[Choice[Act]]:
    if name is not None:
        yield _make_choice(f"as a column:  {safe_text(name, LONGEST)}", lambda main: _add_column(main, name))


def _add_column(main: MainScreen, name: str) -> None:
    from tui.commands.columns import add_column

    try:
        add_column(main, name)
    except UserError as error:
        main.show_message(str(error), "bar-warning")
    else:
        main.show_message(f"{safe_text(name, LONGEST)} is a column now")


def _list_field_choices(subject: CopySubject) -> Iterator[Choice[Act]]:
    """Lists the ways to go on from a field."""
    yield _make_choice("go to its bytes", _focus_bytes)
    yield _make_choice("go to its place in the tree", _focus_tree)
    if not subject.hides:
        from tui.commands.saving import save_field

        yield _make_choice("save its bytes to a file", lambda main: save_field(main, subject))


def _focus_bytes(main: MainScreen) -> None:
    main.hex_pane.focus()


def _focus_tree(main: MainScreen) -> None:
    main.tree_pane.focus()


def _list_note_choices(main: MainScreen, path: list[Field | TreeNote]) -> Iterator[Choice[Act]]:
    """Offers a report if the line is a defect of a dissector."""
    from tui.commands.pages import make_bug_report

    lines = None if main.view.detail is None else make_bug_report(main.session, main.view.detail, path)
    if lines is not None:
        from tui.commands.pages import open_bug_report

        yield _make_choice("a report of this bug", lambda main: open_bug_report(main, lines))


def _list_copies() -> Iterator[Choice[Act]]:
    from tui.commands import copying
    from tui.model.copies import COPY_FORMATS

    def copies(name: str) -> Act:
        def act(main: MainScreen) -> None:
            subject = copying.find_subject(main)
            if subject is not None:
                copying.copy(main, subject, name)

        return act

    yield _make_choice("copy ...", copying.choose_copy, "y")
    for name in ("value", "hex", "row", "filter"):
        yield _make_choice(f"copy {COPY_FORMATS[name].about}", copies(name))


def _list_row_commands(main: MainScreen) -> Iterator[Choice[Act]]:
    for name in FOR_ROWS:
        key = next((key for key in KEYS if key.action == f"do('{name}')"), None)
        if key is not None:
            yield _make_choice(key.help, methodcaller("action_do", name), key.label)


USES_KEY = "uses"
"""The key of the saved numbers of uses of commands in the palette."""


def open_palette(main: MainScreen) -> None:
    """Opens the list of all commands of the screen and of the focused pane."""
    from tui.screens.chooser import Choice, Chooser

    uses: dict[str, float] = main.saved_state.get(USES_KEY, {})
    commands = sorted(list_commands(main), key=lambda key: -uses.get(key.action, 0))
    choices = [Choice((("", key.help),), key, key.label, find_synonyms(key)) for key in commands]

    def run_chosen(key: KeyBinding) -> None:
        main.saved_state.set(USES_KEY, {**uses, key.action: uses.get(key.action, 0) + 1})
        run_key(main, key)

    main.open_dialog(Chooser(main.palette, "commands", choices), run_chosen)


def list_commands(main: MainScreen) -> Sequence[KeyBinding]:
    """Returns the commands that are possible now, without the palette itself; cursor movements come last."""
    mine = main.bars.focused_name
    order: dict[KeyPlace, int] = {"screen": 0, mine: 1, "pane": 2}
    found = [key for key in KEYS if key.place in order and key.action != "do('menu.open_palette')"]
    return sorted(found, key=lambda key: order[key.place])


def run_key(main: MainScreen, key: KeyBinding) -> None:
    """Runs the command of a key."""
    place = main if key.place == "screen" else main.bars.focused
    main.call_later(place.run_action, key.action)


def open_help(main: MainScreen) -> None:
    """Opens the help page; Enter there runs a command."""
    from tui.screens.help import HelpScreen

    def use_key(key: KeyBinding | None) -> None:
        if key is None:
            return
        pane = main.bars.panes.get(key.place)
        if pane is not None:
            pane.focus()
        if pane is not None or key.place in ("screen", "pane"):
            run_key(main, key)

    colouring = main.timeline.row_lines.colour_rules
    main.app.push_screen(HelpScreen(main.palette, () if colouring is None else colouring.rules), use_key)
