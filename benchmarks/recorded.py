"""Exchanges of recorded captures: the material that benchmark captures are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from analyzer.decode.bodies import decode_body
from analyzer.decode.content import find_dissector, read_cell, read_header, read_message
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from dissectors.api import Role, State

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"


class Exchange(NamedTuple):
    """A request and its answer; of what nobody answers, only the one message. `from_client`: who begins."""

    operation: str
    from_client: bool
    messages: tuple[bytes, ...]

    @property
    def request(self) -> bytes:
        """The first message."""
        return self.messages[0]

    @property
    def response(self) -> bytes:
        """The second."""
        return self.messages[1]


@cache
def exchanges(folder: str, name: str, protocol: str | None = None) -> Sequence[Exchange]:
    """All whole exchanges of tests/golden/FOLDER/NAME.pcap.zst in which our own decoder finds nothing amiss.

    protocol: where it is not what the folder is called.
    """
    found, protocol = [], protocol or folder
    with Session([GOLDEN / folder / f"{name}.pcap.zst"]) as session:
        session.load()
        for row in range(len(session.rows)):
            dissector, partner = find_dissector(session, row), read_cell(session, "partner", row)
            role, operation = Role(session.rows.cell("role", row)), read_header(session, row).operation
            if dissector is None or dissector.name != protocol or operation is None or role is Role.RESPONSE:
                continue
            if role is Role.REQUEST and partner is None:
                continue
            rows = [row] if partner is None else [row, partner]
            if all(session.rows.cell("state", each) == State.COMPLETE and sound(session, each) for each in rows):
                from_client = session.rows.cell("side", row) == FROM_CLIENT
                found.append(Exchange(operation, from_client, tuple(read_message(session, each) for each in rows)))
    return found


def sound(session: Session, row: int) -> bool:
    """Whether nothing is to be said of a row: no finding, and, but in ZooKeeper, no error.

    To ask for a node that is not there is daily work of ZooKeeper's clients.
    """
    body, dissector = decode_body(session, row), find_dissector(session, row)
    return not body.findings and (body.error is None or (dissector is not None and dissector.name == "zookeeper"))


def by_operation(pool: Sequence[Exchange]) -> Mapping[str, Sequence[Exchange]]:
    """Exchanges by their request's operation."""
    found: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in pool:
        found[exchange.operation].append(exchange)
    return found
