"""Faults of brokers, controllers and name servers: busy brokers, changes of masters, missing routes.

Facts (BrokerFastFailure, SendMessageProcessor, PullMessageProcessor, PopMessageProcessor). A broker answers SYSTEM_BUSY
if the page cache is slow, or if a request has waited too long in its queue (waitTimeMillsInSendQueue, 200 ms), and
FLOW_CONTROL if a topic or group has no quota left. Clients try another broker, or wait a few seconds.

Facts (ReplicasManager, AlterSyncStateSet, Controller). If controllers choose the masters, each choice raises
masterEpoch by one. The controllers tell it in the answer to an election and in NOTIFY_BROKER_ROLE_CHANGED, and brokers
ask for it every 5 s (CONTROLLER_GET_REPLICA_INFO), and as often for the controllers' leader. Older epochs come late.

Facts (MQClientInstance, RouteInfoManager, TopicConfigManager). A client asks for the routes of its topics every 30 s
(pollNameServerInterval). A consumer also asks for %RETRY%group, which the first heartbeat of the group creates. A
client that finds no route asks for TBW102, the topic whose settings a broker applies to topics that it creates. Brokers
ask for rmq_sys_SYNC_BROKER_MEMBER_name, which exists when one has registered with an acting master. A name server drops
a broker that has not registered for heartbeatTimeoutMillis, two minutes by default, together with its routes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dissectors.correlator import SECOND, BoundedTable, CountWindow, MessageEvent, Repeats, WindowTable, for_request
from dissectors.message import Role
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, RocketmqCheck, read_header, subscribe_to
from dissectors.slotted import field, make_slotted
from dissectors.values import number, text
from dissectors.wire.times import lasting

WINDOW = 60 * SECOND
"""Nanoseconds that are looked at together."""

STORM, SHARE = 20, 10
"""Requests that are refused within that time, and are one in so many or more."""

_BUSY = frozenset({2, 215})
"""SYSTEM_BUSY, FLOW_CONTROL."""

_REQUESTS = (
    "SEND_MESSAGE SEND_MESSAGE_V2 SEND_BATCH_MESSAGE SEND_REPLY_MESSAGE SEND_REPLY_MESSAGE_V2 PULL_MESSAGE "
    "LITE_PULL_MESSAGE POP_MESSAGE POP_LITE_MESSAGE CONSUMER_SEND_MSG_BACK ACK_MESSAGE BATCH_ACK_MESSAGE HEART_BEAT "
    "QUERY_MESSAGE"
)


@make_slotted(frozen=False, eq=False)
class _AnswerWindow(CountWindow):
    """What a server answered since `begun`. is_reported: whether that was too much already."""

    busy: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    is_reported: bool = False


class BusyBrokers(RocketmqCheck):
    """Finds brokers that refuse a large share of requests because they are busy."""

    def _begin(self) -> None:
        self.windows: WindowTable[str, _AnswerWindow] = WindowTable(_AnswerWindow, WINDOW)

    def receive_request(self, event: MessageEvent) -> None:
        """Notes a request, so that its answer is counted."""
        self.await_answer(event, True)

    def receive_answer(self, _: object, event: MessageEvent) -> None:
        """Counts an answer and reports a storm of refusals."""
        window = self.windows.find_at(event.server, event.time)
        window.count += 1
        if event.error is None or event.error[0] not in _BUSY:
            return
        window.busy += 1
        window.errors[event.error[1]] += 1
        if window.busy >= STORM and SHARE * window.busy >= window.count and not window.is_reported:
            window.is_reported = True
            errors = ", ".join(f"{count} {name}" for name, count in window.errors.most_common())
            counts: dict[str, Any] = {"busy": window.busy, "all": window.count, "took": event.time - window.begun}
            self.find("busy", server=event.server, errors=errors, **counts)

    on = subscribe_to(_REQUESTS, (Role.REQUEST,), receive_request) | subscribe_to(
        _REQUESTS, ANSWERS, for_request(receive_answer)
    )


_MASTERS, _LEADER = "CONTROLLER_ELECT_MASTER CONTROLLER_GET_REPLICA_INFO", "CONTROLLER_GET_METADATA_INFO"


class MasterChanges(RocketmqCheck):
    """Finds new masters of a broker and new leaders of the controllers. A change is reported for the broker's name."""

    def _begin(self) -> None:
        self.masters: BoundedTable[str, tuple[int, str]] = BoundedTable()
        """By name of a broker its master's epoch, and what it is called."""
        self.leaders: BoundedTable[str, str] = BoundedTable()
        self.heartbeats: BoundedTable[str, int] = BoundedTable()
        """By address of a broker when it sent its last heartbeat."""

    def receive_heartbeat(self, event: MessageEvent) -> None:
        """Notes that a broker is alive."""
        address = text(read_header(event.values), "brokerAddr")
        if address is not None:
            self.heartbeats[address] = event.time

    def receive_question(self, event: MessageEvent) -> None:
        """Notes a request, which may name a broker."""
        self.await_answer(event, text(read_header(event.values), "brokerName") or "")

    def receive_leader(self, _: str, event: MessageEvent) -> None:
        """Notes the leader of the controllers."""
        header = read_header(event.values)
        group, address = text(header, "group") or "", text(header, "controllerLeaderAddress")
        if event.error is not None or address is None:
            return
        before = self.leaders.get(group)
        if before is not None and before != address:
            self.find("leader", now=address, before=before)
        self.leaders[group] = address

    def receive_master(self, broker: str, event: MessageEvent) -> None:
        """Notes the master of a broker."""
        header = read_header(event.values)
        address, epoch = text(header, "masterAddress"), number(header, "masterEpoch", -1)
        before = self.masters.get(broker)
        if event.error is not None or not broker or address is None or epoch < 0 or (before and epoch <= before[0]):
            return
        master = f"{address}, broker id {header.get('masterBrokerId')}"
        if before and before[1] != master:
            beat = self.heartbeats.get(before[1].partition(",")[0])
            silent = "" if beat is None else f", whose last heartbeat was {lasting(event.time - beat)} before"
            about = f"broker {broker}"
            self.find("master", about=about, broker=broker, now=master, epoch=epoch, before=before[1], silent=silent)
        self.masters[broker] = epoch, master

    on = (
        subscribe_to(f"{_MASTERS} {_LEADER}", (Role.REQUEST,), receive_question, "brokerName")
        | subscribe_to("BROKER_HEARTBEAT", ASKS, receive_heartbeat, "brokerAddr")
        | subscribe_to(
            *(_MASTERS, ANSWERS, for_request(receive_master), "masterBrokerId", "masterAddress", "masterEpoch"),
        )
        | subscribe_to(_LEADER, ANSWERS, for_request(receive_leader), "controllerLeaderAddress", "group")
    )


