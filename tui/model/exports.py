"""The choices of the save dialog: which rows, in which form, under which name. analyzer.export writes the files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.export.forms import FORMS, LINES, ExportRequest, check
from analyzer.processes import libc
from analyzer.render import extras
from analyzer.session import Session

FORM_NAMES = (*LINES, "parquet", "pcapng", "raw", "objects")
WHILE_READING = frozenset((*LINES, "raw"))
"""Forms that are possible while the capture is still being read."""

LINES_AT_ONCE, BODIES_AT_ONCE = 20_000, 2_000
"""Rows between two checks whether the export was cancelled."""

SUFFIXES: Mapping[str, str] = {"raw": ".bin", "objects": "", "parquet": ""}


class ExportChoice(NamedTuple):
    """Rows that can be saved.

    title: for people. rows: ascending. name: the begin of the file's name.
    """

    title: str
    rows: Ints
    name: str


def list_choices(
    shown: Ints, marked: Collection[int], ignored: Collection[int], row: int | None, mine: Ints
) -> list[ExportChoice]:
    """Returns the sets of rows to save: visible, marked, the selected message, and its stream (`mine`).

    Ignored rows are left out, except the selected message.
    """
    left_out = np.fromiter(ignored, np.int64, len(ignored))
    some = np.sort(np.fromiter(marked, np.int64, len(marked)))
    found = [ExportChoice("the messages that are shown", np.setdiff1d(shown, left_out, assume_unique=True), "messages")]
    if len(some):
        found.append(ExportChoice("the marked messages", np.setdiff1d(some, left_out), "marked"))
    if row is not None:
        found.append(ExportChoice(f"message {row + 1}", np.array([row]), f"message-{row + 1}"))
    if len(mine):
        found.append(ExportChoice("all messages of this stream", np.setdiff1d(mine, left_out), "stream"))
    return [each for each in found if len(each.rows)]


def list_forms(session: Session, *, reading: bool) -> list[str]:
    """Returns the forms that are possible now."""
    return [
        name
        for name in FORM_NAMES
        if (name in WHILE_READING or not reading)
        and (name != "parquet" or extras.is_installed("parquet"))
        and (name != "pcapng" or session.packets.reader == "native")
    ]


def suggest_name(what: ExportChoice, form: str) -> str:
    """Suggests a name that does not exist."""
    return find_unused_name(what.name, SUFFIXES.get(form, f".{form}"))


def find_form(name: str, forms: Iterable[str]) -> str | None:
    """Returns the one of some forms that the ending of a name means; None if it means none of them."""
    ending = os.path.splitext(name.strip())[1].lower()
    return next((form for form in forms if ending in FORMS[form].suffixes), None)


def list_endings(forms: Iterable[str]) -> str:
    """Lists the ending of a name for each of some forms."""
    return " ".join(FORMS[form].suffixes[0] for form in forms if FORMS[form].suffixes)


def find_unused_name(stem: str, suffix: str) -> str:
    """Returns a name in the current folder that does not exist, with a number if needed."""
    for number in range(1, 1000):
        name = f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
        if not os.path.lexists(name):
            return name
    return f"{stem}{suffix}"


def make_request(name: str, form: str, limits: Limits, watch: Callable[[int | None], None]) -> ExportRequest:
    """Makes the request of an export that replaces no existing file. Raises UserError for an unusable name."""
    path = os.path.expanduser(name.strip())
    if path == "-" or "\0" in path:
        raise UserError("Give a file, or for tables and objects a folder.")
    together = LINES_AT_ONCE if form in LINES else BODIES_AT_ONCE
    return ExportRequest(out=path, form=form, force=False, limits=limits, watch=watch, together=together)


def is_existing(wanted: ExportRequest) -> bool:
    """Returns whether a file exists that may be replaced. Raises UserError if nothing can be written there."""
    try:
        check(wanted)
    except UserError:
        if not os.path.lexists(wanted.out):
            raise
        check(replace_existing(wanted))
        return True
    return False


def replace_existing(wanted: ExportRequest) -> ExportRequest:
    """Returns the same request, which replaces an existing file."""
    return replace(wanted, force=True)


def write_export(wanted: ExportRequest, session: Session, rows: Ints) -> str:
    """Writes the rows; returns what was written. Raises UserError, and what `watch` raises."""
    try:
        return FORMS[wanted.form].write(wanted, session, rows)
    finally:
        libc.give_back()
