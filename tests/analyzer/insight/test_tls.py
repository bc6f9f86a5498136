"""What TLS connections tell, without keys and with them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from analyzer.insight.diagnosis import diagnose
from analyzer.insight.tls import describe_row_tls, list_tls, summarise_tls
from analyzer.insight.tls_checks import find_tls_problems
from analyzer.session import Session
from analyzer.tls.facts import parse_certificate
from analyzer.tls.key_files import KeyRing
from tests.analyzer.tls.talking import Script, converse, make_certificate
from tests.analyzer.wire import ACK, FIN, SERVER, Segment, Talk, capture, frames, segments, write

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 9093))


def problems(path: Path, keys: Path | None = None) -> list[tuple[str, str, str]]:
    with Session([path], secrets=None if keys is None else KeyRing([str(keys)])).load() as session:
        found = [(each.code, each.text, each.advice) for _, each in find_tls_problems(session)]
        codes = {each.finding.code for each in diagnose(session)}
    assert {code for code, _, _ in found} <= codes
    return found


@pytest.mark.parametrize("with_keys", [False, True])
def test_who_trusts_another_authority_says_so(with_keys: bool) -> None:
    found = problems(GOLDEN / "k_wrongca.pcap.zst", GOLDEN / "k_wrongca.keylog" if with_keys else None)
    assert [code for code, _, _ in found] == ["tls-refused"] * 5
    text = "the client ends TLS with the alert unknown_ca: no authority that it trusts has signed the certificate"
    assert found[0][1] == text + (" (CN=localhost, O=Lab, issued by CN=Lab CA, O=Lab)" if with_keys else "")
    assert "truststore" in found[0][2]


@pytest.mark.parametrize("with_keys", [False, True])
def test_a_client_without_tls_is_reported(with_keys: bool) -> None:
    found = problems(GOLDEN / "k_plain_on_tls.pcap.zst", GOLDEN / "k_plain_on_tls.keylog" if with_keys else None)
    assert {each[:2] for each in found} == {
        ("tls-mismatch", "a client speaks kafka without TLS to port 9093, and the server answers in TLS")
    }
    assert len(found) == 10


def test_a_server_without_tls_is_reported(tmp_path: Path) -> None:
    hello = Script().hello()[0]
    talk = Talk(((0, hello.data),), ENDS)
    opening, data, ends = (part := segments(talk))[:3], part[3:4], part[4:]
    # The server sends its FIN first.
    closing = [Segment(SERVER, 0, acked=len(hello.data), flags=FIN | ACK), *ends]
    found = problems(capture(tmp_path / "a.pcap", [*opening, *data, *closing], talk))
    text = "a client speaks TLS to port 9093, and the server closes the connection without an answer of TLS"
    assert [each[:2] for each in found] == [("tls-mismatch", text)]


@pytest.mark.parametrize("text", ["the server's certificate CN=localhost expired on ", None])
def test_certificates(tmp_path: Path, text: str | None) -> None:
    _, path = make_certificate(tmp_path)
    certificate = parse_certificate(ssl.PEM_cert_to_DER_cert(path.read_text()))
    assert certificate is not None
    assert certificate.subject == certificate.issuer == "CN=localhost"
    begin = certificate.not_after * 10**9 + (5 * 86_400 * 10**9 if text else -86_400 * 10**9)
    (flights,) = converse(tmp_path, "1.2", "ECDHE-RSA-AES128-GCM-SHA256", 2)
    talk = Talk(tuple((each.side, each.data) for each in flights), ENDS)
    found = problems(write(tmp_path / "a.pcap", frames(segments(talk), talk, begin)))
    if text is None:
        assert found == []
    else:
        ((code, output, _),) = found
        assert code == "expired-certificate"
        assert output.startswith(text)
        assert output.endswith(", 5 days before the connection")


def test_hellos_and_certificates_are_reported_without_keys() -> None:
    with Session([GOLDEN / "k_ossl_t12_etm_sha256.pcap.zst"]).load() as session:
        (first,) = summarise_tls(session)
        assert (first["connections"], first["version"], first["decrypted"], first["reason"]) == (
            5,
            "TLS 1.2",
            False,
            None,
        )
        assert first["suite"] == "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"
        assert first["certificate"].startswith("CN=")
        assert first["fingerprint"].startswith("t12i")
        row = describe_row_tls(session, 0)
        assert row is not None
        assert row["suite"] == first["suite"]
        assert all(each.certificate is not None for each in list_tls(session))


def test_captures_without_tls_tell_nothing() -> None:
    with Session([Path(__file__).parents[3] / "captures" / "mixed.pcapng"]).load() as session:
        assert summarise_tls(session) == []
        assert list(find_tls_problems(session)) == []
        assert describe_row_tls(session, 0) is None
