"""The configuration of an ensemble as text: its servers, and the transaction that set it.

Facts (QuorumPeer.QuorumServer, QuorumMaj, QuorumHierarchical, QuorumPeerConfig). A server is
`server.SID=ADDRESS[|ADDRESS...][:ROLE][;[HOST:]PORT]` with addresses of HOST:QUORUM_PORT:ELECTION_PORT, several of them
since 3.6, and the clients' address behind a semicolon since 3.5. `version` is a zxid, hexadecimal. In /zookeeper/config
and between servers it is one line each; requests to reconfigure have commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dissectors.field import FieldSpec
from dissectors.wire.parts import ValuePart, show_part, text_of
from dissectors.wire.specs import LayoutSpec, Many, RepeatedSpec, element
from dissectors.zookeeper.labels import transaction

LARGEST = 1 << 20
"""Bytes of a configuration that is looked at: jute.maxbuffer by default, so what a server can store."""

_ENTRY = re.compile(rb"[^\n,]*[\n,\r]*")
_ADDRESS = rb"(?:\[[0-9A-Za-z:.%]{2,64}\]|[^\[\]:|;,\s]{1,255}):\d{1,5}:\d{1,5}"
_SERVER = re.compile(
    rb"\s*server\.(?P<sid>\d{1,18})\s*=\s*(?P<addresses>%b(?:\|%b)*)(?::(?P<role>participant|observer))?"
    rb"(?:;(?P<client>[^\s,;]{1,320}))?\s*" % (_ADDRESS, _ADDRESS),
    re.IGNORECASE,
)
_VERSION = re.compile(rb"\s*version=(?P<version>[0-9A-Fa-f]{1,16})\s*")
_PAIR = re.compile(rb"\s*(?P<key>[A-Za-z][\w.\-]*)=(?P<value>[^\r\n]*?)\s*")


def configuration_parts(data: bytes) -> tuple[ValuePart, ...] | None:
    """Parts that tile a configuration, or servers with commas between them; None for a text with no server in it."""
    if len(data) > LARGEST:
        return None
    parts: list[ValuePart] = []
    servers: list[ValuePart] = []
    count = 0
    for start, stop in _entries(data):
        server = _server(data, start, stop, count)
        if server is not None:
            servers.append(server)
            count += 1
            continue
        if servers:
            parts.append(_make_server_list(servers))
            servers = []
        parts.append(_make_other_line(data, start, stop))
    if servers:
        parts.append(_make_server_list(servers))
    return tuple(parts) if count else None


def _entries(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each begins, and the next one does."""
    at = 0
    while at < len(data):
        found = _ENTRY.match(data, at)
        assert found is not None
        yield at, found.end()
        at = found.end()


def _make_server_list(servers: list[ValuePart]) -> ValuePart:
    return ValuePart(RepeatedSpec("servers", "array"), None, servers[0].start, servers[-1].stop, inside=tuple(servers))


def _server(data: bytes, start: int, stop: int, index: int) -> ValuePart | None:
    found = _SERVER.fullmatch(data, start, _end(data, start, stop))
    if found is None:
        return None
    at = found.end("addresses")
    addresses = _addresses(data, found.start("addresses"), at)
    inside = [
        show_part("sid", int(found["sid"]), start, found.start("addresses"), found.start("sid") - start, "number"),
        ValuePart(Many("addresses", "array"), None, addresses[0].start, at, inside=addresses),
    ]
    names = [name for name in ("role", "client") if found[name] is not None]
    for name in names:
        end = stop if name == names[-1] else found.end(name)
        inside.append(show_part(name, text_of(found[name]), at, end, found.start(name) - at))
        at = end
    if at < stop:
        inside.append(ValuePart(LayoutSpec("end", "text"), text_of(data[at:stop]), at, stop))
    return ValuePart(element(index, "struct"), None, start, stop, inside=tuple(inside))


def _addresses(data: bytes, start: int, stop: int) -> tuple[ValuePart, ...]:
    """Each but the first begins at its bar."""
    parts: list[ValuePart] = []
    at = start
    for index, each in enumerate(data[start:stop].split(b"|")):
        head = 1 if index else 0
        parts.append(ValuePart(element(index, "text"), text_of(each), at, at + head + len(each), head))
        at = parts[-1].stop
    return tuple(parts)


def _make_other_line(data: bytes, start: int, stop: int) -> ValuePart:
    end = _end(data, start, stop)
    version = _VERSION.fullmatch(data, start, end)
    if version is not None:
        number = int.from_bytes(int(version["version"], 16).to_bytes(8), signed=True)
        return show_part("version", number, start, stop, version.start("version") - start, "number", transaction)
    pair = _PAIR.fullmatch(data, start, end)
    if pair is None:
        return ValuePart(LayoutSpec("line", "text"), text_of(data[start:end]), start, stop)
    spec = FieldSpec(pair["key"].decode("ascii", "replace"), "text")
    return ValuePart(spec, text_of(pair["value"]), start, stop, pair.start("value") - start)


def _end(data: bytes, start: int, stop: int) -> int:
    """Where an entry's text ends, before what divides it from the next."""
    return start + len(data[start:stop].rstrip(b"\n\r,"))
