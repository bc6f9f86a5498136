"""Commands that the other side need not know.

Facts (PulsarApi.proto, ProtocolVersion and FeatureFlags; Commands.newConnected). The client names the version of the
protocol that it speaks, and the broker answers with the smaller of that and its own; both say which features they have.
tables/guide.json has the commands of which the proto says since which version they are sent, tables/checks.json those
that want a feature.
A broker asks only a client for fresh credentials that can refresh them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.pulsar.checks.saying import MOST, Wanted, named, of, said
from dissectors.pulsar.commands import BROKER, commands
from dissectors.pulsar.reports.fields import codes
from dissectors.pulsar.tables import table
from dissectors.slotted import field, slotted
from dissectors.values import number, struct

_SINCE: Mapping[str, int] = table("guide")["since"]
_FEATURES: Mapping[str, str] = table("checks")["features"]


def _wanted() -> Wanted:
    names = {*_SINCE, *_FEATURES}
    return frozenset((codes()[name], role) for name in names for role in (Role.REQUEST, Role.ONEWAY, Role.PUSH))


@slotted(frozen=False, eq=False)
class _Agreement:
    """agreed: the version; client, broker: their features; told: commands that were named."""

    agreed: int
    client: Mapping[str, Any]
    broker: Mapping[str, Any]
    told: set[str] = field(default_factory=set)


class Versions(Check):
    """See the module."""

    wants = _wanted() | of(Role.REQUEST, ["CONNECT"]) | of(Role.RESPONSE, ["CONNECTED"])
    paths = frozenset(
        {("protocol_version",), ("request_id",)} | {("feature_flags", flag) for flag in sorted(_FEATURES.values())}
    )

    def __init__(self) -> None:
        """Nobody has agreed."""
        self._connections: OrderedDict[int, _Agreement] = OrderedDict()

    def see(self, seen: Seen) -> Iterator[Finding]:
        """Each command once for a connection."""
        name = named(seen.context.code)
        if name == "CONNECTED":
            self._agree(seen)
            return
        known = self._connections.get(seen.stream)
        if known is None or name in known.told:
            return
        since = _SINCE.get(name, 0)
        if known.agreed < since:
            known.told.add(name)
            yield said("newer", command=name, since=since, agreed=known.agreed)
            return
        flag = _FEATURES.get(name)
        code = seen.context.code
        receiver = known.client if code is not None and commands()[code].sender == BROKER else known.broker
        if flag is not None and receiver.get(flag) is not True:
            known.told.add(name)
            yield said("unasked", command=name, flag=flag)

    def kept(self, seen: Seen) -> object:
        """What the client says of itself."""
        if named(seen.context.code) != "CONNECT":
            return None
        return number(seen.values, "protocol_version"), struct(seen.values, "feature_flags")

    def _agree(self, seen: Seen) -> None:
        if not isinstance(seen.request, tuple):
            return
        version, flags = seen.request
        agreed = min(version, number(seen.values, "protocol_version"))
        self._connections[seen.stream] = _Agreement(agreed, flags, struct(seen.values, "feature_flags"))
        if len(self._connections) > MOST:
            self._connections.popitem(last=False)
