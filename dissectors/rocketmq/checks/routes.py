"""Topics that clients ask for in vain, routes that a name server forgets, and brokers that it does not take.

Facts (MQClientInstance, RouteInfoManager, TopicConfigManager). A client asks for the routes of its topics every 30 s
(pollNameServerInterval). A consumer asks for %RETRY%group too, which is made with the first heartbeat of the group, and
a client that finds no route asks for TBW102, the topic whose settings a broker takes for topics that it makes. Brokers
ask for rmq_sys_SYNC_BROKER_MEMBER_name, which is there when one has registered with an acting master. A name server
drops a broker that has not registered for heartbeatTimeoutMillis, two minutes by default, and its routes with it.
"""

from __future__ import annotations

from dissectors.correlator import SECOND, BoundedTable, MessageEvent, Repeats, WindowTable, for_request
from dissectors.message import Role
from dissectors.rocketmq.checks.sentences import RocketmqCheck
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, read_header, subscribe_to
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
_DELETE = "DELETE_TOPIC_IN_NAMESRV DELETE_TOPIC_IN_BROKER"


class MissingRoutes(RocketmqCheck):
    """See the module."""

    def _begin(self) -> None:
        self.missing: WindowTable[tuple[str, str, str], Repeats] = WindowTable(Repeats, WINDOW)
        self.known: BoundedTable[str, dict[str, int]] = BoundedTable(make=dict)
        """By topic which name servers gave a route, and when they did last."""
        self.left: BoundedTable[str, int] = BoundedTable()
        """By name server when a broker took its leave of it last."""

    def receive_question(self, event: MessageEvent) -> None:
        """A client asks for a topic."""
        topic = text(read_header(event.values), "topic")
        if topic is not None:
            self.await_answer(event, topic)

    def receive_register(self, event: MessageEvent) -> None:
        """A broker registers."""
        said = read_header(event.values)
        name, address = text(said, "brokerName") or "a broker", text(said, "brokerAddr") or event.client
        self.await_answer(event, f"{name} at {address}")

    def receive_unregister(self, event: MessageEvent) -> None:
        """A broker takes its leave."""
        self.left[event.server] = event.time

    def receive_delete(self, event: MessageEvent) -> None:
        """A topic is deleted."""
        self.known.pop(text(read_header(event.values), "topic") or "")

    def receive_route(self, topic: str, event: MessageEvent) -> None:
        """The answer to a client."""
        asked, known = (event.client, event.server, topic), self.known.find(topic)
        if event.error is None:
            self.missing.pop(asked)
            if len(known) < _SERVERS or event.server in known:
                known[event.server] = event.time
        elif event.error[0] == TOPIC_NOT_EXIST and not topic.startswith(_ORDINARY):
            repeats = self.missing.find_at(asked, event.time)
            if repeats.add(TIMES):
                took = event.time - repeats.begun
                self.find("missing", client=event.client, count=repeats.count, took=took, topic=topic)
            since, left = known.pop(event.server, None), self.left.get(event.server)
            if since is not None and (left is None or left < since):
                self.find("forgotten", topic=topic, took=event.time - since)

    def receive_registered(self, broker: str, event: MessageEvent) -> None:
        """The answer to a broker; who does not know the request is no name server."""
        if event.error is not None and event.error[0] != NOT_SUPPORTED:
            self.find("refused", broker=broker, error=event.error[1])

    on = (
        subscribe_to(_ASK, (Role.REQUEST,), receive_question, "topic")
        | subscribe_to(_ASK, ANSWERS, for_request(receive_route))
        | subscribe_to(_REGISTER, (Role.REQUEST,), receive_register, "brokerName", "brokerAddr")
        | subscribe_to(_REGISTER, ANSWERS, for_request(receive_registered))
        | subscribe_to(_UNREGISTER, ASKS, receive_unregister)
        | subscribe_to(_DELETE, (Role.REQUEST,), receive_delete, "topic")
    )
