"""The report of roles: who is name server, broker, controller, proxy or client, and what is known of each.

Facts (BrokerOuterAPI, RouteInfoManager, BrokerController). Brokers register with every name server when they start,
when a topic changes and every 30 s. They send their address, name, cluster and id (0 is the master of its name), and
the address of their HA port. They also ask every name server whether it has their latest configuration
(QUERY_DATA_VERSION). With controllers a broker has a permanent id, and registers as 0 while it is the master. The port
two below a broker's also belongs to it: clients may send there, because it has threads of its own (VIP). Clients
identify themselves to brokers in heartbeats. A proxy answers requests for name servers and brokers; code 3 means that a
server does not know a request.

Estimates. Connections without a heartbeat are named by host and version, so the clients of a host without one are one
line, and so is a client's connection to a name server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.message import Role
from dissectors.report import MOST_NAMES, REPORTED, Report, add_name, column
from dissectors.rocketmq.reports.fields import ANSWERS, ASKS, ROCKETMQ, OngoingRow, read_header, subscribe_to
from dissectors.slotted import field, make_slotted
from dissectors.values import host_of, number, struct, structs, text
from dissectors.wire.row_sentence import RowSentence

NAME_SERVER, BROKER, VIP, CONTROLLER, PROXY, CLIENT = (
    "name server",
    "broker",
    "broker (VIP)",
    "controller",
    "proxy",
    "client",
)
MASTER = 0
NOT_SUPPORTED = 3
VIP_BELOW = 2
_DIGITS, _PLACE_DIGITS = 5, 19

_ROUTE, _CLUSTER = "GET_ROUTEINFO_BY_TOPIC", "GET_BROKER_CLUSTER_INFO"
_REGISTER, _ASK_VERSION, _BEAT = "REGISTER_BROKER", "QUERY_DATA_VERSION", "HEART_BEAT"
_ALIVE, _LEADER = "BROKER_HEARTBEAT", "CONTROLLER_GET_METADATA_INFO"
_OF_NAME_SERVERS = (_ROUTE, _CLUSTER, _REGISTER, _ASK_VERSION, "GET_ALL_TOPIC_LIST_FROM_NAMESERVER", "GET_KV_CONFIG")
_OF_CONTROLLERS = (
    *(_LEADER, "CONTROLLER_GET_REPLICA_INFO", "CONTROLLER_REGISTER_BROKER", "CONTROLLER_ELECT_MASTER"),
    *("CONTROLLER_ALTER_SYNC_STATE_SET", "CONTROLLER_APPLY_BROKER_ID", "CONTROLLER_GET_NEXT_BROKER_ID", "VOTE"),
)
_OF_BROKERS = (
    _BEAT,
    "GET_CONSUMER_LIST_BY_GROUP",
    "QUERY_CONSUMER_OFFSET",
    "GET_MAX_OFFSET",
    "GET_BROKER_RUNTIME_INFO",
)
_OF_MESSAGES = ("SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "PULL_MESSAGE", "POP_MESSAGE")
_PARTS: Mapping[str, str] = {
    **dict.fromkeys(_OF_NAME_SERVERS, NAME_SERVER),
    **dict.fromkeys(_OF_CONTROLLERS, CONTROLLER),
    **dict.fromkeys((*_OF_BROKERS, *_OF_MESSAGES), BROKER),
}
"""What an address is that answers so."""


@make_slotted(frozen=False, eq=False)
class RoleRow(OngoingRow):
    """A server or client and its roles. parts: the roles, each with the operation that shows it."""

    address: str = column("text", "address and port; of clients without a heartbeat the host", "")
    part: str | None = column(
        "text", "name server, broker, broker (VIP), controller, proxy, client", of=lambda row: _format_part(row.parts)
    )
    name: str | None = column("text", "the broker's, or the client's id")
    cluster: str | None = column("text", "the broker's")
    broker_id: int | None = column("number", "0 is the master of the brokers of a name")
    role: str | None = column(
        *("text", "master or slave, as it registers, or routes say"),
        of=lambda row: None if row.broker_id is None else "master" if row.broker_id == MASTER else "slave",
    )
    known_by: str | None = column(
        "text", "the operation that showed its part first", of=lambda row: next(iter(row.parts.values()), None)
    )
    version: str | None = column("text", "language and version, by what it asked")
    groups: dict[str, None] = column("texts", "of a client, by its heartbeats", default_factory=dict)
    answers: int = column("number", "requests that it answered", 0)
    asks: int = column("number", "requests that it sent", 0)
    servers: dict[str, None] = column("texts", "to whom", default_factory=dict)
    registrations: int = column("number", "how often it registered, with all name servers", 0)
    registered: int | None = column("time", "when it did last")
    topics: int | None = column("number", "in that registration; it may be of changed topics alone")
    data_version: int | None = column("number", "counter of its configuration, which grows with each change")
    ha: str | None = column("text", "where slaves fetch its log")
    leader: str | None = column("text", "of the controllers, as this one says")
    peers: str | None = column("text", "the controllers, as this one says")
    parts: dict[str, str] = field(default_factory=dict)

    def show(self, part: str, by: str | None) -> None:
        """Notes a message that shows the role of the server."""
        self.parts.setdefault(part, by or "")

    def describe(self, event: MessageEvent) -> None:
        """Notes what a broker says about itself."""
        values, body = read_header(event.values), struct(event.values, "body")
        self.name = text(values, "brokerName") or self.name
        self.cluster = text(values, "clusterName") or self.cluster
        self.ha = text(values, "haServerAddr") or self.ha
        if event.operation != _ALIVE and isinstance(values.get("brokerId"), int):
            self.broker_id = number(values, "brokerId")
        version = body
        if event.operation == _REGISTER:
            wrapper = struct(body, "topicConfigSerializeWrapper")
            self.note("registers", event)
            self.registrations += 1
            self.registered = event.time
            self.topics = len(struct(wrapper, "topicConfigTable")) if wrapper else self.topics
            version = struct(wrapper, "dataVersion")
        if isinstance(version.get("counter"), int):
            self.data_version = number(version, "counter")


def list_server_roles() -> Mapping[str, str]:
    """Returns what a server is that answers an operation."""
    return _PARTS


class RoleReport(Report[RoleRow]):
    """The report of roles: one row for each server and client."""

    name = "roles"
    about = "each name server, broker, controller, proxy and client: by what it is known, and what it said of itself"
    needs = ROCKETMQ
    row = RoleRow
    sentence = RowSentence(
        "{word}: {part|'something'}( {name}) at {address=}(, {role})(, {registrations%many registration})"
    )
    selects = (("address", "address"),)
    key = ("address",)

    def _begin(self) -> None:
        self.senders: BoundedTable[int, str] = BoundedTable()
        """By connection the key of who asks there."""

    def receive_request(self, event: MessageEvent) -> None:
        """Notes who sent a request, and to whom."""
        sender, other = (event.client, event.server) if event.from_client else (event.server, event.client)
        party = self.find_asker(sender, event)
        party.asks += 1
        party.version = event.client_name or party.version
        add_name(party.servers, other)

    def find_asker(self, address: str, event: MessageEvent) -> RoleRow:
        """Returns the sender of a request, by what it says about itself in this or an earlier message."""
        name = event.operation
        claimed = text(read_header(event.values), "brokerAddr") if name in (_REGISTER, _ASK_VERSION, _ALIVE) else None
        broker = _normalize_address(claimed)
        if broker is not None:
            self.senders[event.stream] = broker
            party = self.find(broker, event)
            party.show(BROKER, name)
            party.describe(event)
            return party
        if name == _BEAT:
            return self.find_client(address, event)
        if not event.from_client:
            return self.find(address, event)
        key = self.senders.get(event.stream)
        if key is None:
            key = self.senders[event.stream] = f"{host_of(address)} {event.client_name or ''}"
        party = self.find(key, event)
        if not party.parts:
            party.address = host_of(address)
            party.show(CLIENT, name)
        return party

    def find_client(self, address: str, event: MessageEvent) -> RoleRow:
        """Returns the client that sent a heartbeat."""
        body = struct(event.values, "body")
        client = text(body, "clientID")
        key = address if client is None else f"{host_of(address)} {client}"
        self.senders[event.stream] = key
        party = self.find(key, event)
        if not party.parts:
            party.address, party.name = address, client
            party.note("joins", event)
            party.show(CLIENT, event.operation)
        for name in ("producerDataSet", "consumerDataSet"):
            for each in structs(body.get(name)):
                add_name(party.groups, text(each, "groupName"))
        return party

    def receive_answer(self, event: MessageEvent) -> None:
        """Handles an answer: its sender supports the request, unless it refuses the code."""
        name = event.operation or ""
        key = (self.senders.get(event.stream) or event.client) if event.from_client else event.server
        party = self.find(key, event)
        party.answers += 1
        if event.error is not None and event.error[0] == NOT_SUPPORTED:
            return
        part = _PARTS[name]
        if part not in party.parts:
            party.note(f"shows to be {part}", event)
            party.show(part, name)
        if name in (_ROUTE, _CLUSTER):
            self.route(struct(event.values, "body"), event)
        elif name == _LEADER:
            values = read_header(event.values)
            party.leader = text(values, "controllerLeaderAddress") or party.leader
            party.peers = text(values, "peers") or party.peers

    def route(self, body: Mapping[str, Any], event: MessageEvent) -> None:
        """Handles the brokers that a route names, or a cluster."""
        table = list(struct(body, "brokerAddrTable").values())
        for each in structs([*structs(body.get("brokerDatas")), *table])[:MOST_NAMES]:
            for place, address in list(struct(each, "brokerAddrs").items())[:MOST_NAMES]:
                shown = _normalize_address(address)
                if shown is not None and place.isdecimal() and len(place) < _PLACE_DIGITS:
                    party = self.find(shown, event)
                    party.show(BROKER, event.operation)
                    party.name = text(each, "brokerName") or party.name
                    party.cluster = text(each, "cluster") or party.cluster
                    party.broker_id = int(place) if party.broker_id is None else party.broker_id

    def finish(self) -> None:
        """Closes all rows, once it is known which ports are a broker's second ones."""
        brokers = {row.address for row in self.rows.values() if BROKER in row.parts}
        for row in self.rows.values():
            if BROKER in row.parts and not row.registrations and _find_main_port(row.address) in brokers:
                row.parts = {VIP: row.parts[BROKER]}
            self.close(row)

    on = (
        subscribe_to(" ".join((*_PARTS, _ALIVE)), ASKS, receive_request)
        | subscribe_to(" ".join((*_OF_NAME_SERVERS, *_OF_CONTROLLERS, *_OF_BROKERS)), ANSWERS, receive_answer, REPORTED)
        | subscribe_to(" ".join(_OF_MESSAGES), ANSWERS, receive_answer)
        | subscribe_to(_REGISTER, ASKS, receive_request, ("header",), ("body",))
        | subscribe_to(_ASK_VERSION, ASKS, receive_request, ("header",), ("body", "counter"))
        | subscribe_to(_ALIVE, ASKS, receive_request, "brokerAddr", "brokerName", "clusterName")
        | subscribe_to(_BEAT, ASKS, receive_request, ("body",))
        | subscribe_to(f"{_ROUTE} {_CLUSTER}", ANSWERS, receive_answer, REPORTED, ("body",))
        | subscribe_to(_LEADER, ANSWERS, receive_answer, REPORTED, "controllerLeaderAddress", "peers")
    )

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Returns whether a message registers, is a heartbeat, or shows a server's role; rows mention no others."""
        return operation not in _OF_MESSAGES or role is Role.RESPONSE


def _format_part(known: Mapping[str, str]) -> str | None:
    """What something is; who answers as name servers do, and as brokers do, is a proxy."""
    parts = list(known)
    if NAME_SERVER in parts and BROKER in parts:
        parts = [PROXY, *(part for part in parts if part not in (NAME_SERVER, BROKER))]
    return ", ".join(parts) or None


def _normalize_address(address: object) -> str | None:
    """An address as those of packets are written: Java puts no brackets around one of IPv6."""
    if not isinstance(address, str) or not address:
        return None
    host, _, port = address.rpartition(":")
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else address


def _find_main_port(address: str) -> str | None:
    """The port of which this may be the second one."""
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + VIP_BELOW}" if port.isascii() and port.isdecimal() and len(port) <= _DIGITS else None
