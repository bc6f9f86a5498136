from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.tls.facts import Refusal
from analyzer.tls.keys import KeyLog
from analyzer.tls.records import RecordReader
from analyzer.tls.session import TlsSession
from tests.analyzer.tls.talking import CLIENT, SERVER, Flight, Keys, Script, converse, decrypt, sent, texts

SUITES = [
    ("1.2", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("1.2", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("1.2", "ECDHE-RSA-CHACHA20-POLY1305"),
    ("1.2", "ECDHE-RSA-AES128-SHA"),
    ("1.2", "ECDHE-RSA-AES256-SHA384"),
    ("1.2", "AES128-SHA256"),
    ("1.2", "AES128-CCM"),
    ("1.2", "AES256-CCM8"),
    ("1.2", "AES256-GCM-SHA384"),
    ("1.3", "TLS_AES_128_GCM_SHA256"),
    ("1.3", "TLS_AES_256_GCM_SHA384"),
    ("1.3", "TLS_CHACHA20_POLY1305_SHA256"),
    ("1.3", "TLS_AES_128_CCM_SHA256"),
    ("1.3", "TLS_AES_128_CCM_8_SHA256"),
]


pytestmark = pytest.mark.xdist_group("tls")


@cache
def talk_once(version: str, ciphers: str) -> tuple[list[list[Flight]], str]:
    """Two sessions of a suite and their key log: making a certificate and a process costs more than all tests of it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        suites = f"{ciphers}:@SECLEVEL=0" if version == "1.2" else ciphers
        return converse(folder, version, suites, 8, sessions=2), (folder / "key.log").read_text()


@pytest.fixture(params=SUITES, ids=" ".join)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[list[Flight]], Keys]:
    sessions, log = talk_once(*request.param)
    (tmp_path / "key.log").write_text(log)
    return sessions, Keys(tmp_path / "key.log")


@pytest.mark.sampled(5)
def test_each_suite_is_decrypted_whole_byte_by_byte_and_carried_on(talk: tuple[list[list[Flight]], Keys]) -> None:
    sessions, keys = talk
    for number, flights in enumerate(sessions):
        whole = TlsSession()
        assert texts(decrypt(whole, flights, keys)) == sent(flights)
        assert whole.facts.server_name == "localhost"
        assert whole.facts.alpn == "kafka"
        assert not any(whole.facts.failed + whole.facts.lost)
        assert whole.facts.resumed == bool(number)
        carried, found = TlsSession(), []
        for flight in flights:
            for at in range(len(flight.data)):
                found += carried.feed(flight.side, flight.data[at : at + 1], 1, 1, keys)
            carried = pickle.loads(pickle.dumps(carried))
        assert texts(found) == sent(flights)


def test_a_wrong_key_is_noticed_at_the_first_record(talk: tuple[list[list[Flight]], Keys]) -> None:
    (flights, _), keys = talk
    wrong = Keys()
    for random, secrets in keys.log._secrets.items():
        for label, secret in secrets.items():
            wrong.log.add(label, random, bytes(reversed(secret)))
    session = TlsSession()
    assert texts(decrypt(session, flights, wrong)) == (b"", b"")
    assert session.facts.refusal is Refusal.WRONG_KEY
    session = TlsSession()
    assert texts(decrypt(session, flights, Keys())) == (b"", b"")
    assert session.facts.refusal is Refusal.NO_KEY


def test_no_state_holds_a_secret(talk: tuple[list[list[Flight]], Keys]) -> None:
    (flights, _), keys = talk
    session = TlsSession()
    decrypt(session, flights, keys)
    with pytest.raises(TypeError, match="keys are not pickled"):
        pickle.dumps(session.halves)
    data = pickle.dumps(session)
    ours = [secret for each in keys.log._secrets.values() for secret in each.values()]
    assert not any(secret in data or secret[:16] in data for secret in ours)
    with pytest.raises(TypeError):
        pickle.dumps(keys.log)
    assert not any(secret.hex() in repr(keys.log) for secret in ours)


def script(**how: object) -> tuple[Script, list[Flight]]:
    text = Script(**how)  # type: ignore[arg-type]
    return text, text.hello()


def test_key_updates_and_padding() -> None:
    text, flights = script(code=0x1303)
    for number in range(20):
        flights.append(text.send(number % 2, b"text %d" % number, padding=number * 7 % 30))
        if number % 3 == 0:
            flights.append(text.update(number % 2))
    session = TlsSession()
    assert texts(decrypt(session, flights, text.keys)) == sent(flights)
    assert session.facts.key_updates == 7


@pytest.mark.parametrize("accepted", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_early_data(accepted: bool, known: bool) -> None:
    text = Script(early=True)
    flights = [*text.hello(b"early", accepted=accepted), text.send(CLIENT, b"late"), text.send(SERVER, b"answer")]
    if not known:
        del text.keys.log._secrets[text.random]["CLIENT_EARLY_TRAFFIC_SECRET"]
    session = TlsSession()
    client, server = texts(decrypt(session, flights, text.keys))
    assert server == b"answer"
    assert client == (b"early" if known else b"") + b"late"


@pytest.mark.parametrize("side", [CLIENT, SERVER])
@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(("cut", "costs"), [((3, 9), 1), ((-4, 0), 1), ((0, 40), 1), ((-2, 2), 2), ((0, 400), 10)])
def test_a_loss_costs_the_records_that_it_lies_in(side: int, update: bool, cut: tuple[int, int], costs: int) -> None:
    """cut: lost bytes, from the begin (or end) of the third record."""
    output, flights = script()
    records = [output.send(side, b"record %02d " % number * 2) for number in range(3)]
    if update:
        records.append(output.update(side))
    records += [output.send(side, b"record %02d " % number * 2) for number in range(3, 20)]
    wire = b"".join(each.data for each in records)
    begin = sum(len(each.data) for each in records[:2])
    first, last = begin + cut[0], begin + cut[1]
    if cut[0] < 0 and not cut[1]:
        last = begin
    session = TlsSession()
    decrypt(session, flights, output.keys)
    found = session.feed(side, wire[:first], 50, 50, output.keys)
    found += session.lose(side, last - first, 51, 51, output.keys)
    found += session.feed(side, wire[last:], 52, 52, output.keys)
    text = b"".join(each.text for each in records)
    whole = b"".join(each.data or b"?" * each.lost for each in found)
    remaining = [number for number in range(20) if b"record %02d " % number * 2 in whole]
    assert 20 - len(remaining) <= costs + update
    assert session.facts.refusal is None
    if not update:
        assert len(whole) == len(text)
        assert all(ours in (0x3F, theirs) for ours, theirs in zip(whole, text, strict=True))


def test_a_session_that_began_before_is_named() -> None:
    text, _ = script()
    session = TlsSession()
    assert not decrypt(session, [text.send(CLIENT, b"middle")], text.keys)
    assert session.facts.refusal is Refusal.NO_HANDSHAKE


def test_a_loss_within_the_handshake_is_named() -> None:
    text, flights = script()
    session = TlsSession()
    session.lose(SERVER, 90, 1, 1, text.keys)
    decrypt(session, [*flights[:1], *flights[2:]], text.keys)
    assert session.facts.refusal in (Refusal.INCOMPLETE, Refusal.NO_HANDSHAKE)


def test_packets_and_times_are_those_that_carried_the_bytes() -> None:
    text, flights = script()
    session = TlsSession()
    decrypt(session, flights, text.keys)
    record = text.send(CLIENT, b"0123456789").data
    found = []
    for packet, part in enumerate((record[:8], record[8:12], record[12:20], record[20:]), 100):
        found += session.feed(CLIENT, part, packet, packet * 10, text.keys)
    (whole,) = found
    assert [(span.length, span.packet, span.time) for span in whole.spans] == [
        *[(3, 100, 1000), (4, 101, 1010), (2, 102, 1020), (1, 103, 1030)]
    ]


@given(st.lists(st.tuples(st.integers(0, 1), st.binary(max_size=60), st.integers(0, 40)), max_size=20), st.booleans())
def test_any_bytes_are_taken(parts: list[tuple[int, bytes, int]], begun: bool) -> None:
    text, flights = script()
    session = TlsSession()
    if begun:
        decrypt(session, flights, text.keys)
    for side, data, lost in parts:
        for each in session.feed(side, data, 1, 1, text.keys) + session.lose(side, lost, 1, 1, text.keys):
            assert each.lost or sum(span.length for span in each.spans) == len(each.data)


@given(st.data())
def test_a_damaged_conversation_never_gives_wrong_plaintext(data: st.DataObject) -> None:
    output, flights = script()
    flights += [output.send(number % 2, b"<%03d>" % number) for number in range(30)]
    session, found = TlsSession(), []
    for flight in flights:
        damage = data.draw(st.sampled_from(("none", "none", "none", "flip", "lose", "cut")))
        at = data.draw(st.integers(0, len(flight.data) - 1))
        if damage == "lose":
            found += session.lose(flight.side, len(flight.data), 1, 1, output.keys)
        elif damage == "flip":
            changed = bytes((*flight.data[:at], flight.data[at] ^ 1, *flight.data[at + 1 :]))
            found += session.feed(flight.side, changed, 1, 1, output.keys)
        elif damage == "cut":
            found += session.feed(flight.side, flight.data[:at], 1, 1, output.keys)
            found += session.lose(flight.side, len(flight.data) - at, 1, 1, output.keys)
        else:
            found += session.feed(flight.side, flight.data, 1, 1, output.keys)
    for side, text in enumerate(texts(found)):
        pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
        assert pieces == sorted(pieces)
        assert set(pieces) <= {b"<%03d>" % number for number in range(side, 30, 2)}


@given(st.binary(max_size=300))
def test_key_logs_take_any_text(text: bytes) -> None:
    log = KeyLog()
    log.feed(text)
    assert len(log) <= text.count(b" ")


def test_a_record_of_many_small_pieces_behind_a_loss_is_looked_at_once() -> None:
    """The work is in proportion to the pieces, though a loss in the record might hide more than the record."""
    reader, body = RecordReader(), bytes(range(256)) * 60
    reader.feed(b"\x17\3\3" + len(body).to_bytes(2), 1, 1)
    reader.lose(1, 2, 2)
    before = process_time()
    for number, value in enumerate(body[1:-1], 3):
        reader.feed(bytes((value,)), number, number)
        assert reader.next_record() is None
    assert process_time() - before < 2  # 0.1; it was 12
    reader.feed(body[-1:], 99_999, 99_999)
    record = reader.next_record()
    assert record is not None
    assert record.lost
    assert record.body[1:] == body[1:]
    reader.feed(b"\x17\3\3\0\x10", 1, 1)
    reader.lose(17, 2, 2)
    assert reader.next_record() is None
    assert reader.hunting
