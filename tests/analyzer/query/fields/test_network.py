"""Fields of the connection that carried a message: of the network, of TLS; and what is slow."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import wireanalyze as wa
from analyzer.columns.arrays import Ints
from analyzer.decode import tls_facts
from analyzer.decode.rows import RowReader
from analyzer.query.fields import find_field
from analyzer.query.fields.catalog import resolve_fields
from analyzer.query.fields.keys import FIELDS
from analyzer.query.fields.reading import FieldReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from analyzer.tcp.network import UNMEASURED
from analyzer.tls.key_files import KeyRing
from tests.documents import ROOT
from tests.tui.driving import GOLDEN

ELECTION = GOLDEN / "k4_election.pcap.zst"
COUNTS = ("tcp.retransmissions", "tcp.retransmission_time", "tcp.zero_window", "tcp.zero_window_time")


@pytest.fixture(scope="module")
def session() -> Session:
    return Session([ELECTION]).load()


def network_values(session: Session, name: str, *, streaming: bool = False) -> list[int]:
    """The network_values of all rows; 0 for none."""
    field, rows = find_field(name), np.arange(len(session.rows))
    found = FieldReader(RowReader(session, streaming=streaming), [field]).read_by_row(field, rows)
    return [each[0] if each else 0 for each in found]


def test_values_are_those_of_connections(session: Session) -> None:
    stream = session.rows.column("stream")
    metrics = session.engine.network.find_metrics(np.arange(len(session.engine.streams)))
    assert metrics.retransmissions.sum() > 0
    for name, column in (
        *(("tcp.rtt", metrics.rtt), ("tcp.client_rtt", metrics.client_rtt), ("tcp.server_rtt", metrics.server_rtt)),
        *(("tcp.ack_rtt", metrics.ack_rtt), ("tcp.retransmissions", metrics.retransmissions)),
        *(("tcp.retransmission_time", metrics.retransmission_time), ("tcp.zero_window", metrics.zero_windows)),
    ):
        known = np.where(column == UNMEASURED, 0, column)
        assert network_values(session, name) == known[stream].tolist()


@pytest.mark.parametrize("name", COUNTS)
def test_a_printed_row_counts_what_has_come_by_then(session: Session, name: str) -> None:
    whole, printed = network_values(session, name), network_values(session, name, streaming=True)
    last: dict[int, int] = {}
    for row, stream in enumerate(session.rows.column("stream").tolist()):
        assert last.get(stream, 0) <= printed[row] <= whole[row]
        last[stream] = printed[row]


def test_filters(session: Session) -> None:
    rows, reader = range(len(session.rows)), RowReader(session)
    again = network_values(session, "tcp.retransmissions")
    assert compile_filter("tcp.retransmissions").select_rows(reader, rows).tolist() == np.flatnonzero(again).tolist()
    assert len(compile_filter("tcp.rtt > 0ns and tcp.rtt < 1s").select_rows(reader, rows)) == np.count_nonzero(
        network_values(session, "tcp.rtt")
    )
    sides = network_values(session, "tcp.reset")
    assert compile_filter('tcp.reset == "client"').select_rows(reader, rows).tolist() == [
        row for row in rows if sides[row] == "client"
    ]


def test_durations_have_a_unit_in_their_names() -> None:
    for name, field in FIELDS.items():
        assert not name.startswith("tcp.") or (field.kind.name == "DURATION") == name.endswith("_ns")


# ---- fields of the TLS connection that carried a message, with keys and without


TLS = Path(__file__).parents[3] / "golden" / "tls"
NAMES = ("tls.version", "tls.cipher", "tls.sni", "tls.alpn", "tls.ja4")
ETM = ("TLS 1.2", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", None, None, "t12i020600_24f557f1cbee_e7e480e5a997")


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("with_keys", [False, True])
def test_rows_have_the_facts_of_their_connection(with_keys: bool, streaming: bool) -> None:
    name = "k_ossl_t12_etm_sha256"
    secrets = KeyRing([str(TLS / f"{name}.keylog")]) if with_keys else None
    with Session([TLS / f"{name}.pcap.zst"], secrets=secrets).load() as session:
        rows = np.arange(len(session.rows))
        fields, reading = resolve_fields(NAMES), FieldReader(RowReader(session, streaming=streaming), ())
        found = [[(*each, None)[0] for each in reading.read_by_row(field, rows)] for field in fields]
        each_row = set(zip(*found, strict=True))
        # Without keys a connection has two rows, and the client's may close before there is a ServerHello.
        assert each_row <= {ETM, (None, None, *ETM[2:])}
        assert ETM in each_row
        chosen = compile_filter('tls.version == "TLS 1.2" and tls.handshake.ja4 ~ "^t12i"')
        assert len(chosen.select_rows(RowReader(session), range(len(rows)))) == len(rows)


def test_raw_rows_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts of the rows are asked for."""
    asked = []
    search = tls_facts.find_raw_rows

    def count(session: Session, streams: Ints | None = None) -> dict[int, dict[int, int]]:
        asked.append(streams)
        return search(session, streams)

    monkeypatch.setattr(tls_facts, "find_raw_rows", count)
    with Session([TLS / "k_ossl_t12_etm_sha256.pcap.zst"]).load() as session:
        reading, (field,) = FieldReader(RowReader(session), ()), resolve_fields(["tls.ja4"])
        each = [reading.read_by_row(field, np.array([row])) for row in range(len(session.rows))]
    assert {value for (values,) in each for value in values} == {ETM[-1]}
    assert asked == [None]


def test_rows_without_tls_have_none() -> None:
    with Session([TLS / "k_plain_on_tls.pcap.zst"]).load() as session:
        chosen = compile_filter("tls.version or tls.sni").select_rows(RowReader(session), range(len(session.rows)))
        assert not len(chosen)


# ---- the field slow: held against latencies that are sorted one operation at a time


def test_slow_is_beyond_the_99th_percentile_of_its_operation() -> None:
    capture = wa.open(ROOT / "captures" / "kafka.pcap", jobs=1)
    latencies: dict[str | None, list[int]] = defaultdict(list)
    for message in capture.messages("role == response and latency"):
        assert message.latency_ns is not None
        latencies[message.operation].append(message.latency_ns)
    bounds = {name: sorted(some)[(len(some) * 99 + 99) // 100 - 1] for name, some in latencies.items()}
    wanted = [
        message.number
        for message in capture.messages("role == response and latency")
        if (message.latency_ns or 0) > bounds[message.operation]
    ]
    assert [message.number for message in capture.messages("slow")] == wanted != []
