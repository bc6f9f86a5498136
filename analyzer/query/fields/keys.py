"""The fields of every row: the keys of docs/reference/output.md, and fields derived from them.

Theory. Most are columns of the index and are compared as columns. A few need the message: its error, its summary line,
its bytes. A new field is an entry of FIELDS, and an entry of FROM_INDEX if the index has its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.columns.values import CellColumn, FlagColumn, IntegerColumn, TextColumn, TimeColumn
from analyzer.decode.packets import count_retransmissions
from analyzer.decode.rows import KEYS, ROLES, STATES, RowReader
from analyzer.query.fields.connections import read_events, read_owner, read_resetters, read_round_trips, read_tls
from analyzer.query.fields.dense import ChoiceColumn, ChoiceTable, Dense, NumberColumn
from analyzer.query.fields.path import FieldKind
from analyzer.query.fields.slow import read_slow


class RowField(NamedTuple):
    """Describes a field that every row has. also: other names, such as tshark's. among: all possible values, if few."""

    kind: FieldKind
    about: str
    repeated: bool = False
    also: tuple[str, ...] = ()
    among: Sequence[str] = ()


N, T, B = FieldKind.NUMBER, FieldKind.TEXT, FieldKind.BYTES

FIELDS: Mapping[str, RowField] = {
    "number": RowField(N, "number of the row, from 1"),
    "id": RowField(T, "stream_id/c/OFFSET or /s/OFFSET"),
    "stream_id": RowField(T, "CLIENT>SERVER, #n for the n-th reuse of the addresses", also=("connection",)),
    "partner_id": RowField(T, "id of the other half of the exchange"),
    "time": RowField(
        FieldKind.TIME,
        "of the packet that completed the message, UTC",
        also=("frame.time", "_ws.col.Time", "_ws.col.time"),
    ),
    "time_ns": RowField(N, "the same as nanoseconds since 1970, as tables have it"),
    "stream": RowField(N, "number of the TCP connection, from 0", also=("tcp.stream",)),
    "protocol": RowField(T, "kafka, zookeeper, pulsar, rocketmq, ...; unknown for bytes without framing"),
    "source": RowField(T, "ADDRESS:PORT of the sender"),
    "destination": RowField(T, "ADDRESS:PORT of the receiver"),
    "from_client": RowField(FieldKind.FLAG, "whether the side that opened the connection sent it"),
    "role": RowField(T, ", ".join(ROLES), among=ROLES),
    "operation": RowField(T, "the protocol's name of what is done; of a response its request's"),
    "code": RowField(N, "the operation's number"),
    "version": RowField(N, "Kafka's api version"),
    "correlation": RowField(FieldKind.ANY, "correlation id, xid, opaque; of Pulsar a text with its scope"),
    "client": RowField(T, "Kafka's client id, ZooKeeper's session, Pulsar's client version, RocketMQ's language"),
    "length": RowField(N, "bytes on the wire, length prefix included"),
    "offset": RowField(N, "of its first byte in its direction"),
    "first_packet": RowField(N, "the packet that brought its first byte"),
    "last_packet": RowField(N, "the packet that completed it"),
    "partner": RowField(N, "number of the other half of the exchange"),
    "latency_ns": RowField(FieldKind.DURATION, "of a response: time since its request", also=("latency",)),
    "packets": RowField(N, "each packet that has bytes of it", True, also=("frame.number",)),
    "state": RowField(T, ", ".join(STATES), among=STATES),
    "error": RowField(FieldKind.ANY, "the first error that the message reports, by name or code"),
    "error.code": RowField(N, "its number"),
    "error.name": RowField(T, "its name"),
    "info": RowField(T, "the line for people", also=("_ws.col.Info", "_ws.col.info")),
    "findings": RowField(T, "codes of what there is to say of the message", True, also=("findings.code",)),
    "findings.severity": RowField(T, "error, warning, note", True),
    "findings.text": RowField(T, "their sentences", True),
    "source.ip": RowField(FieldKind.ADDRESS, "address of the sender", also=("ip.src", "ipv6.src")),
    "source.port": RowField(N, "port of the sender", also=("tcp.srcport",)),
    "destination.ip": RowField(FieldKind.ADDRESS, "address of the receiver", also=("ip.dst", "ipv6.dst")),
    "destination.port": RowField(N, "port of the receiver", also=("tcp.dstport",)),
    "ip": RowField(FieldKind.ADDRESS, "address of either side", True, also=("ip.addr", "ipv6.addr")),
    "port": RowField(N, "port of either side", True, also=("tcp.port",)),
    "source.name": RowField(T, "what the capture calls the sender's address"),
    "destination.name": RowField(T, "what the capture calls the receiver's address"),
    "name": RowField(T, "what the capture calls the address of either side", True),
    "retransmissions": RowField(N, "how many times bytes of it came again; nothing where they came once"),
    "slow": RowField(
        FieldKind.FLAG, "true if its latency is beyond the 99th percentile of its operation, else nothing"
    ),
    "tcp.rtt_ns": RowField(
        FieldKind.DURATION,
        "round trip of its connection, by the handshake or else by acknowledgements",
        also=("tcp.rtt",),
    ),
    "tcp.client_rtt_ns": RowField(
        FieldKind.DURATION, "the part of it from the capture point to the client and back", also=("tcp.client_rtt",)
    ),
    "tcp.server_rtt_ns": RowField(
        FieldKind.DURATION, "the part of it from the capture point to the server and back", also=("tcp.server_rtt",)
    ),
    "tcp.ack_rtt_ns": RowField(
        FieldKind.DURATION, "least time from bytes to their acknowledgement, of both sides", also=("tcp.ack_rtt",)
    ),
    "tcp.retransmissions": RowField(N, "retransmitted packets of its connection; nothing where there are none"),
    "tcp.retransmission_time_ns": RowField(
        FieldKind.DURATION, "how long its connection stood still until these came", also=("tcp.retransmission_time",)
    ),
    "tcp.zero_window": RowField(N, "how often a side of its connection closed its window; nothing where none did"),
    "tcp.zero_window_time_ns": RowField(FieldKind.DURATION, "for how long", also=("tcp.zero_window_time",)),
    "tcp.reset": RowField(T, "the side that reset its connection: client or server", among=("client", "server")),
    "tls.version": RowField(T, "version of the TLS connection that carried it, such as TLS 1.3"),
    "tls.cipher": RowField(T, "its cipher suite by IANA's name"),
    "tls.sni": RowField(T, "the server name that the client asked for", also=("tls.handshake.extensions_server_name",)),
    "tls.alpn": RowField(T, "protocol that the server chose (ALPN)", also=("tls.handshake.extensions_alpn_str",)),
    "tls.ja4": RowField(T, "JA4 fingerprint of the client", also=("tls.handshake.ja4",)),
    "client.process": RowField(T, "name of the process at the client's end, in live captures on its machine"),
    "client.pid": RowField(N, "its process id"),
    "server.process": RowField(T, "name of the process at the server's end, in live captures on its machine"),
    "server.pid": RowField(N, "its process id"),
    "comment": RowField(T, "comments on its packets, of a pcapng", True, also=("frame.comment", "pkt_comment")),
    "bytes": RowField(B, "the message as it is on the wire", also=("frame", "tcp.payload")),
    "text": RowField(T, "all that the decoded message says, with its info line: for searching"),
}

