"""The commands "decode as" and "read again": another session reads the capture, with a rule or with newer key logs.

Theory. Messages are cut out of streams by the protocol's framing, so the protocol of a stream cannot change afterwards:
another session reads the files again, on a screen that replaces this one. The new screen keeps the filter, and selects
the message at the same position of its stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.decode.endpoints import name_endpoint
from analyzer.errors import UserError
from analyzer.messages.decode_as import StreamNumber
from analyzer.query.fields.keys import parse_port

if TYPE_CHECKING:
    from analyzer.messages.decode_as import DecodeAsTarget
    from analyzer.session import Session
    from tui.screens.main import MainScreen

NONE = "none"
"""The name in place of a protocol, for streams that are not decoded."""


def choose_protocol(main: MainScreen) -> None:
    """Asks for the protocol of the selected stream, or of its port."""
    place = main.timeline.selected
    if place is None:
        main.show_message("no stream is selected", "bar-warning")
        return
    from dissectors import registry
    from tui.screens.chooser import Choice, Chooser

    server = parse_port(name_endpoint(main.session, place.stream, 1))
    wheres: list[tuple[str, DecodeAsTarget]] = [
        (f"stream {place.stream}", StreamNumber(place.stream)),
        (f"port {server}", server),
    ]
    choices = [
        Choice((("", f"{message} as {name}" if name != NONE else f"{message} not decoded"),), (where, name))
        for message, where in wheres
        for name in (*registry.names(), NONE)
    ]

    main.open_dialog(Chooser(main.palette, "decode as", choices), lambda choice: reread_as(main, *choice))


def reread_as(main: MainScreen, where: DecodeAsTarget, protocol: str) -> None:
    """Reads the capture again with a protocol for a stream or port; shows a message if that is impossible."""
    _reread(main, f"{describe_target(where)} is read as {protocol}", (where, protocol))


def reread(main: MainScreen) -> None:
    """Reads the capture again, with what key logs of TLS have got since."""
    _reread(main, "the capture was read again")


def _reread(main: MainScreen, message: str, *rules: tuple[DecodeAsTarget, str]) -> None:
    if main.session.packets.follows and main.ingest.is_reading:
        main.show_message("a growing capture cannot be read again: give -d when you open it", "bar-warning")
        return
    from tui.commands.opening import get_window

    try:
        session = main.session.reopen_with_rules(*rules)
    except UserError as error:
        main.show_message(str(error), "bar-warning")
    else:
        aim = _locate_selection(main)
        fresh = get_window(main).replace_main_screen(session)
        fresh.timeline.timeline.flat = main.timeline.timeline.flat
        fresh.ingest.when_read = lambda: _find_again(fresh, aim, message)


def describe_target(where: DecodeAsTarget) -> str:
    """Returns the stream or port as people write it."""
    return f"stream {where.number}" if isinstance(where, StreamNumber) else f"port {where}"


def _find_again(main: MainScreen, aim: tuple[int, int, int] | None, message: str) -> None:
    listed = main.timeline
    row = None if aim is None else find_row(main.session, listed.timeline.rows, *aim)
    if row is not None and listed.cursor <= 1:
        if listed.timeline.is_shown(row):
            main.view.select_row(row)
        elif not listed.is_settled:
            listed.target = listed.find_place(row)  # the filter has not been asked about it yet
    main.bars.show_for_seconds(message, "bar")  # although the filter may still select the message


def _locate_selection(main: MainScreen) -> tuple[int, int, int] | None:
    """Returns the position of the selected message: stream, side, offset."""
    place = main.timeline.selected
    if place is None:
        return None
    if place.row is None:
        return place.stream, 0, -1
    cell = main.session.rows.cell
    return place.stream, cell("side", place.row), cell("offset", place.row)


def find_row(session: Session, rows: int, stream: int, side: int, offset: int) -> int | None:
    """Finds the row of a stream that has a byte of a side, or the last row before it.

    None if the stream has no row.
    """
    columns = session.rows
    mine = np.flatnonzero(columns.column("stream")[:rows] == stream)
    same = mine[(columns.column("side")[mine] == side) & (columns.column("offset")[mine] <= offset)]
    if len(same):
        return int(same[np.argmax(columns.column("offset")[same])])
    return int(mine[0]) if len(mine) else None
