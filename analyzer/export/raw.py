"""Writes chosen messages as bytes, as they were sent: one after the other, or one file each.

A message with lost bytes is written up to the first lost one.
"""

from __future__ import annotations

from analyzer.columns.arrays import Ints
from analyzer.decode.content import read_messages
from analyzer.decode.rows import RowReader, split_rows
from analyzer.export.folder import Folder
from analyzer.render.objects import Out
from analyzer.session import Analysis

KEYS = ("number", "id", "protocol", "operation", "role")


def write(session: Analysis, rows: Ints, output: Out) -> None:
    """Writes the bytes of all messages to one file, in the order of rows. Raises UserError."""
    for part in split_rows(session, rows):
        output.writelines(read_messages(session, part))


def write_each(session: Analysis, rows: Ints, folder: Folder) -> None:
    """Writes one file for each message, such as `000123-Fetch-response.bin`. Raises UserError."""
    for part in split_rows(session, rows):
        for (number, key, protocol, operation, role), message in zip(
            zip(*RowReader(session).read_columns(KEYS, part), strict=True), read_messages(session, part), strict=True
        ):
            folder.add(f"{number:06}-{operation or protocol}-{role}", "bin", message, {"number": number, "id": key})
