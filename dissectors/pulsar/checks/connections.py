"""Faults of whole connections: commands that the other side need not know, and keep-alives without an answer.

Facts (PulsarApi.proto, ProtocolVersion and FeatureFlags; Commands.newConnected). The client names its protocol version,
and the broker answers with the smaller of that and its own; both list their features. tables/guide.json has the
commands for which the proto tells a first version, tables/checks.json those that need a feature. A broker asks only
those clients for fresh credentials that can refresh them.

Facts (PulsarHandler). Each side sends a PING when it has received nothing for the keep-alive interval, 30 s by default.
It closes the connection when it has received nothing for another interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import SECOND, BoundedTable, ConnectionEnd, MessageEvent, Moment, for_request
from dissectors.message import Path, Role
from dissectors.pulsar.commands import BROKER, commands
from dissectors.pulsar.reports.fields import PulsarCheck, subscribe_to
from dissectors.pulsar.tables import table
from dissectors.slotted import field, make_slotted
from dissectors.values import number, struct

_SINCE: Mapping[str, int] = table("guide")["since"]
_FEATURES: Mapping[str, str] = table("checks")["features"]
_SENT = (Role.REQUEST, Role.ONEWAY, Role.PUSH)
_FLAGS: list[Path] = [("feature_flags", flag) for flag in sorted(_FEATURES.values())]


@make_slotted(frozen=False, eq=False)
class _VersionAgreement:
    """agreed: the version; client, broker: their features; named: commands that were named."""

    agreed: int
    client: Mapping[str, Any]
    broker: Mapping[str, Any]
    named: set[str] = field(default_factory=set)


class ProtocolVersions(PulsarCheck):
    """Finds commands that the other side need not understand; each is named once for a connection."""

    def _begin(self) -> None:
        self.agreements: BoundedTable[int, _VersionAgreement] = BoundedTable()

    def receive_connect(self, event: MessageEvent) -> None:
        """Notes the protocol version and the feature flags that a client sends in CONNECT."""
        offered = number(event.values, "protocol_version"), struct(event.values, "feature_flags")
        self.receive_command(event)
        self.await_answer(event, offered)

    def receive_connected(self, pending: tuple[int, Mapping[str, Any]], event: MessageEvent) -> None:
        """Notes which version and features both sides agreed on in CONNECTED."""
        version, flags = pending
        agreed = min(version, number(event.values, "protocol_version"))
        self.agreements[event.stream] = _VersionAgreement(agreed, flags, struct(event.values, "feature_flags"))

    def receive_command(self, event: MessageEvent) -> None:
        """Checks a command against the protocol version of the other side."""
        code = event.context.code
        known = self.agreements.get(event.stream)
        if known is None or code is None:
            return
        name, sender = commands()[code].name, commands()[code].sender
        if name in known.named:
            return
        since, flag = _SINCE.get(name, 0), _FEATURES.get(name)
        receiver = known.client if sender == BROKER else known.broker
        if known.agreed < since:
            known.named.add(name)
            self.find("newer", command=name, since=since, agreed=known.agreed)
        elif flag is not None and receiver.get(flag) is not True:
            known.named.add(name)
            self.find("unasked", command=name, flag=flag)

    on = (
        subscribe_to(" ".join(sorted({*_SINCE, *_FEATURES})), receive_command, roles=_SENT)
        | subscribe_to("CONNECT", receive_connect, "protocol_version", *_FLAGS, roles=(Role.REQUEST,))
        | subscribe_to("CONNECTED", for_request(receive_connected), "protocol_version", *_FLAGS, roles=(Role.RESPONSE,))
    )


LATE = 10 * SECOND
"""A third of the interval: an answer is a matter of milliseconds where nothing is wrong."""


class PingAnswers(PulsarCheck):
    """Finds keep-alives that are answered late or never."""

    def _begin(self) -> None:
        self.since: BoundedTable[int, Moment] = BoundedTable()
        """By connection when the first PING was sent of those without an answer."""

    def receive_ping(self, event: MessageEvent) -> None:
        """Notes when the first unanswered PING was sent."""
        if event.stream not in self.since:
            self.since[event.stream] = event.moment
        self.await_answer(event, event.moment)

    def receive_pong(self, pending: Moment, event: MessageEvent) -> None:
        """Reports a PONG that came late."""
        self.since.pop(event.stream)
        took = pending.measure_until(event)
        if took is not None and took > LATE:
            self.find("late", took=took)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Finds a connection that ended because a PING had no answer."""
        waited = self.wait(end)
        if waited > LATE:
            self.find("silent", took=waited, who=end.ender)

    def leave_open(self, end: ConnectionEnd) -> None:
        """Finds a PING without an answer on a connection that is still open."""
        waited = self.wait(end)
        if waited > LATE:
            self.find("waits", took=waited)

    def wait(self, end: ConnectionEnd) -> int:
        """Finds for how many ns a PING has had no answer; 0 without one, or if missing bytes may hold the answer."""
        since = self.since.pop(end.stream)
        return (since and since.measure_until(end)) or 0

    on = subscribe_to("PING", receive_ping, roles=(Role.REQUEST,)) | subscribe_to(
        "PONG", for_request(receive_pong), roles=(Role.RESPONSE,)
    )