NAMES: Mapping[str, str] = {
    **{name: name for name in FIELDS},
    **{also: name for name, field in FIELDS.items() for also in field.also},
}
"""The field of each name."""

OF_ERROR = frozenset({"error", "error.code", "error.name"})
"""Fields that come from the error of a message. Few messages must be decoded to read them."""

OF_BODY = frozenset({"info", "findings", "findings.severity", "findings.text", "text"})
"""Fields that need the whole decoded message."""

APART = frozenset({"bytes", "comment", "packets"})
"""Fields that are read neither as columns nor from the body: see FieldReader."""

NEEDS_MESSAGE = OF_ERROR | OF_BODY | {"bytes"}

LARGE = OF_BODY | {"bytes"}
"""Fields whose value may be as large as a message."""

_Read = Callable[[RowReader, Ints], Sequence[Dense]]


def read_row_field(reader: RowReader, name: str, rows: Ints) -> Sequence[Dense] | list[Any]:
    """Reads a field from the index: columns with all values, or one value for each row."""
    special = FROM_INDEX.get(name)
    return _make_dense(reader.read_column(name, rows)) if special is None else special(reader, rows)


def _make_dense(column: CellColumn) -> Sequence[Dense] | list[Any]:
    if isinstance(column, IntegerColumn):
        return (NumberColumn(column.numbers, column.null),)
    if isinstance(column, TimeColumn):
        return (NumberColumn(column.times),)
    if isinstance(column, TextColumn):
        return (_make_choices(column),)
    if isinstance(column, FlagColumn):
        return (ChoiceColumn(_FLAGS, column.flags.view(np.int8)),)
    return column.values()


