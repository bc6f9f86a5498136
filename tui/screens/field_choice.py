"""Asks by which field lines are drawn: the usual ones first, then those with an alias, then any other by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from analyzer.errors import UserError
from analyzer.insight.grouping import field_of
from analyzer.insight.series import SERVER
from analyzer.query.fields import FieldKind, list_short_fields
from tui.screens.chooser import Choice, Chooser
from tui.screens.input_line import LineDialog, LineQuestion
from tui.screens.page import Page

FIELDS: Mapping[str, str] = {
    "operation": "the default",
    "client": "client id, session, version",
    SERVER: "the broker or server of the connection",
    "topic": "topics that messages name",
    "protocol": "",
    "error": "errors of answers",
    "role": "requests, responses, ...",
    "stream_id": "connections",
}
"""The fields that are offered first."""

ANOTHER = "another"
"""The choice that asks for a name."""

FieldChoice = Choice[str | None]


class FieldChooser(Chooser[str | None]):
    """The usual fields at once, and those with an alias as soon as the worker thread has listed them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        first: list[FieldChoice] = [Choice((("name", name),), name, about) for name, about in FIELDS.items()]
        others: list[FieldChoice] = [Choice((("", "one line for all messages"),), None)]
        others.append(Choice((("", "another field ..."),), ANOTHER))
        super().__init__(page.palette, "a line for each", [*first, *others])

    def on_mount(self) -> None:
        """Shows the usual fields, and has the others listed."""
        super().on_mount()
        self._page.run_in_background("fields", _list_more, self.add_choices)


def ask_field(page: Page, take: Callable[[str | None], object]) -> None:
    """Asks for a field; `take` gets its name, or None for all messages together."""

    def ask_name() -> None:
        question = LineQuestion("a line for each value of", "any field of filters", "", _read_field)
        page.app.push_screen(LineDialog(page.palette, question), answer)

    def answer(found: tuple[str] | None) -> None:
        if found is not None:
            take(*found)

    def choose(chosen: tuple[str | None] | None) -> None:
        if chosen is not None and chosen[0] == ANOTHER:
            ask_name()
        elif chosen is not None:
            take(chosen[0])

    page.app.push_screen(FieldChooser(page), choose)


def _read_field(name: str) -> str:
    """Returns the name of a field by which messages can be grouped. Raises UserError."""
    field = field_of(name.strip())
    if field.kind is FieldKind.TIME:
        raise UserError(f"{field.name} is a time, as the axis is")
    return field.name


def _list_more() -> Sequence[FieldChoice]:
    """Lists the fields with an alias; called in the worker thread."""
    kinds = (FieldKind.PRESENCE, FieldKind.STRUCT, FieldKind.TIME)
    fields = [field for field in list_short_fields() if field.kind not in kinds and field.name not in FIELDS]
    return [Choice((("name", field.name),), field.name, field.kind.value) for field in fields]
