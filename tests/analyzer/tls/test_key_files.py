from __future__ import annotations

import pickle
import stat
from pathlib import Path

import pytest

from analyzer.errors import UserError
from analyzer.tls.facts import Refusal
from analyzer.tls.key_files import PASSWORD_VARIABLE, KeyPasswords, KeyRing, load_private_key
from analyzer.tls.keys import CLIENT_RANDOM, SESSION_ID, KeyLog, LineBuffer
from analyzer.tls.session import TlsSession
from tests.analyzer.tls.talking import Flight, converse, make_certificate, sent, texts

RANDOM, SECRET = "ab" * 32, "cd" * 48


def test_lines() -> None:
    log = KeyLog()
    log.feed(
        f"# a comment\nCLIENT_RANDOM {RANDOM} {SECRET}\r\n\nRSA {RANDOM[:16]} {SECRET.upper()}\nnonsense\n"
        f"EXPORTER_SECRET {RANDOM} {SECRET}\nRSA Session-ID:{RANDOM} Master-Key:{SECRET}\n"
        f"CLIENT_RANDOM {RANDOM[:-1]} {SECRET}\n".encode()
    )
    assert log.find(CLIENT_RANDOM, bytes.fromhex(RANDOM)) == bytes.fromhex(SECRET)
    assert log.find("RSA", bytes.fromhex(RANDOM)[:8]) == bytes.fromhex(SECRET)
    assert log.find(SESSION_ID, bytes.fromhex(RANDOM)) == bytes.fromhex(SECRET)
    assert log.foreign == 2
    assert list(log.lines(bytes.fromhex(RANDOM))) == [f"CLIENT_RANDOM {RANDOM} {SECRET}"]


def test_a_line_is_taken_when_it_is_whole() -> None:
    lines = LineBuffer()
    assert lines.feed(b"one\ntw") == b"one\n"
    assert lines.feed(b"o") == b""
    assert lines.peek() == b"two"
    assert lines.feed(b"\n") == b"two\n"
    assert lines.feed(b"x" * 100_000) == b""
    assert len(lines.peek()) < 5000


def test_a_key_log_is_followed_replaced_and_may_come_later(tmp_path: Path) -> None:
    path = tmp_path / "key.log"
    with pytest.raises(UserError, match=r"Cannot read the key log .*: No such file or directory\."):
        KeyRing([str(path)])
    ring = KeyRing([str(path)], grows=True)
    first, second = bytes(32), bytes(31) + b"1"
    assert ring.find(CLIENT_RANDOM, first) is None
    path.write_text(f"CLIENT_RANDOM {first.hex()} {SECRET[:-4]}")
    assert ring.find(CLIENT_RANDOM, first) == bytes.fromhex(SECRET)[:-2]
    with path.open("a") as file:
        file.write(f"{SECRET[-4:]}\n")
    assert ring.refresh()
    assert not ring.refresh()
    assert ring.find(CLIENT_RANDOM, first) == bytes.fromhex(SECRET)
    path.write_text(f"CLIENT_RANDOM {second.hex()} {SECRET}\n")
    assert ring.find(CLIENT_RANDOM, second) == bytes.fromhex(SECRET)
    assert ring.version == 3


def test_a_file_that_is_no_key_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[section]\nkey = value\n")
    with pytest.raises(UserError, match="is no key log"):
        KeyRing([str(tmp_path / "a")])
    (tmp_path / "a").write_text("")
    assert not len(KeyRing([str(tmp_path / "a")]).log)


def test_a_ring_pickles_as_its_paths(tmp_path: Path) -> None:
    path = tmp_path / "key.log"
    path.write_text(f"CLIENT_RANDOM {RANDOM} {SECRET}\n")
    data = pickle.dumps(KeyRing([str(path)]))
    assert bytes.fromhex(SECRET) not in data
    assert SECRET.encode() not in data
    assert pickle.loads(data).find(CLIENT_RANDOM, bytes.fromhex(RANDOM)) == bytes.fromhex(SECRET)


