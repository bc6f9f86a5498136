"""TLS conversations to be decrypted: of OpenSSL with itself in memory, and of records sealed here one by one.

    python -m tests.analyzer.tls.talking FOLDER VERSION CIPHERS LINES SESSIONS

prints as JSON, for each of SESSIONS sessions of which later ones resume, what each side sends, in order, as hexadecimal
digits. OPENSSL_CONF decides the suites of TLS 1.3.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from analyzer.tls.key_schedule import derive_traffic_keys, update_secret
from analyzer.tls.keys import KeyLog
from analyzer.tls.record_opener import Plaintext
from analyzer.tls.session import TlsSession
from analyzer.tls.suites import Mode, Suite, find_suite
from tests.analyzer.wire import Talk

CLIENT, SERVER = 0, 1
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class Flight(NamedTuple):
    """What one side sends at once; `text`: the plaintext in it."""

    side: int
    data: bytes
    text: bytes = b""


def make_certificate(folder: Path, *, days: int = 30) -> tuple[Path, Path]:
    """A key and a self-signed certificate for localhost as PEM files."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 7, now - timedelta(days=60), now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    text = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(text)
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return folder / "key.pem", folder / "cert.pem"


def converse(folder: Path, version: str, ciphers: str, lines: int, *, sessions: int = 1) -> list[list[Flight]]:
    """Conversations of OpenSSL with itself; the keys are in folder/key.log then."""
    if not (folder / "cert.pem").exists():
        make_certificate(folder)
    (folder / "openssl.cnf").write_text(
        "openssl_conf = conf\n[conf]\nssl_conf = ssl\n[ssl]\nsystem_default = all\n[all]\n"
        + (f"Ciphersuites = {ciphers}\n" if version == "1.3" else "")
    )
    command = [sys.executable, "-m", "tests.analyzer.tls.talking", str(folder), version, ciphers, str(lines)]
    root = Path(__file__).parents[3]
    environment = {**os.environ, "OPENSSL_CONF": str(folder / "openssl.cnf"), "PYTHONPATH": str(root)}
    done = subprocess.run([*command, str(sessions)], env=environment, cwd=root, stdout=subprocess.PIPE, check=True)
    return [
        [Flight(side, bytes.fromhex(data), text.encode()) for side, data, text in session]
        for session in json.loads(done.stdout)
    ]


def _talk(folder: Path, version: str, ciphers: str, lines: int, sessions: int) -> list[list[Flight]]:
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.load_verify_locations(folder / "cert.pem")
    client_context.keylog_filename = str(folder / "key.log")
    for context in (server_context, client_context):
        context.minimum_version = context.maximum_version = VERSIONS[version]
        context.set_alpn_protocols(["kafka"])
        if version == "1.2":
            context.set_ciphers(ciphers)
    found, earlier = [], None
    for _ in range(sessions):
        flights, earlier = _talk_once(client_context, server_context, lines, earlier)
        found.append(flights)
    return found


def _talk_once(
    client_context: ssl.SSLContext, server_context: ssl.SSLContext, lines: int, earlier: ssl.SSLSession | None
) -> tuple[list[Flight], ssl.SSLSession | None]:
    wires = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
    client = client_context.wrap_bio(*wires[0], server_hostname="localhost", session=earlier)
    server = server_context.wrap_bio(*wires[1], server_side=True)
    flights: list[Flight] = []

    def carry(side: int, text: str = "") -> None:
        data = wires[side][1].read()
        if data:
            wires[1 - side][0].write(data)
            flights.append(Flight(side, data, text.encode()))

    done = [False, False]
    while not all(done):
        for side, end in enumerate((client, server)):
            try:
                end.do_handshake()
                done[side] = True
            except ssl.SSLWantReadError:
                pass
            carry(side)
    for number in range(lines):
        text = f"line {number} " + "x" * (number * 37 % 3000)
        client.write(text.encode())
        carry(CLIENT, text)
        assert server.read(1 << 16).decode() == text
        server.write(text.upper().encode())
        carry(SERVER, text.upper())
        assert client.read(1 << 16).decode() == text.upper()
    return flights, client.session


def decrypt(session: TlsSession, flights: list[Flight], keys: Keys | None) -> list[Plaintext]:
    """All that a session makes of flights; the packet of each is its number, its time ten times that."""
    found = []
    for number, flight in enumerate(flights, 1):
        found += session.feed(flight.side, flight.data, number, number * 10, keys)
    return found


class Keys:
    """Secrets of a key log that is there from the beginning."""

    version, grows = 0, False

    def __init__(self, *logs: Path) -> None:
        self.log = KeyLog()
        for path in logs:
            self.log.feed(path.read_bytes())

    def refresh(self) -> bool:
        return False

    def find(self, label: str, identifier: bytes) -> bytes | None:
        return self.log.find(label, identifier)

    def learn(self, label: str, identifier: bytes, secret: bytes) -> None:
        self.log.add(label, identifier, secret)

    def decrypt_premaster(self, certificate: bytes, encrypted: bytes) -> bytes | None:
        return None


# ---- records of TLS 1.3 that are sealed here


