"""Topics that clients ask for in vain, routes that a name server forgets, and brokers that it does not take.

Facts (MQClientInstance, RouteInfoManager, TopicConfigManager). A client asks for the routes of its topics every 30 s
(pollNameServerInterval). A consumer asks for %RETRY%group too, which is made with the first heartbeat of the group, and
a client that finds no route asks for TBW102, the topic whose settings a broker takes for topics that it makes. Brokers
ask for rmq_sys_SYNC_BROKER_MEMBER_name, which is there when one has registered with an acting master. A name server
drops a broker that has not registered for heartbeatTimeoutMillis, two minutes by default, and its routes with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Role
from dissectors.check import Check, Seen
from dissectors.finding import Finding
from dissectors.rocketmq.checks.saying import REMARK, SECOND, Counted, Made, in_header, named, of, said
from dissectors.rocketmq.reports.fields import header
from dissectors.values import text

TOPIC_NOT_EXIST, NOT_SUPPORTED = 17, 3
WINDOW = 600 * SECOND
"""Nanoseconds within which it counts: a client that waits for its topic asks twenty times in it."""

TIMES = 5
"""How often a topic is asked for in vain before that is said, and again at each doubling."""

_ORDINARY = ("%RETRY%", "%DLQ%", "rmq_sys_", "TBW102")
"""Topics that are asked for whether or not they are there."""

_SERVERS = 64
"""Name servers that are told apart for a topic."""

_ASK, _REGISTER, _UNREGISTER = "GET_ROUTEINFO_BY_TOPIC", "REGISTER_BROKER", "UNREGISTER_BROKER"
_DELETE = ("DELETE_TOPIC_IN_NAMESRV", "DELETE_TOPIC_IN_BROKER")


class Routes(Check):
    """See the module."""

    wants = (
        of(Role.REQUEST, [_ASK, _REGISTER, _UNREGISTER, *_DELETE])
        | of(Role.RESPONSE, [_ASK, _REGISTER])
        | of(Role.ONEWAY, [_UNREGISTER])
    )
    paths = in_header("topic", "brokerName", "brokerAddr") | {REMARK}

    def __init__(self) -> None:
        """Nobody asked."""
        self._missing: Made[tuple[str, str, str], Counted] = Made(Counted)
        self._known: Made[str, dict[str, int]] = Made(dict)
        """By topic which name servers gave a route, and when they did last."""
        self._left: Made[str, list[int]] = Made(list)
        """By name server when a broker took its leave of it last."""

    def see(self, seen: Seen) -> Iterator[Finding]:
        """An answer, or what explains the next ones."""
        name = named(seen.context.code)
        if seen.context.role is Role.RESPONSE:
            if isinstance(seen.request, str):
                yield from (self._routed if name == _ASK else self._registered)(seen.request, seen)
        elif name in _DELETE:
            self._known.take(text(header(seen.values), "topic") or "")
        elif name == _UNREGISTER:
            self._left.of(seen.server)[:] = [seen.time]

    def kept(self, seen: Seen) -> object:
        """What was asked for."""
        said_in = header(seen.values)
        if named(seen.context.code) == _ASK:
            return text(said_in, "topic")
        return f"{text(said_in, 'brokerName') or 'a broker'} at {text(said_in, 'brokerAddr') or seen.client}"

    def _routed(self, topic: str, seen: Seen) -> Iterator[Finding]:
        asked, known = (seen.client, seen.server, topic), self._known.of(topic)
        if seen.error is None:
            self._missing.take(asked)
            if len(known) < _SERVERS or seen.server in known:
                known[seen.server] = seen.time
        elif seen.error[0] == TOPIC_NOT_EXIST and not topic.startswith(_ORDINARY):
            count = self._missing.of(asked)
            if count.add(seen.time, WINDOW, TIMES):
                took = seen.time - count.first
                yield said("missing", client=seen.client, count=count.count, took=took, topic=topic)
            since, left = known.pop(seen.server, None), self._left.get(seen.server)
            if since is not None and (not left or left[0] < since):
                yield said("forgotten", topic=topic, took=seen.time - since)

    def _registered(self, broker: str, seen: Seen) -> Iterator[Finding]:
        if seen.error is not None and seen.error[0] != NOT_SUPPORTED:  # which is a server that is no name server
            yield said("refused", broker=broker, error=seen.error[1])
