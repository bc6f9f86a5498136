"""The command that comments on a message: the comment belongs to the packet that completed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.commands.navigation import find_selected_row

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

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
