"""Defects of dissectors: each costs a message its tree, and is a line there; here is the report of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzer.decode.content import find_dissector, read_header
from analyzer.render.bug_report import finding_report
from dissectors.field import Field

if TYPE_CHECKING:
    from analyzer.session import Session
    from tui.model.detail import MessageDetail, TreeNote
    from tui.screens.main import MainScreen

BUG = "bug"
"""The code of such a finding."""


def show_bug(main: MainScreen) -> None:
    """Offers the report of the selected message's defect."""
    lines = None if main.view.detail is None else make_bug_report(main.session, main.view.detail)
    if lines is None:
        main.show_message("no dissector failed at the selected message", "bar-warning")
    else:
        open_bug_report(main, lines)


def make_bug_report(session: Session, detail: MessageDetail, path: Sequence[Field | TreeNote] = ()) -> list[str] | None:
    """The report for a message; None where no dissector failed at it. path: of a field, which is no defect."""
    finding = next((each for each in detail.tree.findings if each.code == BUG), None)
    if finding is None or (path and isinstance(path[-1], Field)):
        return None
    header, dissector = read_header(session, detail.row), find_dissector(session, detail.row)
    version = "" if header.version is None else f" v{header.version}"
    name = "unknown" if dissector is None else dissector.name
    return finding_report(finding, f"{name} {header.operation or header.code}{version} {header.role.name.lower()}")


def open_bug_report(main: MainScreen, lines: Sequence[str]) -> None:
    """Shows a report."""
    from tui.screens.bug import BugScreen

    def handle_answer(going: str | None) -> None:
        if going == "end":
            main.app.exit()

    main.app.push_screen(
        BugScreen(main.palette, lines, "It cost one message its tree; the others are not lost."), handle_answer
    )
