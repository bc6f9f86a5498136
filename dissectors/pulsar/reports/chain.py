"""What is remembered of one client that looks for a topic."""

from __future__ import annotations

from dissectors.old_report import MessageEvent, ReportRow
from dissectors.slotted import field, slotted

MOST_NAMED = 32
"""Messages and brokers that a line names."""

PARTITIONS, LOOKING, REDIRECTED, FOUND, MAKING = "partitions", "looking", "redirected", "found", "making"
"""How it stands: partitions are known, an answer is awaited, go elsewhere, the broker is known, something is made."""


@slotted(frozen=False, eq=False)
class Chain:
    """A way to a topic.

    result: how it ended, None while it goes on. since, step: when the request was sent that waits for its answer, and
    its name. brokers: URLs that lookups gave, in order; again: how often one of them came a second time. server: the
    address that the last message went to; proxied: the broker that a proxy was asked to pass it to.
    """

    topic: str
    client: str
    first: int
    last: int
    state: str = LOOKING
    stream: int = -1
    server: str = ""
    result: str | None = None
    error: str | None = None
    partitions: int | None = None
    brokers: list[str] = field(default_factory=list)
    again: int = 0
    redirects: int = 0
    proxied: str | None = None
    steps: int = 0
    since: int | None = None
    step: str = ""
    slowest: str | None = None
    longest: int = 0
    rows: list[tuple[str, int]] = field(default_factory=list)

    def ask(self, step: str, state: str, told: MessageEvent, server: str, proxied: str | None) -> None:
        """A request of it."""
        self.step, self.state, self.stream, self.server = step, state, told.stream, server
        self.proxied = proxied or self.proxied
        self.steps += 1
        self.since = told.time
        self.note(step, told)

    def answered(self, told: MessageEvent) -> None:
        """The answer to its latest request."""
        if self.since is not None and told.time - self.since > self.longest:
            self.longest, self.slowest = told.time - self.since, self.step
        self.since = None
        self.note("answer", told)

    def sent_to(self, broker: str | None, state: str) -> None:
        """A lookup names a broker: to ask again, or where the topic is."""
        self.state = state
        self.redirects += state == REDIRECTED
        if broker is not None:
            self.again += state == REDIRECTED and broker in self.brokers
            if len(self.brokers) < MOST_NAMED:
                self.brokers.append(broker)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names a message."""
        self.last = max(self.last, told.time)
        if len(self.rows) < MOST_NAMED:
            self.rows.append((word, told.row))

    def entry(self) -> ReportRow:
        """Its line."""
        result = "unanswered" if self.result is None and self.since is not None else self.result or self.state
        values = (
            self.topic,
            result,
            self.client,
            self.error,
            self.last - self.first,
            self.steps,
            self.slowest,
            self.longest or None,
            self.partitions,
            self.redirects,
            self.again,
            self.brokers,
            self.server,
            self.proxied,
        )
        return ReportRow(values, tuple(self.rows), self.first, self.last)
