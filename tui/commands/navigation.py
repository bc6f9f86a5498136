"""Commands that go to other messages (partner, number, history, marks), mark and ignore them; the time line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.render.amounts import format_counted
from tui.model.activity_height import HEIGHT_KEY, HEIGHTS
from tui.model.row_sets import toggle_row

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


def toggle_mark(main: MainScreen) -> None:
    """Marks the selected message, or removes its mark."""
    row = find_selected_row(main)
    if row is not None:
        is_marked = toggle_row(main.timeline.row_lines.marks.marked, row)
        main.timeline.refresh_row(row)
        main.show_message(f"message {row + 1} is {'marked' if is_marked else 'no longer marked'}")


def clear_marks(main: MainScreen) -> None:
    """Removes the marks of all messages, and says how many there were."""
    marked = main.timeline.row_lines.marks.marked
    count = len(marked)
    marked.clear()
    main.timeline.invalidate()
    main.show_message(f"{format_counted(count, 'mark')} taken away" if count else "no message is marked")


def go_to_next_mark(main: MainScreen) -> None:
    """Goes to the next marked message, round the end."""
    _go_to_mark(main, forward=True)


def go_to_previous_mark(main: MainScreen) -> None:
    """Goes to the marked message before, round the beginning."""
    _go_to_mark(main, forward=False)


def _go_to_mark(main: MainScreen, *, forward: bool) -> None:
    listed = main.timeline
    marks = listed.row_lines.marks
    row = marks.find_next(listed.current_row, listed.timeline.is_shown, forward=forward)
    if row is not None:
        main.view.select_row(row)
    elif marks.marked:
        main.show_message(
            f"the filter hides all marked messages: {format_counted(len(marks.marked), 'message')}", "bar-warning"
        )
    else:
        main.show_message("no message is marked: press m to mark one", "bar-warning")


def toggle_ignored(main: MainScreen) -> None:
    """Ignores the selected message, or stops ignoring it."""
    row = find_selected_row(main)
    if row is not None:
        is_ignored = toggle_row(main.timeline.ignored, row)
        _refresh_rows(main, row)
        main.show_message(f"message {row + 1} is {'ignored: it is not decoded' if is_ignored else 'no longer ignored'}")


def clear_ignored(main: MainScreen) -> None:
    """Shows all ignored messages again, and says how many there were."""
    count = len(main.timeline.ignored)
    main.timeline.ignored.clear()
    _refresh_rows(main, None)
    main.show_message(f"{format_counted(count, 'message')} no longer ignored" if count else "no message is ignored")


def _refresh_rows(main: MainScreen, row: int | None) -> None:
    if row is None:
        main.timeline.invalidate()
    main.timeline.refresh_row(row)
    main.view.refresh()


def find_selected_row(main: MainScreen) -> int | None:
    """Returns the selected row; None and a message if there is none."""
    place = main.timeline.selected
    if place is None or place.row is None:
        main.show_message("no message is selected", "bar-warning")
        return None
    return place.row


def go_to_partner(main: MainScreen) -> None:
    """Selects the partner of the selected message."""
    row = None if main.view.detail is None else main.view.detail.partner
    if row is None or row >= main.timeline.timeline.rows:
        main.show_message(
            "this message has no partner" if main.view.detail else "no message is selected", "bar-warning"
        )
    elif main.timeline.timeline.is_shown(row) or row < main.timeline.timeline.first:
        main.view.select_row(row, "its partner, ")
    else:
        main.timeline.peek(row)
        main.view.select_row(row, "its partner, ")
        text = f"message {row + 1} is its partner; the filter hides it: Esc shows all messages"
        main.bars.show_for_seconds(text, "bar")


def go_to_number(main: MainScreen) -> None:
    """Asks for a number and selects that message."""
    from tui.screens.input_line import NumberDialog

    def go(number: int | None) -> None:
        rows = main.timeline.timeline.rows
        if number is None:
            return
        if 1 <= number <= rows:
            main.view.select_row(number - 1)
        else:
            main.show_message(f"there is no message {number}: there are {rows:,}, counted from 1", "bar-warning")

    main.app.push_screen(NumberDialog(main.timeline.timeline.rows), go)


def go_back(main: MainScreen) -> None:
    """Goes back to the row before the last jump."""
    listed = main.timeline
    _go_to_row(main, listed.jumps.go_back(listed.current_row, listed.timeline.is_shown), "back")


def go_forward(main: MainScreen) -> None:
    """Goes forward again after going back."""
    listed = main.timeline
    _go_to_row(main, listed.jumps.go_forward(listed.current_row, listed.timeline.is_shown), "forward")


def _go_to_row(main: MainScreen, row: int | None, way: str) -> None:
    if row is None:
        main.show_message(f"there is nothing to go {way} to", "bar-warning")
    else:
        main.timeline.go_to_row(row)


NAMES = {0: "hidden", 1: "one line", 3: "three lines"}


def focus_time_line(main: MainScreen) -> None:
    """Gives the time line the focus, and shows it if needed; from there, goes back to the list."""
    bar = main.activity.bar
    if bar.has_focus:
        main.set_focus(main.timeline)
        return
    if not bar.height:
        cycle_time_line(main)
    if not bar.is_placed:
        main.show_message("the terminal is too low for the time line", "bar-warning")
        return
    main.activity.meter.read_moments()
    main.set_focus(bar)


def cycle_time_line(main: MainScreen) -> None:
    """Shows the time line in one line, in three lines, or not at all."""
    height = main.activity.cycle_height(HEIGHTS)
    if not height and main.activity.bar.has_focus:
        main.set_focus(main.timeline)
    main.saved_state.set(HEIGHT_KEY, height)
    main.pane_area.refresh_layout_soon()
    main.show_message(f"time line: {NAMES[height]}")


HINT = "Enter keeps it, an empty text removes it; w saves the packets and comments as pcapng"


def write_comment(main: MainScreen) -> None:
    """Asks for the comment on the selected message."""
    from analyzer.capture.pcapng_format import LONGEST_COMMENT
    from analyzer.errors import UserError
    from tui.screens.input_line import LineDialog, LineQuestion

    row = find_selected_row(main)
    if row is None:
        return
    session = main.session
    first = session.rows.cell("pieces", row)
    packet = int(session.engine.pieces.column("packet")[first : first + session.rows.cell("count", row)].max())
    comments = session.comments

    def check_text(text: str) -> str:
        if len(text.encode("utf-8", "replace")) > LONGEST_COMMENT:
            raise UserError(f"A comment has at most {LONGEST_COMMENT:,} bytes.")
        return text.strip()

    def write(text: str) -> None:
        comments.write(packet, text)
        main.timeline.row_lines.clear_read()
        main.timeline.invalidate()
        main.view.refresh()
        what = f"comment on packet {packet:,}" if text else f"no comment of yours on packet {packet:,}"
        main.show_message(f"{what}: the field comment finds comments" if text else what)

    question = LineQuestion("comment", HINT, comments.written.get(packet, ""), check_text)
    main.open_dialog(LineDialog(main.palette, question), write)
