"""What is remembered of one transaction."""

from __future__ import annotations

from dissectors.old_report import MessageEvent, ReportRow
from dissectors.pulsar.reports.asked import text
from dissectors.slotted import field, slotted

MOST_NAMED = 32
"""Topics, subscriptions and messages that a line names."""

OPEN, OVERDUE, COMMITTED, ABORTED = "open", "overdue", "committed", "aborted"
CONFLICT, EXPIRED, FAILED, ENDING = "conflict", "timed out", "failed", "ending"

_MS = 1_000_000
_DONE = {"COMMIT": COMMITTED, "ABORT": ABORTED}
_UNKNOWN = frozenset({"TransactionNotFound", "InvalidTxnStatus"})
"""What a coordinator says of a transaction that it has ended by itself."""


@slotted(frozen=False, eq=False)
class Deal:
    """A transaction. name: as Pulsar prints it; ttl: ns that it may take. asked, made: when.

    topics, subscriptions: those that were added. sends, messages, acks: in it. action: as the client ended it, or else
    the broker; ending, ended: when that was asked for, and answered. by: who ended it. parts: brokers' answers that
    their part is ended, of `told` that were asked.
    """

    name: str
    first: int
    last: int
    client: str | None = None
    coordinator: int | None = None
    ttl: int | None = None
    asked: int | None = None
    made: int | None = None
    topics: dict[str, None] = field(default_factory=dict)
    subscriptions: dict[str, None] = field(default_factory=dict)
    sends: int = 0
    messages: int = 0
    acks: int = 0
    error: str | None = None
    action: str | None = None
    by: str | None = None
    ending: int | None = None
    ended: int | None = None
    told: int = 0
    parts: int = 0
    rows: list[tuple[str, int]] = field(default_factory=list)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names a message."""
        self.last = max(self.last, told.time)
        if len(self.rows) < MOST_NAMED:
            self.rows.append((word, told.row))

    def fail(self, told: MessageEvent) -> bool:
        """Whether an answer reports an error; the first one is kept."""
        error = text(told.values, "error")
        self.error = self.error or error
        return error is not None

    def add(self, known: dict[str, None], name: str | None) -> None:
        """Names a topic or subscription once."""
        if name is not None and len(known) < MOST_NAMED:
            known[name] = None

    def end(self, action: str | None, by: str, time: int) -> None:
        """It is to be ended; the client's word counts before the broker's."""
        if self.by != "client":
            self.action, self.by = action, by
            self.ending = time if self.ending is None or by == "client" else self.ending

    def outcome(self, now: int) -> str:
        """How it stands at a time: what came of it, as far as messages tell."""
        late = self.due is not None and (self.ending or now) >= self.due
        if self.by == "client":
            if self.ended is not None:
                done = _DONE.get(self.action or "", FAILED)
                return CONFLICT if done == ABORTED and self.error == "TransactionConflict" else done
            return EXPIRED if late and self.error in _UNKNOWN else FAILED if self.error else ENDING
        if self.by is not None:
            return EXPIRED if late and self.action == "ABORT" else _DONE.get(self.action or "", ENDING)
        if self.error is not None and self.made is None:
            return FAILED
        return OVERDUE if late else OPEN

    @property
    def due(self) -> int | None:
        """When its time is over."""
        begun = self.made or self.asked
        return None if self.ttl is None or begun is None else begun + self.ttl

    def ask(self, told: MessageEvent, client: str, coordinator: int, ttl: int) -> None:
        """NEW_TXN."""
        self.client, self.coordinator, self.asked = client, coordinator, told.time
        self.ttl = ttl * _MS or None

    def entry(self, now: int) -> ReportRow:
        """Its line, as it stands at a time."""
        begun = self.asked or self.made
        values = (
            self.name or None,
            self.outcome(now),
            self.by,
            self.client,
            self.coordinator,
            self.error,
            (self.ended or self.ending or self.last) - begun if begun is not None else None,
            self.ttl,
            None if self.made is None or self.asked is None else self.made - self.asked,
            None if self.ended is None or self.ending is None else self.ended - self.ending,
            self.sends,
            self.messages,
            self.acks,
            list(self.topics),
            list(self.subscriptions),
            self.told,
            self.parts,
            self.ended,
        )
        return ReportRow(values, tuple(self.rows), self.first, self.last)
