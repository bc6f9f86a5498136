"""Asks by which field lines are drawn: the usual ones first, then those with an alias, then any other by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from analyzer.errors import UserError
from analyzer.insight.grouping import field_of
from analyzer.insight.series import SERVER
from analyzer.query.fields import FieldKind
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

    def offer(choices: Sequence[Choice[str | None]]) -> None:
        page.app.push_screen(Chooser(page.palette, "a line for each", choices), choose)

    page.run_in_background("fields", _list_choices, offer)


def _read_field(name: str) -> str:
    """Returns the name of a field by which messages can be grouped. Raises UserError."""
    field = field_of(name.strip())
    if field.kind is FieldKind.TIME:
        raise UserError(f"{field.name} is a time, as the axis is")
    return field.name


def _list_choices() -> Sequence[Choice[str | None]]:
    """Lists the fields by which lines can be drawn; called in the worker thread."""
    from analyzer.query.fields import list_short_fields

    found: list[Choice[str | None]] = [Choice((("name", name),), name, about) for name, about in FIELDS.items()]
    found.append(Choice((("", "one line for all messages"),), None))
    found.append(Choice((("", "another field ..."),), ANOTHER))
    kinds = (FieldKind.PRESENCE, FieldKind.STRUCT, FieldKind.TIME)
    fields = [field for field in list_short_fields() if field.kind not in kinds and field.name not in FIELDS]
    found.extend(Choice((("name", field.name),), field.name, field.kind.value) for field in fields)
    return found
