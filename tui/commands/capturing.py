"""Commands for a live capture: pause the list, stop and restart the capture, save packets, and quit.

Theory. Before packets or comments are lost, the user is asked; a second press of the same key confirms. Stopping asks
the capturing process; its end arrives as the end of any input does. Restarting takes a moment, so the worker thread
does it; the new run has a screen of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.errors import UserError
from analyzer.render.amounts import format_counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analyzer.session import Session
    from tui.inputs import LiveCapture
    from tui.screens.main import MainScreen

NOT_LIVE = "this is not a live capture: wireanalyze sniff starts one"


def toggle_pause(main: MainScreen) -> None:
    """Pauses the list while reading goes on, or resumes it."""
    if not main.ingest.is_reading:
        main.show_message("the capture has ended: all its messages are in the list", "bar-warning")
        return
    main.ingest.toggle_pause()
    main.show_message(
        "the list is paused; capturing continues: press Z to resume the list" if main.ingest.is_paused else ""
    )


def stop_capture(main: MainScreen) -> None:
    """Stops the capture, or begins another one if it has stopped."""
    live = main.ingest.live
    if live is None:
        main.show_message(NOT_LIVE, "bar-warning")
    elif live.state == "stopped":
        restart_capture(main)
    else:
        live.stop()
        main.ingest.show_title()
        main.show_message("capturing stops; packets that were captured are still being read")


def restart_capture(main: MainScreen) -> None:
    """Begins another capture that replaces this one."""
    live = main.ingest.live
    if live is None:
        main.show_message(NOT_LIVE, "bar-warning")
    else:
        found = live
        confirm_loss(main, "R,ctrl+r,E,ctrl+e", "begin anew", lambda: _begin(main, found))


def quit_program(main: MainScreen) -> None:
    """Ends the program; asks first if packets of an open capture would be lost."""
    from tui.commands.opening import get_window

    window = get_window(main)
    unsaved = window.list_unsaved() or [main]
    if unsaved[0] is not window.main:
        window.show_capture(unsaved[0])
    confirm_loss(unsaved[0], "q,ctrl+q,ctrl+c", "quit", main.app.exit, unsaved[1:])


def confirm_loss(
    main: MainScreen, keys: str, what: str, act: Callable[[], object], others: Sequence[MainScreen] = ()
) -> None:
    """Ends this capture, and others, by `act`; asks first if their packets or the user's comments would be lost.

    keys: those that confirm.
    """
    from tui.commands.saving import choose_rows
    from tui.screens.chooser import ConfirmDialog

    ended = (main, *others)
    packets = sum(each.ingest.unsaved for each in ended)
    comments = sum(each.session.comments.unsaved for each in ended)
    if not (packets or comments) or isinstance(main.app.screen, ConfirmDialog):
        act()
        return

    counts = ((packets, "packet"), (comments, "comment"))
    title = f"{' and '.join(format_counted(count, name) for count, name in counts if count)} not saved"
    choices = [
        (f"{what}: they will be lost", act),
        ("save them first", lambda: save_packets(main) if main.ingest.unsaved else choose_rows(main)),
        ("go on", lambda: None),
    ]
    main.open_dialog(ConfirmDialog(main.palette, title, choices, keys), lambda chosen: chosen())


def _begin(main: MainScreen, live: LiveCapture) -> None:
    """Begins another run in the worker thread, which waits for the end of this one."""

    def work() -> Session | str:
        try:
            return live.restart()
        except UserError as error:
            return str(error)

    main.show_message("another capture is starting ...")
    main.background.submit("restart", work, lambda begun: _show(main, begun))


def _show(main: MainScreen, begun: Session | str) -> None:
    if isinstance(begun, str):
        main.show_message(begun, "bar-error")
        return
    from tui.commands.opening import get_window

    fresh = get_window(main).replace_main_screen(begun, is_live=True)
    fresh.timeline.timeline.flat = main.timeline.timeline.flat
    fresh.call_after_refresh(fresh.show_message, "another capture has started")


def save_packets(main: MainScreen) -> None:
    """Asks for a name and saves all packets of the run that are still held."""
    import os

    from analyzer.capture.output import check_file
    from tui.model.exports import find_unused_name
    from tui.screens.input_line import LineDialog, LineQuestion

    live = main.ingest.live
    if live is None:
        main.show_message("the packets are already in a file: press w to save messages", "bar-warning")
        return
    capture = live

    def check_path(name: str) -> str:
        path = os.path.expanduser(name.strip())
        check_file(path, force=False)
        return path

    hint = "all packets captured so far, as pcapng. Enter saves, Esc cancels"
    question = LineQuestion("the file", hint, find_unused_name("capture", ".pcapng"), check_path)
    main.open_dialog(LineDialog(main.palette, question), lambda path: _save(main, capture, path))


def _save(main: MainScreen, live: LiveCapture, path: str) -> None:
    from tui.background import BackgroundWorker

    captured = live.health().captured
    worker = BackgroundWorker(main.call_later)

    def work() -> tuple[str, bool]:
        try:
            return f"{format_counted(live.save(path), 'packet')} written to {path}", True
        except UserError as error:
            return str(error), False
        except OSError as error:
            return f"{path} cannot be written: {error.strerror or error}", False

    def show_result(done: tuple[str, bool]) -> None:
        worker.stop()
        text, is_done = done
        if is_done:
            main.ingest.saved = max(main.ingest.saved, captured)
        main.show_message(text, "bar" if is_done else "bar-error")

    main.show_message(f"saving to {path} ...")
    worker.start()
    worker.submit("save", work, show_result)
