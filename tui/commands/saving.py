"""Commands that save messages or bytes: they ask for rows, form and name, and another thread writes the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.columns.text import safe_text
from analyzer.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyzer.export.forms import ExportRequest
    from tui.model.copies import CopySubject
    from tui.model.exports import ExportChoice
    from tui.screens.main import MainScreen
    from tui.screens.progress import ProgressWatch

HINT = "Enter saves, Esc cancels"


def choose_rows(main: MainScreen) -> None:
    """Opens the dialog of rows to save."""
    from tui.commands import capturing
    from tui.model.exports import list_choices
    from tui.screens.chooser import Choice, Chooser

    if main.filter.in_force is not None and main.filter.in_force.percent is not None:
        main.show_message("the filter is running: save when it has finished, or cancel it with Esc", "bar-warning")
        return
    listed, place = main.timeline.timeline, main.timeline.selected
    mine = np.zeros(0, np.int64)
    if place is not None:
        mine = listed.first + np.flatnonzero(
            main.session.rows.column("stream")[listed.first : listed.rows] == place.stream
        )
    marks = main.timeline.row_lines.marks
    found = list_choices(
        listed.visible_rows, marks.marked, main.timeline.ignored, None if place is None else place.row, mine
    )
    if not found and main.ingest.live is None:
        main.show_message("there is no message to save", "bar-warning")
        return

    def save_choice(what: ExportChoice | None) -> None:
        if what is None:
            capturing.save_packets(main)
        else:
            _choose_form(main, what)

    lines: list[Choice[ExportChoice | None]]
    lines = [Choice((("", each.title),), each, f"{len(each.rows):,}") for each in found]
    if main.ingest.live is not None:
        packets = f"{main.ingest.live.health().captured:,}"
        lines.append(Choice((("", "all packets captured so far (pcapng)"),), None, packets))
    main.open_dialog(Chooser(main.palette, "save", lines), save_choice)


def _choose_form(main: MainScreen, what: ExportChoice) -> None:
    from analyzer.export.forms import FORMS
    from tui.model.exports import list_forms
    from tui.screens.chooser import Choice, Chooser

    names = list_forms(main.session, reading=main.ingest.is_reading)
    lines: list[Choice[str | None]] = [Choice((("name", "as named "), ("", "the ending of the name says it")), None)]
    lines += [Choice((("name", f"{name:<9}"), ("", FORMS[name].about)), name) for name in names]
    title = f"save {what.title} as" + (
        " (more formats when the capture has been read)" if main.ingest.is_reading else ""
    )
    main.open_dialog(Chooser(main.palette, title, lines), lambda form: _ask_name(main, what, form))


def _ask_name(main: MainScreen, what: ExportChoice, form: str | None) -> None:
    """Asks for the name; its ending says the form, unless it means none. form: None if nothing else says it."""
    from analyzer.export.forms import FORMS, warning
    from tui.model import exports
    from tui.screens.input_line import LineDialog, LineQuestion

    possible = exports.list_forms(main.session, reading=main.ingest.is_reading)

    def unheard(done: int | None) -> None:
        """Reports nothing: the request is only checked."""

    def check_request(name: str) -> ExportRequest:
        named = exports.find_form(name, possible) or form
        if named is None:
            raise UserError(f"The ending says the format: write one of {exports.list_endings(possible)}")
        wanted = exports.make_request(name, named, main.limits, unheard)
        exports.is_existing(wanted)
        return wanted

    def go_on(wanted: ExportRequest) -> None:
        warned = None if wanted.form == form else warning(FORMS[wanted.form])
        if warned is None:
            _unless_there(main, wanted, what)
        else:
            _ask(
                main, warned, "save it", lambda: _unless_there(main, wanted, what), lambda: _ask_name(main, what, form)
            )

    warned = None if form is None else warning(FORMS[form])
    endings = exports.list_endings(possible) if form is None else warned
    hint = HINT if endings is None else f"{endings}. {HINT}"
    name = "the folder" if form is not None and FORMS[form].folder else "the file"
    question = LineQuestion(name, hint, exports.suggest_name(what, form or possible[0]), check_request)
    main.open_dialog(LineDialog(main.palette, question), go_on)


def _unless_there(main: MainScreen, wanted: ExportRequest, what: ExportChoice) -> None:
    """Asks before an existing file is replaced."""
    from tui.model import exports

    try:
        there = exports.is_existing(wanted)
    except UserError as error:
        main.show_message(str(error), "bar-warning")
        return

    def save() -> None:
        _save(main, exports.replace_existing(wanted) if there else wanted, what)

    if not there:
        save()
    else:
        _ask_whether(main, wanted.out, save, lambda: _ask_name(main, what, wanted.form))


def _ask_whether(main: MainScreen, path: str, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Asks whether a file may be replaced."""
    _ask(main, f"{safe_text(path, 60)} already exists", "replace it", yes, no)


