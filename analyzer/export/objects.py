"""What chosen messages carry, each in a file: keys and values of records, bodies, payloads, data of nodes.

Theory. A dissector says what that is and what it is called (dissectors.payload), from decoded values in which ids of
topics have names, where the capture tells them. What is a secret is left out unless it was asked for.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from analyzer import defects
from analyzer.columns import Ints
from analyzer.export.folder import Folder
from analyzer.naming import Naming
from analyzer.rows import Rows, chunks
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector, Role
from dissectors.payload import Payload, Values
from dissectors.wire.bulk import NULL
from dissectors.wire.cut import Cut, length_of
from dissectors.wire.inner import content
from dissectors.wire.secret import Secret


class Kept(NamedTuple):
    """What was left out; items: of lists that are too long to be read whole (dissectors.wire.cut)."""

    secrets: int
    items: int = 0


def write(
    session: Analysis, rows: Ints, folder: Folder, *, show_secrets: bool = False, naming: Naming | None = None
) -> Kept:
    """Writes a file for each. The session was read to its end. Raises UserError. naming: as it learned already."""
    naming, reader, secrets, items = naming or Naming(session), Rows(session), 0, 0
    for part in chunks(session, rows):
        about = reader.objects(("number", "id", "protocol", "operation"), part)
        for row, found, (dissector, message, context) in zip(part.tolist(), about, session.readable(part), strict=True):
            if dissector is None:
                continue
            body = defects.values(dissector, message, context)
            items += sum(length_of(each) - len(each) for each in body.values.values() if isinstance(each, Cut))
            for each in payloads_of(session, naming, row, dissector, body, context):
                data = _opened(each.value, show_secrets)
                if data is None:
                    secrets += 1
                    continue
                told = {**found, "field": field_path(each), "kind": each.kind, "name": list(each.name)}
                folder.add("-".join(each.name), each.kind, data, told, (row, each.place[:-1]))
    return Kept(secrets, items)


def payloads_of(
    session: Analysis, naming: Naming, row: int, dissector: Dissector, body: Body, context: Context
) -> tuple[Payload, ...]:
    """What the dissector says of a row, with names for the ids of topics; nothing where it fails."""

    def asked() -> Values | None:
        partner = session.rows.cell("partner", row)
        return session.body(partner).values if partner != NULL and context.role is Role.RESPONSE else None

    named = naming.named(dissector, body, context, row)
    return defects.told(partial(dissector.payloads, named.values, asked))


def _opened(value: object, show_secrets: bool) -> bytes | None:
    """The bytes; None for a secret that is to stay one."""
    data = content(value)
    if isinstance(data, Secret):
        data = content(data.reveal()) if show_secrets else None
    return data if isinstance(data, bytes) else None


def field_path(payload: Payload) -> str:
    """`topicData[0].partitionData[1].records[0].records[17].value`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in payload.place).removeprefix(".")
