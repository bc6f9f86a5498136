"""How times are shown, and from where they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.config.time_formats import TIME_FORMATS, TimeFormat
from tui.commands.marking import selected
from tui.model.times import TIME_FORMAT

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

FORMS: tuple[TimeFormat | None, ...] = (None, *TIME_FORMATS)

SAID = {
    None: "clock",
    "iso": "date and clock, UTC",
    "relative": "seconds since the first packet, or the reference (Ctrl+T) before",
    "delta": "seconds since the line above",
    "epoch": "seconds since 1970",
}


def cycle(main: MainScreen) -> None:
    """The next format."""
    times = main.timeline.said.times
    times.form = FORMS[(FORMS.index(times.form) + 1) % len(FORMS)]
    main.remembered.keep(TIME_FORMAT, times.form or "")
    _changed(main)
    main.say(f"times: {SAID[times.form]}")


def reference(main: MainScreen) -> None:
    """Makes the selected message one from which relative times count, or an ordinary one."""
    row = selected(main)
    if row is None:
        return
    times = main.timeline.said.times
    said = f"message {row + 1} is {'a time reference' if times.toggle(row) else 'no time reference any more'}"
    _changed(main)
    main.say(said if times.form == "relative" else f"{said}: relative times count from it, t shows them")


def forget(main: MainScreen) -> None:
    """No message is a reference any more."""
    main.timeline.said.times.forget()
    _changed(main)
    main.say("relative times count from the first packet")


def _changed(main: MainScreen) -> None:
    main.timeline.anew()
    main.say_heads()
