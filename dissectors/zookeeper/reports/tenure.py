"""What is remembered of one session."""

from __future__ import annotations

from dissectors.slotted import field, slotted

MOST_NAMED = 32
"""Servers, addresses, ephemeral nodes and messages of a session that are named."""

CLOSED, EXPIRED, LOST, REFUSED, OPEN = "closed", "expired", "lost", "refused", "open"


@slotted(frozen=False, eq=False)
class Tenure:
    """A session. connections: how many; stream: the latest of them, heard: when its client last said something there.

    refused: it asked for a session, or to be known, and has not got it. asked, timeout: ms. state: how it stands, or
    ended; over: when, by: who ended it. set, fired: watches; created, nodes: ephemeral nodes, those still there.
    """

    name: str
    first: int
    last: int
    clients: list[str] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)
    connections: int = 0
    stream: int | None = None
    heard: int | None = None
    silence: int = 0
    asked: int | None = None
    timeout: int | None = None
    opened: int | None = None
    state: str = OPEN
    over: int | None = None
    by: str | None = None
    refused: bool = False
    requests: int = 0
    errors: int = 0
    pings: int = 0
    events: int = 0
    set: int = 0
    fired: int = 0
    created: int = 0
    nodes: dict[str, None] = field(default_factory=dict)

    def note(self, word: str, row: int) -> None:
        """Names a message."""
        if len(self.rows) < MOST_NAMED:
            self.rows.append((word, row))

    def end(self, state: str, time: int | None, by: str | None = None) -> None:
        """It is over, or seems so."""
        self.state, self.over, self.by = state, time, by


def add(known: list[str], name: str) -> None:
    """Names one more, once."""
    if name not in known and len(known) < MOST_NAMED:
        known.append(name)
