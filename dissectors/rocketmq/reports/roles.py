"""The story of roles: who is name server, broker, controller, proxy or client, and what is known of each.

Facts (BrokerOuterAPI, RouteInfoManager, BrokerController). Brokers register with every name server when they start,
when a topic changes and every 30 s, with their address, name, cluster and id, of which 0 is the master of its name, and
the address of their HA port; they ask every name server whether it has their latest configuration (QUERY_DATA_VERSION).
With controllers a broker has an id that stays, and registers as 0 while it is the master. The port two below that of a
broker is its own too: clients may send there, for it has threads of its own (VIP). Clients tell brokers who they are in
heartbeats. A proxy answers what name servers and brokers do; in code 3 a server says that it does not know a request.

Estimates. Connections without a heartbeat are called by host and version, so the clients of a host without one are one
line, and so is a client's connection to a name server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from dissectors.api import Role
from dissectors.old_report import REPORTED, Column, Ends, MessageEvent, ReportRow, said_of
from dissectors.remembered import Remembered
from dissectors.rocketmq.reports.asked import ANSWERS, ASKS, ROCKETMQ, header, number, of, struct, structs, text
from dissectors.rocketmq.reports.lines import MOST_NAMES, Line, LineStory, add_name
from dissectors.slotted import field, slotted
from dissectors.wire.amounts import count_text

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


@slotted(frozen=False, eq=False)
class _Party(Line):
    """parts: what is known of its part, each with the operation by which. place: the broker's id."""

    address: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    name: str | None = None
    cluster: str | None = None
    place: int | None = None
    version: str | None = None
    groups: dict[str, None] = field(default_factory=dict)
    answers: int = 0
    asks: int = 0
    registrations: int = 0
    registered: int | None = None
    topics: int | None = None
    counter: int | None = None
    servers: dict[str, None] = field(default_factory=dict)
    ha: str | None = None
    leader: str | None = None
    peers: str | None = None

    def is_a(self, part: str, by: str | None) -> None:
        """Something shows what it is."""
        self.parts.setdefault(part, by or "")