def _ask(main: MainScreen, title: str, consent: str, yes: Callable[[], None], no: Callable[[], None]) -> None:
    """Asks whether to go on, or to give another name."""
    from tui.screens.chooser import Choice, Chooser

    lines = [Choice((("", "another name"),), no), Choice((("warning", consent),), yes)]
    main.open_dialog(Chooser(main.palette, title, lines), lambda act: act())


def _save(main: MainScreen, wanted: ExportRequest, what: ExportChoice) -> None:
    from dataclasses import replace

    from tui.model import exports
    from tui.screens.progress import ProgressDialog

    session, rows = main.session, what.rows

    def work(watch: ProgressWatch) -> str:
        message = exports.write_export(replace(wanted, watch=watch.report), session, rows)
        return f"{message} written to {wanted.out}"

    title = f"saving {what.title} as {wanted.form}"
    main.app.push_screen(ProgressDialog(main.palette, title, len(rows), work), lambda end: _say_end(main, end))


def _say_end(main: MainScreen, end: tuple[str, bool] | None) -> None:
    if end is not None:
        text, bad = end
        main.show_message(text, "bar-warning" if bad else "bar")


def save_selected_field(main: MainScreen) -> None:
    """Saves the bytes of the selected field."""
    from tui.commands.copying import find_subject

    subject = find_subject(main, field=True)
    if subject is not None and subject.path:
        save_field(main, subject)
    elif subject is not None:
        main.show_message("no field is selected", "bar-warning")


def save_field(main: MainScreen, subject: CopySubject) -> None:
    """Asks for a name and saves the bytes of a field; refuses if some of them are masked."""
    from analyzer.capture.output import check_file
    from analyzer.export.forms import write_bytes
    from tui.screens.input_line import LineDialog, LineQuestion

    node = subject.path[-1]
    source = next(each.data for each in subject.detail.tree.sources if each.id == node.source)
    begin, end = node.offset + node.head, node.offset + node.length
    masks = () if main.limits.show_secrets else subject.detail.masks.get(node.source, ())
    if subject.hides or any(first < end and begin < last for first, last in masks):
        main.show_message("these bytes contain a secret: start with --show-secrets to save them", "bar-warning")
        return
    data = source[begin:end]

    def check_path(name: str) -> tuple[str, bool]:
        import os

        path = os.path.expanduser(name.strip())
        there = os.path.isfile(path)
        check_file(path, force=there)
        return path, there

    def write(path: str, *, force: bool) -> None:
        def work() -> str:
            try:
                write_bytes(data, path, force=force)
            except UserError as error:
                return str(error)
            return f"{len(data):,} bytes written to {path}"

        main.background.submit("save", work, main.show_message)

    def write_answer(answer: tuple[str, bool]) -> None:
        path, there = answer
        if there:
            _ask_whether(main, path, lambda: write(path, force=True), lambda: save_field(main, subject))
        else:
            write(path, force=False)

    hint = f"{len(data):,} bytes of {safe_text(node.spec.name, 40)}. {HINT}"
    main.open_dialog(LineDialog(main.palette, LineQuestion("the file", hint, "field.bin", check_path)), write_answer)