@dataclass
class Sealer:
    """One direction of TLS 1.3 under a secret."""

    suite: Suite
    secret: bytes
    number: int = 0

    def seal(self, kind: int, text: bytes, padding: int = 0) -> bytes:
        """The next record."""
        from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

        keys = derive_traffic_keys(self.secret, self.suite)
        aead = {
            Mode.GCM: AESGCM,
            Mode.CHACHA20: ChaCha20Poly1305,
            Mode.CCM: lambda key: AESCCM(key, tag_length=self.suite.tag),
        }[self.suite.mode](keys.key)
        inner = text + bytes((kind,)) + bytes(padding)
        header = b"\x17\x03\x03" + (len(inner) + self.suite.tag).to_bytes(2)
        nonce = (int.from_bytes(keys.nonce) ^ self.number).to_bytes(12)
        self.number += 1
        return header + aead.encrypt(nonce, inner, header)

    def update(self) -> bytes:
        """A KeyUpdate; what follows is sealed under the next secret."""
        record = self.seal(22, b"\x18\0\0\1\0")
        self.secret, self.number = update_secret(self.secret, self.suite), 0
        return record


@dataclass
class Script:
    """A session of TLS 1.3 in which each record is sealed here. `keys` are those of its key log."""

    code: int = 0x1301
    early: bool = False
    retry: bool = False
    suite: Suite = field(init=False)
    keys: Keys = field(init=False)
    sealers: list[Sealer] = field(init=False)
    random: bytes = bytes(range(32))

    def __post_init__(self) -> None:
        suite = find_suite(self.code)
        assert suite is not None
        self.suite, self.keys = suite, Keys()
        length = 48 if suite.hash == "sha384" else 32
        names = {
            "CLIENT_EARLY_TRAFFIC_SECRET": 1,
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET": 2,
            "SERVER_HANDSHAKE_TRAFFIC_SECRET": 3,
            "CLIENT_TRAFFIC_SECRET_0": 4,
            "SERVER_TRAFFIC_SECRET_0": 5,
        }
        for name, number in names.items():
            if self.early or number > 1:
                self.keys.log.add(name, self.random, bytes((number,)) * length)
        self.sealers = [Sealer(suite, bytes((number,)) * length) for number in (4, 5)]
        self._handshake = [Sealer(suite, bytes((number,)) * length) for number in (2, 3)]
        self._early = Sealer(suite, bytes((1,)) * length)

    def hello(self, early: bytes = b"", *, accepted: bool = True) -> list[Flight]:
        """The handshake."""
        extensions = b"\0\x2b\0\3\2\3\4" + (b"\0\x2a\0\0" if self.early else b"")
        client = b"\3\3" + self.random + b"\0" + b"\0\2" + self.code.to_bytes(2) + b"\1\0" + _vector(extensions, 2)
        server = b"\3\3" + bytes(32) + b"\0" + self.code.to_bytes(2) + b"\0" + _vector(b"\0\x2b\0\2\3\4", 2)
        first = [Flight(CLIENT, _clear(1, client))]
        if early:
            first.append(Flight(CLIENT, self._early.seal(23, early), early if accepted else b""))
        flight = _clear(2, server) + b"\x14\3\3\0\1\1" + self._handshake[SERVER].seal(22, b"\x08\0\0\2\0\0")
        flight += self._handshake[SERVER].seal(22, b"\x14\0\0\x04abcd")
        ending = b"\x14\3\3\0\1\1"
        if early and accepted:
            ending += self._early.seal(22, b"\5\0\0\0")
        ending += self._handshake[CLIENT].seal(22, b"\x14\0\0\x04efgh")
        return [*first, Flight(SERVER, flight), Flight(CLIENT, ending)]

    def send(self, side: int, text: bytes, padding: int = 0) -> Flight:
        """A record of data."""
        return Flight(side, self.sealers[side].seal(23, text, padding), text)

    def update(self, side: int) -> Flight:
        """A KeyUpdate."""
        return Flight(side, self.sealers[side].update())


def encrypt(
    talk: Talk, number: int, *, record: int = 1 << 14, update: int = 7, code: int = 0x1301
) -> tuple[Talk, Script]:
    """A conversation within TLS 1.3: records of at most `record` bytes, keys updated after each `update` writes."""
    text = Script(code=code, random=number.to_bytes(32))
    flights = text.hello()
    for place, (side, data) in enumerate(talk.writes):
        flights += [text.send(side, data[at : at + record]) for at in range(0, len(data), record)]
        if place % update == update - 1:
            flights.append(text.update(side))
    return replace(talk, writes=tuple((each.side, each.data) for each in flights)), text


def write_key_log(path: Path, scripts: Iterable[Script]) -> Path:
    """The keys of sessions as a file."""
    path.write_text("".join(f"{line}\n" for each in scripts for line in each.keys.log.lines(each.random)))
    return path


def _vector(data: bytes, width: int) -> bytes:
    return len(data).to_bytes(width) + data


def _clear(kind: int, body: bytes) -> bytes:
    return b"\x16\3\3" + _vector(bytes((kind,)) + _vector(body, 3), 2)


def texts(found: list[Plaintext]) -> tuple[bytes, bytes]:
    """The plaintext of both sides."""
    client, server = (b"".join(each.data for each in found if each.side == side) for side in (CLIENT, SERVER))
    return client, server


def sent(flights: list[Flight]) -> tuple[bytes, bytes]:
    """What both sides sent."""
    client, server = (b"".join(each.text for each in flights if each.side == side) for side in (CLIENT, SERVER))
    return client, server


if __name__ == "__main__":
    _folder, _version, _ciphers, _lines, _sessions = sys.argv[1:]
    _found = _talk(Path(_folder), _version, _ciphers, int(_lines), int(_sessions))
    print(json.dumps([[(each.side, each.data.hex(), each.text.decode()) for each in one] for one in _found]))
