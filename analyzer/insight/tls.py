"""The TLS connections of a capture: versions, suites, names, certificates and alerts, with and without keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from analyzer.columns.arrays import Ints
from analyzer.columns.values import format_iso_time
from analyzer.decode.endpoints import find_server_port
from analyzer.decode.tls_facts import find_raw_rows, read_facts
from analyzer.insight.frames import frames_of
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis, Session
from analyzer.tls.facts import Certificate, Refusal, TlsFacts
from analyzer.tls.records import find_first_record

MOST_GROUPS = 1000
SECOND = 10**9


class TlsConnection(NamedTuple):
    """A connection with TLS, and its stream."""

    stream: int
    facts: TlsFacts

    @property
    def certificate(self) -> Certificate | None:
        """The server's own certificate, if it could be read."""
        return self.facts.certificates[0] if self.facts.certificates else None


def list_tls(session: Analysis) -> Iterator[TlsConnection]:
    """Yields the TLS connections in order of their streams."""
    known = {stream: session.engine.tls.find(stream) for stream in session.engine.tls.streams}
    raw = find_raw_rows(session)
    known_protocol = session.engine.streams.column("protocol") != NO_PROTOCOL
    for stream in sorted({*known, *(each for each in raw if not known_protocol[each])}):
        facts = known.get(stream) or read_facts(session, stream, raw.get(stream, {}))
        if facts is not None:
            yield TlsConnection(stream, facts)


def describe_row_tls(session: Analysis, row: int) -> dict[str, Any] | None:
    """Returns the TLS properties of a row's connection; None if it has none."""
    stream = session.rows.cell("stream", row)
    if session.engine.tls.find(stream) is None and session.rows.cell("protocol", row) != NO_PROTOCOL:
        return None
    facts = read_facts(session, stream)
    return None if facts is None else describe_tls(session, TlsConnection(stream, facts))


def find_tls_answers(session: Analysis, streams: Ints) -> list[int]:
    """Returns those of some streams (int64, n) of a known protocol in which the server's first raw bytes are TLS."""
    found = find_raw_rows(session)
    chosen = set(streams.tolist())
    return [stream for stream, rows in found.items() if stream in chosen and 1 in rows and 0 not in rows]


def summarise_tls(session: Analysis) -> list[dict[str, Any]]:
    """Returns one object for all connections with equal handshakes, the most frequent first."""
    groups = Counter(tuple(describe_tls(session, each).items()) for each in list_tls(session))
    return [{**dict(group), "connections": count} for group, count in groups.most_common(MOST_GROUPS)]


def describe_tls(session: Analysis, connection: TlsConnection) -> dict[str, Any]:
    """Returns the properties of a TLS connection by name; None for unknown ones."""
    facts, certificate = connection.facts, connection.certificate
    alerts = ", ".join(str(each) for each in facts.alerts if each.fatal)
    return {
        "port": find_server_port(session, connection.stream),
        "version": facts.version_name or None,
        "suite": facts.suite_name or None,
        "server_name": facts.server_name or None,
        "alpn": facts.alpn or None,
        "fingerprint": facts.fingerprint or None,
        "resumed": facts.resumed,
        "certificate": None if certificate is None else certificate.subject,
        "certificate_expires": None if certificate is None else format_iso_time(certificate.not_after * SECOND),
        "alerts": alerts or None,
        "decrypted": facts.is_decrypted,
        "reason": None if facts.refusal in (None, Refusal.NO_DATA) else str(facts.refusal),
    }


MOST_BYTES = 4 << 20
"""Bytes of packets that are read for one message."""


class TlsCarriers(NamedTuple):
    """The bytes that carried a decrypted message. packets: whole frames, concatenated; records: their TLS records.

    The first record may have begun in an earlier packet. Then `records` begins with the first whole one, or with the
    first payload if there is none.
    """

    records: bytes
    packets: bytes


def read_carriers(session: Session, row: int) -> TlsCarriers:
    """Reads the packets of a decrypted row, the first MOST_BYTES of them. Reads the capture up to the last of them."""
    packets, payloads, size = [], [], 0
    for frame in {each.number: each for each in frames_of(session, row) if not each.again}.values():
        data = session.source.store.read_bytes(frame.at, frame.captured)
        size += len(data)
        if size > MOST_BYTES:
            break
        packets.append(data)
        if frame.tcp is not None:
            payloads.append(data[frame.tcp.head : frame.tcp.head + frame.tcp.payload])
    payload = b"".join(payloads)
    return TlsCarriers(payload[max(find_first_record(payload), 0) :], b"".join(packets))