def test_a_password_comes_from_a_file_the_environment_or_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
        pkcs12,
    )

    plain, _ = make_certificate(tmp_path)
    key = load_pem_private_key(plain.read_bytes(), None)
    secret = BestAvailableEncryption(b"a password")
    pem, p12, password = (tmp_path / name for name in ("locked.pem", "locked.p12", "password"))
    password.write_text("a password\n")
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret))
    p12.write_bytes(pkcs12.serialize_key_and_certificates(b"a", key, None, None, secret))  # type: ignore[arg-type]
    expected = load_private_key(str(plain), KeyPasswords())[0]
    for path in map(str, (pem, p12)):
        with pytest.raises(UserError, match="needs a password"):
            load_private_key(path, KeyPasswords())
        for passwords in (KeyPasswords(str(password)), KeyPasswords(ask=lambda _: b"a password")):
            assert load_private_key(path, passwords)[0] == expected
        with pytest.raises(UserError, match="password does not fit"):
            load_private_key(path, KeyPasswords(ask=lambda _: b"another"))
        monkeypatch.setenv(PASSWORD_VARIABLE, "a password")
        assert load_private_key(path, KeyPasswords())[0] == expected
        monkeypatch.delenv(PASSWORD_VARIABLE)
    data = pickle.dumps(KeyRing([], [path], KeyPasswords(str(password), lambda _: b"never")))
    assert b"a password" not in data
    assert repr(pickle.loads(data)) == "KeyRing(0 key logs, 1 private keys)"
    with pytest.raises(UserError, match="Cannot read the password"):
        load_private_key(path, KeyPasswords(str(tmp_path / "none")))


@pytest.mark.parametrize("form", ["pem", "p12"])
@pytest.mark.parametrize("ciphers", ["AES128-GCM-SHA256", "AES256-SHA"])
def test_a_private_key_decrypts_rsa_exchanges_and_resumed_sessions(tmp_path: Path, ciphers: str, form: str) -> None:
    from cryptography.hazmat.primitives.serialization import NoEncryption, load_pem_private_key, pkcs12

    sessions = converse(tmp_path, "1.2", f"{ciphers}:@SECLEVEL=0", 4, sessions=3)
    path = tmp_path / "key.pem"
    if form == "p12":
        key = load_pem_private_key(path.read_bytes(), None)
        path = tmp_path / "key.p12"
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"a", key, None, None, NoEncryption()))  # type: ignore[arg-type]
    ring = KeyRing([], [str(path)])
    for number, flights in enumerate(sessions):
        found, session = decrypt(flights, ring)
        assert found == sent(flights)
        assert session.facts.resumed == bool(number)
        lines = list(ring.log.lines(session.facts.random))  # an export embeds them, and needs the private key no more
        alone = KeyRing()
        alone.log.feed("\n".join(lines).encode())
        assert decrypt(flights, alone)[0] == found
    (tmp_path / "other").mkdir()
    other, _ = make_certificate(tmp_path / "other")
    assert decrypt(sessions[0], KeyRing([], [str(other)]))[1].facts.refusal is Refusal.NO_KEY


def decrypt(flights: list[Flight], ring: KeyRing) -> tuple[tuple[bytes, bytes], TlsSession]:
    session, found = TlsSession(), []
    for flight in flights:
        found += session.feed(flight.side, flight.data, 1, 1, ring)
    return texts(found), session


def test_what_is_no_rsa_key_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = tmp_path / "key.pem"
    path.write_text("-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----\n")
    with pytest.raises(UserError, match="holds no private key that can be read"):
        KeyRing([], [str(path)])
    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(UserError, match="is no RSA key"):
        KeyRing([], [str(path)])
    path.chmod(stat.S_IRUSR)
    with pytest.raises(UserError, match="Cannot read the private key"):
        KeyRing([], [str(tmp_path / "none")])