TOPIC_NOT_EXIST, NOT_SUPPORTED = 17, 3
ROUTE_WINDOW = 600 * SECOND
"""Nanoseconds within which it counts: a client that waits for its topic asks twenty times in it."""

TIMES = 5
"""How often a topic is asked for in vain before that is said, and again at each doubling."""

CREATED = 10 * SECOND
"""Nanoseconds within which a topic may come to be that a client has just created."""

_ORDINARY = ("%RETRY%", "%DLQ%", "rmq_sys_", "TBW102")
"""Topics that are asked for whether or not they are there."""

_SERVERS = 64
"""Name servers that are told apart for a topic."""

_ASK, _REGISTER, _UNREGISTER = "GET_ROUTEINFO_BY_TOPIC", "REGISTER_BROKER", "UNREGISTER_BROKER"
_DELETE = "DELETE_TOPIC_IN_NAMESRV DELETE_TOPIC_IN_BROKER"


class MissingRoutes(RocketmqCheck):
    """Finds topics without a route, routes that a name server lost, and registrations that it refused."""

    def _begin(self) -> None:
        self.missing: WindowTable[tuple[str, str, str], Repeats] = WindowTable(Repeats, ROUTE_WINDOW)
        self.known: BoundedTable[str, dict[str, int]] = BoundedTable(make=dict)
        """By topic which name servers gave a route, and when they did last."""
        self.left: BoundedTable[str, int] = BoundedTable()
        """By name server when a broker took its leave of it last."""

    def receive_question(self, event: MessageEvent) -> None:
        """Notes that a client asks for the route of a topic."""
        topic = text(read_header(event.values), "topic")
        if topic is not None:
            self.await_answer(event, topic)

    def receive_register(self, event: MessageEvent) -> None:
        """Notes which broker sends a REGISTER_BROKER request, and awaits its answer."""
        header = read_header(event.values)
        name, address = text(header, "brokerName") or "a broker", text(header, "brokerAddr") or event.client
        self.await_answer(event, f"{name} at {address}")

    def receive_unregister(self, event: MessageEvent) -> None:
        """Notes that a broker unregisters."""
        self.left[event.server] = event.time

    def receive_delete(self, event: MessageEvent) -> None:
        """Notes that a topic is deleted."""
        self.known.pop(text(read_header(event.values), "topic") or "")

    def receive_route(self, topic: str, event: MessageEvent) -> None:
        """Handles the answer to a client."""
        window_key, known = (event.client, event.server, topic), self.known.find(topic)
        if event.error is None:
            self.missing.pop(window_key)
            if len(known) < _SERVERS or event.server in known:
                known[event.server] = event.time
        elif event.error[0] == TOPIC_NOT_EXIST and not topic.startswith(_ORDINARY):
            repeats = self.missing.find_at(window_key, event.time)
            took = event.time - repeats.begun
            if repeats.add(TIMES) and took >= CREATED:
                self.find("missing", client=event.client, count=repeats.count, took=took, topic=topic)
            since, left = known.pop(event.server, None), self.left.get(event.server)
            if since is not None and (left is None or left < since):
                self.find("forgotten", topic=topic, took=event.time - since)

    def receive_registered(self, broker: str, event: MessageEvent) -> None:
        """Handles the answer to REGISTER_BROKER; a server that does not know the request is no name server."""
        if event.error is not None and event.error[0] != NOT_SUPPORTED:
            why = text(event.values, "remark")
            error = event.error[1] if why is None else f"{event.error[1]}, {why[:200]}"
            self.find("refused", about=f"broker {broker}", broker=broker, error=error)

    on = (
        subscribe_to(_ASK, (Role.REQUEST,), receive_question, "topic")
        | subscribe_to(_ASK, ANSWERS, for_request(receive_route))
        | subscribe_to(_REGISTER, (Role.REQUEST,), receive_register, "brokerName", "brokerAddr")
        | subscribe_to(_REGISTER, ANSWERS, for_request(receive_registered), ("remark",))
        | subscribe_to(_UNREGISTER, ASKS, receive_unregister)
        | subscribe_to(_DELETE, (Role.REQUEST,), receive_delete, "topic")
    )
