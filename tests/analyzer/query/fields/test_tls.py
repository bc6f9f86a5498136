"""Fields of the TLS connection that carried a message, with keys and without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.arrays import Ints
from analyzer.decode import tls_facts
from analyzer.decode.rows import RowReader
from analyzer.query.fields.catalog import resolve_fields
from analyzer.query.fields.reading import FieldReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from analyzer.tls.key_files import KeyRing

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