def _count_retransmissions(reader: RowReader, rows: Ints) -> Sequence[Dense]:
    counts = count_retransmissions(reader.session, rows, streaming=reader.streaming)
    return (NumberColumn(counts, counts == 0),)


_FLAGS = ChoiceTable(bool)


def _make_choices(column: TextColumn) -> ChoiceColumn:
    return ChoiceColumn(ChoiceTable(column.texts.value, column.texts), column.numbers)


def _list_names(*senders: bool) -> _Read:
    return lambda reader, rows: tuple(
        _make_choices(reader.session.hosts.name_column(rows, sender)) for sender in senders
    )


def _read_sides(part: Callable[[str], Any], *senders: bool) -> _Read:
    """Returns a reader of a part of the endpoint of the sender (True), the receiver (False), or of each."""

    def read_them(reader: RowReader, rows: Ints) -> Sequence[Dense]:
        return tuple(_read_part(reader.read_endpoints(rows, sender), part) for sender in senders)

    return read_them


def _read_part(endpoints: TextColumn, part: Callable[[str], Any]) -> ChoiceColumn:
    texts = endpoints.texts
    return ChoiceColumn(ChoiceTable(lambda number: part(texts.value(number) or ""), texts), endpoints.numbers)


def parse_address(endpoint: str) -> str:
    """Returns the address of an endpoint: `10.0.0.1` for `10.0.0.1:9092`, `::1` for `[::1]:2181`."""
    return endpoint.rpartition(":")[0].strip("[]")


def parse_port(endpoint: str) -> int:
    """Returns the port of an endpoint, such as 9092 for `10.0.0.1:9092`."""
    return int(endpoint.rpartition(":")[2])


def _read_operations(reader: RowReader, rows: Ints) -> Sequence[Dense]:
    names = reader.session.engine.names
    return (ChoiceColumn(ChoiceTable(names.texts.__getitem__, names), reader.take_cells("operation", rows)),)


def _read_clients(reader: RowReader, rows: Ints) -> Sequence[Dense]:
    names = reader.session.engine.names
    if reader.streaming:
        return (_make_choices(reader.read_clients(rows)),)
    return (ChoiceColumn(ChoiceTable(names.texts.__getitem__, names), reader.take_cells("client", rows)),)


FROM_INDEX: Mapping[str, _Read] = {
    "time_ns": lambda reader, rows: (NumberColumn(reader.take_cells("time", rows)),),
    "operation": _read_operations,
    "client": _read_clients,
    "retransmissions": _count_retransmissions,
    "slow": read_slow,
    "tcp.rtt_ns": read_round_trips("rtt"),
    "tcp.client_rtt_ns": read_round_trips("client_rtt"),
    "tcp.server_rtt_ns": read_round_trips("server_rtt"),
    "tcp.ack_rtt_ns": read_round_trips("ack_rtt"),
    "tcp.retransmissions": read_events("retransmissions"),
    "tcp.retransmission_time_ns": read_events("retransmission_time"),
    "tcp.zero_window": read_events("zero_windows"),
    "tcp.zero_window_time_ns": read_events("zero_window_time"),
    "tcp.reset": read_resetters,
    "tls.version": read_tls(attrgetter("version_name")),
    "tls.cipher": read_tls(attrgetter("suite_name")),
    "tls.sni": read_tls(attrgetter("server_name")),
    "tls.alpn": read_tls(attrgetter("alpn")),
    "tls.ja4": read_tls(attrgetter("fingerprint")),
    "client.process": read_owner(attrgetter("name"), of_client=True),
    "client.pid": read_owner(attrgetter("pid"), of_client=True),
    "server.process": read_owner(attrgetter("name"), of_client=False),
    "server.pid": read_owner(attrgetter("pid"), of_client=False),
    "source.ip": _read_sides(parse_address, True),
    "source.port": _read_sides(parse_port, True),
    "destination.ip": _read_sides(parse_address, False),
    "destination.port": _read_sides(parse_port, False),
    "source.name": _list_names(True),
    "destination.name": _list_names(False),
    "name": _list_names(True, False),
    "ip": _read_sides(parse_address, True, False),
    "port": _read_sides(parse_port, True, False),
}

assert set(FIELDS) == set(KEYS) | OF_ERROR | OF_BODY | APART | set(FROM_INDEX)
