"""Marks and ignored messages: by the number of the message, whatever is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.render.amounts import counted
from tui.model.marks import toggle

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def mark(main: MainScreen) -> None:
    """Marks the selected message, or takes its mark away."""
    row = selected(main)
    if row is not None:
        is_marked = toggle(main.timeline.said.marks.marked, row)
        main.timeline.paint_row(row)
        main.say(f"message {row + 1} is {'marked' if is_marked else 'no longer marked'}")


def unmark_all(main: MainScreen) -> None:
    """No message is marked any more."""
    marked = main.timeline.said.marks.marked
    count = len(marked)
    marked.clear()
    main.timeline.anew()
    main.say(f"{counted(count, 'mark')} taken away" if count else "no message is marked")


def following(main: MainScreen) -> None:
    """To the next marked message, round the end."""
    _go(main, forward=True)


def previous(main: MainScreen) -> None:
    """To the one before, round the beginning."""
    _go(main, forward=False)


def _go(main: MainScreen, *, forward: bool) -> None:
    listed = main.timeline
    marks = listed.said.marks
    row = marks.next(listed.around, listed.timeline.shows, forward=forward)
    if row is not None:
        main.view.select_row(row)
    elif marks.marked:
        main.say(f"the filter hides what is marked, {counted(len(marks.marked), 'message')}", "bar-warning")
    else:
        main.say("no message is marked: m marks one", "bar-warning")


def ignore(main: MainScreen) -> None:
    """Leaves the selected message out of all that looks at messages, or takes it in again."""
    row = selected(main)
    if row is not None:
        is_ignored = toggle(main.timeline.ignored, row)
        _changed(main, row)
        main.say(f"message {row + 1} is {'ignored: it is not decoded' if is_ignored else 'no longer ignored'}")


def ignore_none(main: MainScreen) -> None:
    """No message is ignored any more."""
    count = len(main.timeline.ignored)
    main.timeline.ignored.clear()
    _changed(main, None)
    main.say(f"{counted(count, 'message')} no longer ignored" if count else "no message is ignored")


def _changed(main: MainScreen, row: int | None) -> None:
    if row is None:
        main.timeline.anew()
    main.timeline.paint_row(row)
    main.view.look_again()


def selected(main: MainScreen) -> int | None:
    """The selected row; None where there is none, which is said."""
    place = main.timeline.selected
    if place is None or place.row is None:
        main.say("no message is selected", "bar-warning")
        return None
    return place.row
