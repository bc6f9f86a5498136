"""What was cut and sent in several messages, whole: the other messages, found when somebody looks at one of them.

Theory. A message with a portion is decoded beside those with the others (analyzer.decode.fragments finds them), as many
bytes together as may be decompressed. Only who looks at such a message pays for it. One that completes something is
shown the same while packets come as in the file, for it asks nothing of what comes later.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import find_dissector, read_cell, read_context, read_message
from analyzer.decode.fragments import Before, before, completing, read_portion
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Body
from dissectors.field import Tree
from dissectors.portion import Other, Portion
from dissectors.wire.budget import allowed


def tree(session: Analysis, row: int) -> Tree:
    """A row as decode_tree gives it, and what it completes as a source of its own."""
    found = portion_of(session, row)
    if found is None:
        return decode_tree(session, row)
    return decode_tree(session, row, partial(defects.joined, others=_others(session, row, found)))


def whole(session: Analysis, row: int, mine: Portion, find: Before) -> tuple[Body, list[int]] | None:
    """The values of a row that completes something, with that in its portion's place, and the rows of all portions.

    None where it can't be read.
    """
    dissector = find_dissector(session, row)
    if dissector is None:
        return None
    others = _parts(session, row, find(row, mine))
    body = defects.asked(partial(dissector.whole, read_message(session, row), read_context(session, row), others), None)
    return None if body is None else (body, [*(other.row - 1 for other in others), row])


def portion_of(session: Analysis, row: int) -> Portion | None:
    """The portion that a row carries; None for what is whole."""
    dissector = find_dissector(session, row)
    if dissector is None or read_cell(session, "code", row) not in defects.told(dissector.portioned):
        return None
    return read_portion(session, dissector, row)


def _others(session: Analysis, row: int, mine: Portion) -> list[Other]:
    """The messages that Dissector.joined is to get beside a row."""
    if mine.completes:
        return _parts(session, row, before(session, row, mine))
    last = completing(session, row, mine)
    return [] if last is None else [Other(last.row + 1, last.portion.number, None)]


def _parts(session: Analysis, row: int, found: Mapping[int, int]) -> list[Other]:
    """Messages with portions of the same, by whose numbers their rows are given, beside the one that completes it."""
    lengths = session.rows.column("length")
    held = int(lengths[row]) + sum(int(lengths[each]) for each in found.values())
    return [
        Other(each + 1, number, read_message(session, each) if held <= allowed() else None)
        for number, each in sorted(found.items(), key=lambda item: item[1])
    ]
