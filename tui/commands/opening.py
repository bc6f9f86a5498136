"""Commands that open further captures, show another open one, and close one; and what is remembered of each.

Theory. Each open capture has a main screen of its own, which keeps its session, filter and place while another one is
shown. Files that are merged are read again as one timeline, on a screen that replaces this one.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from analyzer.columns.text import safe_text
from analyzer.errors import UserError
from tui.commands.columns import restore_order
from tui.model.capture_memory import list_entries, list_paths
from tui.saved_state import shorten_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyzer.live.live_session import LiveSession
    from analyzer.session import Session
    from tui.app import TuiApp
    from tui.screens.main import MainScreen

HINT = "Tab completes, Up: recent ones, * matches names. Enter opens, Esc cancels"
FILTER_HINT = "what to capture, such as tcp port 9092; empty: everything. Enter begins, Esc cancels"
LIVE_MEMORY = 1 << 30
"""Bytes that the tables of a live capture may hold, as for `sniff`."""


def get_window(main: MainScreen) -> TuiApp:
    """Returns the application of a screen."""
    from tui.app import TuiApp

    window = main.app
    assert isinstance(window, TuiApp)
    return window


def choose_capture(main: MainScreen) -> None:
    """Asks what to open: a file, an interface, or a recent capture."""
    from tui.screens.chooser import Choice, Chooser

    choices: list[Choice[Callable[[], object]]] = [
        Choice((("", "a file, in a tab of its own ..."),), partial(open_file, main)),
        Choice((("", "a file, merged into this timeline ..."),), partial(merge_file, main)),
        Choice((("", "an interface: capture there ..."),), partial(open_interface, main)),
    ]
    for entry in list_entries(main.saved_state):
        name = ", ".join(map(shorten_path, entry.paths))
        line = (("", safe_text(name)), ("dim", f"  {safe_text(entry.summary)}" if entry.summary else ""))
        choices.append(Choice(line, partial(open_paths, main, entry.paths)))

    def make_typed(text: str) -> Choice[Callable[[], object]]:
        return Choice((("", f"open {safe_text(text)}"),), partial(_open_typed, main, text))

    main.open_dialog(Chooser(main.palette, "open", choices, otherwise=make_typed), lambda act: act())


def _open_typed(main: MainScreen, text: str) -> None:
    """Opens the files or the interface of a name that was typed in the list of what can be opened."""
    from socket import if_nameindex

    if text in (name for _, name in if_nameindex()):
        _ask_capture_filter(main, text)
    else:
        _open(main, lambda: _read_names(main, text))


def open_file(main: MainScreen) -> None:
    """Asks for a file and opens it in a tab of its own."""
    _ask_file(main, "open", lambda text: _read_names(main, text), partial(_show_session, main))


def merge_file(main: MainScreen) -> None:
    """Asks for a file and reads it together with the files of this capture, as one timeline."""
    from tui.commands.capturing import confirm_loss

    if not list_paths(main.session):
        main.show_message("only files can be merged: save the packets to a file first", "bar-warning")
        return

    def ask() -> None:
        paths = list_paths(main.session)
        _ask_file(main, "merge", lambda text: _read_names(main, text, paths), partial(_replace_session, main))

    confirm_loss(main, "y", "merge", ask)  # comments: the packets of the merged timeline have other numbers


def _ask_file(main: MainScreen, what: str, read: Callable[[str], Session], then: Callable[[Session], object]) -> None:
    from tui.screens.file_lines import OpenDialog
    from tui.screens.input_line import LineQuestion

    recent = [shorten_path(path) for entry in list_entries(main.saved_state) for path in entry.paths]
    main.open_dialog(OpenDialog(main.palette, LineQuestion(what, HINT, "", read), recent), then)


def _read_names(main: MainScreen, text: str, before: tuple[str, ...] = ()) -> Session:
    """Returns a session of the files that a text means, behind others. Raises UserError."""
    from tui.screens.file_lines import list_files

    return main.session.reopen_with_rules(inputs=[*before, *(path for path in list_files(text) if path not in before)])


def open_paths(main: MainScreen, paths: tuple[str, ...]) -> None:
    """Opens files in a tab of their own, or says why that is impossible."""
    _open(main, lambda: main.session.reopen_with_rules(inputs=paths))


def _open(main: MainScreen, read: Callable[[], Session]) -> None:
    try:
        session = read()
    except UserError as error:
        main.show_message(str(error), "bar-error")
    else:
        _show_session(main, session)


def _show_session(main: MainScreen, session: Session) -> None:
    window = get_window(main)
    already = next((each for each in window.captures if list_paths(each.session) == list_paths(session)), None)
    if already is not None:
        session.close()
        window.show_capture(already)
    else:
        window.open_capture(session, make_title(list_paths(session)))


def _replace_session(main: MainScreen, session: Session) -> None:
    main.remember()
    fresh = get_window(main).replace_main_screen(session, title=make_title(list_paths(session)))
    fresh.call_after_refresh(fresh.show_message, f"{len(list_paths(session))} files are one timeline")


def make_title(paths: tuple[str, ...]) -> str:
    """Returns the title of some files, for people."""
    return ", ".join(os.path.basename(path) for path in paths)


def open_interface(main: MainScreen) -> None:
    """Asks for an interface, and for a capture filter, and captures there in a tab of its own."""
    from analyzer.live.interfaces import check_permission, list_interfaces, may_capture  # brings scapy
    from analyzer.live.launcher import can_use_dumpcap
    from tui.screens.chooser import Choice, Chooser

    dumpcap = not may_capture() and can_use_dumpcap()
    choices = []
    for each in list_interfaces():
        may = check_permission(each, dumpcap)
        why = f": {may.reason}" if may.reason else ""
        line = (("", safe_text(each.name)), ("dim", f"  {each.state}, {', '.join(each.addresses)}"))
        choices.append(Choice(line, each.name, f"{may.how}{why}"))
    main.open_dialog(Chooser(main.palette, "capture on", choices), partial(_ask_capture_filter, main))


def _ask_capture_filter(main: MainScreen, name: str) -> None:
    from tui.screens.input_line import LineDialog, LineQuestion

    question = LineQuestion(f"capture on {name}", FILTER_HINT, "", str.strip)
    main.open_dialog(LineDialog(main.palette, question), partial(_begin_capture, main, name))


def _begin_capture(main: MainScreen, name: str, expression: str) -> None:
    """Begins to capture, in the worker thread, and shows what comes."""
    main.show_message(f"beginning to capture on {name} ...")

    def work() -> LiveSession | str:
        from analyzer.live.capture import LiveCapture
        from analyzer.live.capture_request import CaptureRequest
        from analyzer.live.live_session import LiveSession
        from analyzer.messages.decode_as import merge_rules

        try:
            capture = LiveCapture(CaptureRequest(interfaces=(name,), filter=expression))
        except UserError as error:
            return str(error)
        try:
            return LiveSession(capture, None, decode_as=merge_rules(main.config.ports.items()), memory=LIVE_MEMORY)
        except UserError as error:
            capture.close()
            return str(error)

    def show(begun: LiveSession | str) -> None:
        if isinstance(begun, str):
            _show_refusal(main, name, begun)
        else:
            get_window(main).open_capture(begun.session, begun.title, begun)

    main.background.submit("capture", work, show)


def _show_refusal(main: MainScreen, name: str, reason: str) -> None:
    """Says why nothing is captured, in a dialog: the reason has ways out, and the status line would cut them."""
    from tui.screens.chooser import Choice, Chooser

    main.show_message(f"nothing is captured on {name}", "bar-error")
    choices = [Choice((("", reason),), None)]
    main.open_dialog(Chooser(main.palette, f"nothing is captured on {name}", choices), lambda _: None)


def show_next(main: MainScreen) -> None:
    """Shows the next open capture."""
    _turn(main, 1)


def show_previous(main: MainScreen) -> None:
    """Shows the previous open capture."""
    _turn(main, -1)


def _turn(main: MainScreen, by: int) -> None:
    window = get_window(main)
    if len(window.captures) == 1:
        main.show_message("this is the only open capture: Ctrl+O opens another one", "bar-warning")
    else:
        window.show_capture(window.captures[(window.captures.index(main) + by) % len(window.captures)])


def close_capture(main: MainScreen) -> None:
    """Closes this capture and frees its memory; asks first if packets would be lost."""
    from tui.commands.capturing import confirm_loss

    window = get_window(main)
    if len(window.captures) == 1:
        main.show_message("this is the only open capture: q quits", "bar-warning")
    else:
        confirm_loss(main, "Q", "close it", lambda: window.close_capture(main))


def restore_rows(main: MainScreen) -> None:
    """Restores marks, place and order when the capture has been read, and says what is as it was left."""
    entry = main.opened.entry
    if entry is None:
        return
    listed, rows = main.timeline, main.timeline.timeline.rows
    listed.row_lines.marks.marked.update(row for row in entry.marked if row < rows)
    listed.ignored.update(row for row in entry.ignored if row < rows)
    listed.invalidate()
    if entry.row is not None and entry.row < rows and listed.cursor <= 1:
        if listed.timeline.is_shown(entry.row):
            main.view.select_row(entry.row)
        elif not listed.is_settled:
            listed.target = listed.find_place(entry.row)  # the filter has not been asked about it yet
    if entry.order:
        restore_order(main, entry.order)
    if entry.summary:
        main.bars.show_for_seconds(f"as you left it: {safe_text(entry.summary)}")
