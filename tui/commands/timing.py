"""How times are shown, and from where they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.config.time_formats import TIME_FORMATS, TimeFormat
from tui.commands.marking import find_selected_row
from tui.model.times import TIME_FORMAT_KEY

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

FORMAT_ORDER: tuple[TimeFormat | None, ...] = (None, *TIME_FORMATS)

FORMAT_TITLES = {
    None: "clock",
    "iso": "date and clock, UTC",
    "relative": "seconds since the first packet, or the reference (Ctrl+T) before",
    "delta": "seconds since the line above",
    "epoch": "seconds since 1970",
}


def cycle_time_format(main: MainScreen) -> None:
    """The next format."""
    times = main.timeline.row_lines.times
    times.format = FORMAT_ORDER[(FORMAT_ORDER.index(times.format) + 1) % len(FORMAT_ORDER)]
    main.remembered.set(TIME_FORMAT_KEY, times.format or "")
    _refresh_times(main)
    main.show_message(f"times: {FORMAT_TITLES[times.format]}")


def toggle_reference(main: MainScreen) -> None:
    """Makes the selected message one from which relative times count, or an ordinary one."""
    row = find_selected_row(main)
    if row is None:
        return
    times = main.timeline.row_lines.times
    said = f"message {row + 1} is {'a time reference' if times.toggle_reference(row) else 'no time reference any more'}"
    _refresh_times(main)
    main.show_message(said if times.format == "relative" else f"{said}: relative times count from it, t shows them")


def clear_references(main: MainScreen) -> None:
    """No message is a reference any more."""
    main.timeline.row_lines.times.clear_references()
    _refresh_times(main)
    main.show_message("relative times count from the first packet")


def _refresh_times(main: MainScreen) -> None:
    main.timeline.invalidate()
    main.show_heads()