class Roles(LineStory[str, _Party]):
    """See the module."""

    name = "roles"
    about = "each name server, broker, controller, proxy and client: by what it is known, and what it said of itself"
    needs = ROCKETMQ
    columns = (
        Column("address", "text", "address and port; of clients without a heartbeat the host"),
        Column("part", "text", "name server, broker, broker (VIP), controller, proxy, client"),
        Column("name", "text", "the broker's, or the client's id"),
        Column("cluster", "text", "the broker's"),
        Column("broker_id", "number", "0 is the master of the brokers of a name"),
        Column("role", "text", "master or slave, as it registers, or routes say"),
        Column("known_by", "text", "the operation that showed its part first"),
        Column("version", "text", "language and version, by what it asked"),
        Column("groups", "texts", "of a client, by its heartbeats"),
        Column("answers", "number", "requests that it answered"),
        Column("asks", "number", "requests that it sent"),
        Column("servers", "texts", "to whom"),
        Column("registrations", "number", "how often it registered, with all name servers"),
        Column("registered", "time", "when it did last"),
        Column("topics", "number", "in that registration; it may be of changed topics alone"),
        Column("data_version", "number", "counter of its configuration, which grows with each change"),
        Column("ha", "text", "where slaves fetch its log"),
        Column("leader", "text", "of the controllers, as this one says"),
        Column("peers", "text", "the controllers, as this one says"),
    )
    wants: ClassVar = {
        **of([*_OF_NAME_SERVERS, *_OF_CONTROLLERS, *_OF_BROKERS, *_OF_MESSAGES, _ALIVE], ASKS),
        **of([*_OF_NAME_SERVERS, *_OF_CONTROLLERS, *_OF_BROKERS], ANSWERS, REPORTED),
        **of(_OF_MESSAGES, ANSWERS),
        **of([_REGISTER], ASKS, ("header",), ("body",)),
        **of([_ASK_VERSION], ASKS, ("header",), ("body", "counter")),
        **of([_ALIVE], ASKS, "brokerAddr", "brokerName", "clusterName"),
        **of([_BEAT], ASKS, ("body",)),
        **of([_ROUTE, _CLUSTER], ANSWERS, REPORTED, ("body",)),
        **of([_LEADER], ANSWERS, REPORTED, "controllerLeaderAddress", "peers"),
    }

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._asks: Remembered[int, str] = Remembered()
        """By connection the key of who asks there."""

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """Who asks, and who answers."""
        client, server = self.ends(told.stream)
        sender, other = (client, server) if told.from_client else (server, client)
        if told.context.role is Role.RESPONSE:
            self._answered(sender, told)
        else:
            party = self._asker(sender, told)
            party.asks += 1
            party.version = told.client_name or party.version
            add_name(party.servers, other)
        return self.given()

    def made(self, key: str, told: MessageEvent) -> _Party:
        """See LineStory."""
        return _Party(told.time, told.time, address=key)

    def _asker(self, address: str, told: MessageEvent) -> _Party:
        """Who sent a request, by what it says of itself, there or before."""
        values, name = header(told.values), told.operation
        broker = _address(text(values, "brokerAddr")) if name in (_REGISTER, _ASK_VERSION, _ALIVE) else None
        if broker is not None:
            self._asks.keep(told.stream, broker)
            party = self.line(broker, told)
            party.is_a(BROKER, name)
            self._tells(party, values, told)
            return party
        if name == _BEAT:
            return self._client(address, told)
        if not told.from_client:
            return self.line(address, told)
        key = self._asks.get(told.stream)
        if key is None:
            key = f"{address.rpartition(':')[0]} {told.client_name or ''}"
            self._asks.keep(told.stream, key)
        party = self.line(key, told)
        if not party.parts:
            party.address = address.rpartition(":")[0]
            party.is_a(CLIENT, name)
        return party

    def _client(self, address: str, told: MessageEvent) -> _Party:
        body = struct(told.values, "body")
        client = text(body, "clientID")
        key = address if client is None else f"{address.rpartition(':')[0]} {client}"
        self._asks.keep(told.stream, key)
        party = self.line(key, told)
        if not party.parts:
            party.address, party.name = address, client
            party.note("joins", told)
            party.is_a(CLIENT, told.operation)
        for name in ("producerDataSet", "consumerDataSet"):
            for each in structs(body.get(name)):
                add_name(party.groups, text(each, "groupName"))
        return party

    @staticmethod
    def _tells(party: _Party, values: Mapping[str, Any], told: MessageEvent) -> None:
        """What a broker says of itself."""
        body = struct(told.values, "body")
        party.name = text(values, "brokerName") or party.name
        party.cluster = text(values, "clusterName") or party.cluster
        party.ha = text(values, "haServerAddr") or party.ha
        if told.operation != _ALIVE and isinstance(values.get("brokerId"), int):
            party.place = number(values, "brokerId")
        version = body
        if told.operation == _REGISTER:
            wrapper = struct(body, "topicConfigSerializeWrapper")
            party.note("registers", told)
            party.registrations += 1
            party.registered = told.time
            party.topics = len(struct(wrapper, "topicConfigTable")) if wrapper else party.topics
            version = struct(wrapper, "dataVersion")
        if isinstance(version.get("counter"), int):
            party.counter = number(version, "counter")

    def _answered(self, sender: str, told: MessageEvent) -> None:
        """Who gives an answer knows the request, if it does not say that it does not."""
        name = told.operation or ""
        party = self.line((self._asks.get(told.stream) if told.from_client else None) or sender, told)
        party.answers += 1
        if told.error is not None and told.error[0] == NOT_SUPPORTED:
            return
        part = _PARTS[name]
        if part not in party.parts:
            party.note(f"shows to be {part}", told)
            party.is_a(part, name)
        if name in (_ROUTE, _CLUSTER):
            self._routed(struct(told.values, "body"), told)
        elif name == _LEADER:
            values = header(told.values)
            party.leader = text(values, "controllerLeaderAddress") or party.leader
            party.peers = text(values, "peers") or party.peers

    def _routed(self, body: Mapping[str, Any], told: MessageEvent) -> None:
        """The brokers that a route names, or a cluster."""
        table = list(struct(body, "brokerAddrTable").values())
        for each in structs([*structs(body.get("brokerDatas")), *table])[:MOST_NAMES]:
            for place, address in list(struct(each, "brokerAddrs").items())[:MOST_NAMES]:
                shown = _address(address)
                if shown is not None and place.isdecimal() and len(place) < _PLACE_DIGITS:
                    party = self.line(shown, told)
                    party.is_a(BROKER, told.operation)
                    party.name = text(each, "brokerName") or party.name
                    party.cluster = text(each, "cluster") or party.cluster
                    party.place = int(place) if party.place is None else party.place

    def finish(self) -> Iterator[ReportRow]:
        """All of them; by then it is known which ports are a broker's second ones."""
        brokers = {line.address for line in self._lines.values() if BROKER in line.parts}
        for line in self._lines.values():
            if BROKER in line.parts and not line.registrations and _above(line.address) in brokers:
                line.parts = {VIP: line.parts[BROKER]}
            yield self.entry(line)

    def entry(self, line: _Party) -> ReportRow:
        """See LineStory."""
        parts = list(line.parts)
        if NAME_SERVER in parts and BROKER in parts:
            parts = [PROXY, *(part for part in parts if part not in (NAME_SERVER, BROKER))]
        values = (
            line.address,
            ", ".join(parts) or None,
            line.name,
            line.cluster,
            line.place,
            None if line.place is None else "master" if line.place == MASTER else "slave",
            next(iter(line.parts.values()), None),
            line.version,
            list(line.groups),
            line.answers,
            line.asks,
            list(line.servers),
            line.registrations,
            line.registered,
            line.topics,
            line.counter,
            line.ha,
            line.leader,
            line.peers,
        )
        return ReportRow(values, tuple(line.rows), line.first, line.last)

    @classmethod
    def concerns(cls, operation: str | None, role: Role, values: Mapping[str, Any]) -> bool:
        """Lines name registrations, first heartbeats, and what shows a part; see OldReport."""
        return operation not in _OF_MESSAGES or role is Role.RESPONSE

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See OldReport."""
        said = said_of(cls, entry)
        word = next(word for word, each in entry.rows if each == row)
        name = f" {said['name']}" if said["name"] else ""
        role = f", {said['role']}" if said["role"] else ""
        times = f", {count_text(said['registrations'], 'registration')}" if said["registrations"] else ""
        return f"{word}: {said['part'] or 'something'}{name} at {said['address']}{role}{times}"


def _address(told: object) -> str | None:
    """An address as those of packets are written: Java puts no brackets around one of IPv6."""
    if not isinstance(told, str) or not told:
        return None
    host, _, port = told.rpartition(":")
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else told


def _above(address: str) -> str | None:
    """The port of which this may be the second one."""
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + VIP_BELOW}" if port.isascii() and port.isdecimal() and len(port) <= _DIGITS else None
