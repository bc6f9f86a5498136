"""Clients that nearly lose their session, and connections that end without a word.

Facts (ClientCnxn). A client that has nothing to say sends a ping after a third of the session's timeout, and gives the
connection up if two thirds of it bring no answer; the server closes the session where it hears nothing for all of it.
Who is done says closeSession; a connection that ends without is lost, and its session stays until it expires or comes
back, maybe on another server: then the old connection is closed on purpose.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Closed, Seen
from dissectors.finding import Finding, Severity
from dissectors.slotted import slotted
from dissectors.wire.times import lasting
from dissectors.zookeeper.labels import names, numbers
from dissectors.zookeeper.labels import session as session_name

MOST = 100_000
"""Connections, and sessions, that are remembered."""

_MS = 1_000_000
_CLOSE, _PING = (numbers("operation")[name] for name in ("closeSession", "ping"))


@slotted(frozen=False, eq=False)
class _Connection:
    """heard: when its client last said something, losses: how often bytes were missing up to then.

    timeout (ns) and session: as negotiated; closing: it says goodbye.
    """

    heard: int
    timeout: int = 0
    session: int = 0
    closing: bool = False
    losses: int = 0


class Clients(Check):
    """See the module."""

    wants = frozenset(
        {(None, Role.REQUEST), (None, Role.RESPONSE), (_PING, Role.RESPONSE)}
        | {(code, Role.REQUEST) for code in names("operation")}
    )
    paths = frozenset({("timeOut",), ("sessionId",)})

    def __init__(self) -> None:
        """Nothing seen."""
        self._connections: OrderedDict[int, _Connection] = OrderedDict()
        self._latest: OrderedDict[int, tuple[int, int, str]] = OrderedDict()
        """By session when it was last given, on which connection, by which server."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """A silence that was long, and a ping that was answered late."""
        if seen.context.role is Role.RESPONSE:
            yield from self._answer(seen)
            return
        known = self._connections.get(seen.stream)
        if known is None:
            known = self._connections[seen.stream] = _Connection(seen.time)
            if len(self._connections) > MOST:
                self._connections.popitem(last=False)
        silent = seen.time - known.heard
        whole = known.losses == seen.losses  # what the client said meanwhile may be among the bytes that are missing
        if whole and known.timeout and 3 * silent > 2 * known.timeout:
            text = (
                f"the client was silent for {lasting(silent)}, and its session expires after {lasting(known.timeout)}"
            )
            yield Finding(Severity.WARNING, "late-ping", text)
        known.heard, known.losses = seen.time, seen.losses
        known.closing |= seen.context.code == _CLOSE

    def kept(self, seen: Seen) -> object:
        """When a connect or a ping was sent."""
        return seen.time if seen.context.code in (None, _PING) else None

    def closed(self, closed: Closed) -> Iterator[Finding]:
        """A session that was not closed."""
        known = self._connections.pop(closed.stream, None)
        if known is None or known.closing or not known.session:
            return
        name = session_name(known.session)
        by = f"{closed.client}, its client," if closed.by_client else f"the server, {closed.server},"
        since = f"{lasting(closed.time - known.heard)} after the client's last message"
        said = f"session {name}: {by} ended the connection without closeSession, {since}"
        given, stream, server = self._latest.get(known.session, (0, closed.stream, ""))
        if stream == closed.stream:
            yield Finding(Severity.WARNING, "connection-lost", said)
        elif given > closed.time:
            yield Finding(
                Severity.WARNING, "connection-lost", f"{said}; {server} took it on {lasting(given - closed.time)} later"
            )
        else:
            yield Finding(Severity.NOTE, "connection-lost", f"{said}; {server} had taken it on before")

    def _answer(self, seen: Seen) -> Iterator[Finding]:
        known = self._connections.get(seen.stream)
        if known is None or not isinstance(seen.request, int):
            return
        timeout, session = seen.values.get("timeOut"), seen.values.get("sessionId")
        if seen.context.code == _PING:
            took = seen.time - seen.request
            if known.timeout and 3 * took > known.timeout:
                timeout = lasting(known.timeout)
                text = f"the ping was answered after {lasting(took)}; the session expires after {timeout}"
                yield Finding(Severity.WARNING, "late-ping", text)
        elif isinstance(timeout, int) and isinstance(session, int):
            known.timeout, known.session = timeout * _MS, session
            if session:
                self._latest[session] = seen.time, seen.stream, seen.server
                if len(self._latest) > MOST:
                    self._latest.popitem(last=False)
