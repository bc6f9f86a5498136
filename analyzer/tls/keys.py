"""Finds the secrets of a session and derives its keys.

The state of a session holds no secret, so it can be sent to another process or written to a file. It names the secret
that it uses, and looks it up again.

A line is a label, an identifier and a secret, the last two as hexadecimal digits. The identifier is the client's
random. In `RSA` lines it is the beginning of the encrypted premaster secret, and in the oldest lines a session's id.
Lines of other forms are counted and skipped. A KeyLog has no representation that shows a secret, and it is never
pickled.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple, Protocol

from analyzer.tls.cipher import RecordCipher, make_cipher
from analyzer.tls.handshake import ClientHello, ServerHello
from analyzer.tls.key_schedule import (
    MASTER,
    KeyMaterial,
    derive_extended_master,
    derive_key_block,
    derive_master,
    derive_traffic_keys,
    measure_digest,
    update_secret,
)
from analyzer.tls.suites import Suite

CLIENT_RANDOM, RSA, SESSION_ID = "CLIENT_RANDOM", "RSA", "RSA Session-ID"
CLIENT_EARLY = "CLIENT_EARLY_TRAFFIC_SECRET"
CLIENT_HANDSHAKE, SERVER_HANDSHAKE = "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"
CLIENT_TRAFFIC, SERVER_TRAFFIC = "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"

LABELS = frozenset(
    {CLIENT_RANDOM, RSA, CLIENT_EARLY, CLIENT_HANDSHAKE, SERVER_HANDSHAKE, CLIENT_TRAFFIC, SERVER_TRAFFIC}
)
"""Labels of secrets that decrypt something; others (exporters, later generations) are valid but not needed."""

MOST_SESSIONS = 1_000_000
"""Maximum number of sessions in a KeyLog; the oldest are removed first."""

LONGEST_LINE = 2048

_LINE = re.compile(rb"([A-Z][A-Z0-9_]*) ([0-9A-Fa-f]{2,1024}) ([0-9A-Fa-f]{2,1024})")
_OLD_LINE = re.compile(rb"RSA Session-ID:([0-9A-Fa-f]{2,64}) Master-Key:([0-9A-Fa-f]{96})")


class KeyLog:
    """Holds secrets by identifier and label. `foreign`: number of lines that are not of a key log.

    more: where it looks for secrets that it does not hold.
    """

    def __init__(self, more: KeyLog | None = None) -> None:
        self._secrets: dict[bytes, dict[str, bytes]] = {}
        self._more = more
        self.foreign = 0

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return f"KeyLog({len(self._secrets)} sessions)"

    def __reduce__(self) -> str:
        raise TypeError("secrets are not pickled")

    def add(self, label: str, identifier: bytes, secret: bytes) -> None:
        """Adds a secret; it replaces an earlier one of the same name."""
        self._secrets.setdefault(identifier, {})[label] = secret
        if len(self._secrets) > MOST_SESSIONS:
            del self._secrets[next(iter(self._secrets))]

    def find(self, label: str, identifier: bytes) -> bytes | None:
        """Returns a secret, or None if there is none."""
        found = self._secrets.get(identifier, {}).get(label)
        return self._more.find(label, identifier) if found is None and self._more is not None else found

    def feed(self, text: bytes) -> None:
        """Adds the secrets of whole lines."""
        for line in text.splitlines():
            line = line.strip()
            if not line or line.startswith(b"#"):
                continue
            found = _LINE.fullmatch(line) if len(line) <= LONGEST_LINE else None
            if found is not None and not (len(found[2]) | len(found[3])) & 1:
                label = found[1].decode()
                if label in LABELS:
                    self.add(label, bytes.fromhex(found[2].decode()), bytes.fromhex(found[3].decode()))
            elif (old := _OLD_LINE.fullmatch(line)) is not None and not len(old[1]) & 1:
                self.add(SESSION_ID, bytes.fromhex(old[1].decode()), bytes.fromhex(old[2].decode()))
            else:
                self.foreign += 1

    def lines(self, identifier: bytes) -> Iterator[str]:
        """Yields the lines of the session with this client random, to be written into a capture."""
        for label, secret in self._secrets.get(identifier, {}).items():
            if label != SESSION_ID:
                yield f"{label} {identifier.hex()} {secret.hex()}"


class LineBuffer:
    """Splits the text of a growing file into complete lines; keeps an incomplete last line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, text: bytes) -> bytes:
        """Returns the lines that are complete now. An overlong line is dropped."""
        whole, end, rest = (self._rest + text).rpartition(b"\n")
        self._rest = rest if len(rest) <= LONGEST_LINE else rest[:LONGEST_LINE] + b"#"
        return whole + end

    def peek(self) -> bytes:
        """Returns the incomplete line: the last line of a file may lack its line end."""
        return self._rest


class Secrets(Protocol):
    """Finds secrets; implemented by KeyRing.

    version: counts additions. grows: a secret may arrive after the bytes that need it, as in a live capture.
    """

    version: int
    grows: bool

    def refresh(self) -> bool:
        """Looks for new secrets; returns whether there were any."""

    def find(self, label: str, identifier: bytes) -> bytes | None:
        """Returns a secret by its label and identifier, as in a key log."""

    def learn(self, label: str, identifier: bytes, secret: bytes) -> None:
        """Adds a secret derived with a private key."""

    def decrypt_premaster(self, certificate: bytes, encrypted: bytes) -> bytes | None:
        """Returns an RSA premaster secret if the private key of a certificate (DER) is there."""


class Epoch(IntEnum):
    """The kind of secret under which a direction sends."""

    CLEAR = 0
    EARLY = 1
    HANDSHAKE = 2
    TRAFFIC = 3


_LABELS = {
    (Epoch.EARLY, True): CLIENT_EARLY,
    (Epoch.HANDSHAKE, True): CLIENT_HANDSHAKE,
    (Epoch.HANDSHAKE, False): SERVER_HANDSHAKE,
    (Epoch.TRAFFIC, True): CLIENT_TRAFFIC,
    (Epoch.TRAFFIC, False): SERVER_TRAFFIC,
}

MOST_GENERATIONS = 1 << 10
"""Maximum number of key updates of a direction; each derives its secret from the first, so the cost is quadratic."""


class RsaExchange(NamedTuple):
    """Holds the public data of an RSA key exchange. `transcript`: the messages up to it, b"" if not needed."""

    certificate: bytes
    encrypted: bytes
    transcript: bytes


class Parameters(NamedTuple):
    """Holds the parameters that both hellos agreed on."""

    client: ClientHello
    server: ServerHello
    suite: Suite
    exchange: RsaExchange | None = None

    def find_cipher(
        self, secrets: Secrets, from_client: bool, epoch: Epoch, generation: int = 0
    ) -> RecordCipher | None:
        """Returns the cipher for the records of a direction; None if the secret is unknown. generation: key updates."""
        keys = self._find_keys(secrets, from_client, epoch, generation)
        return None if keys is None else make_cipher(self.suite, keys, encrypt_then_mac=self.server.encrypt_then_mac)

    def _find_keys(self, secrets: Secrets, from_client: bool, epoch: Epoch, generation: int) -> KeyMaterial | None:
        if not self.suite.is_tls13:
            master = self._find_master(secrets)
            if master is None or len(master) != MASTER:
                return None
            return derive_key_block(master, self.client.random, self.server.random, self.suite)[not from_client]
        secret = secrets.find(_LABELS[epoch, from_client], self.client.random)
        if secret is None or len(secret) != measure_digest(self.suite.hash) or generation > MOST_GENERATIONS:
            return None
        for _ in range(generation):
            secret = update_secret(secret, self.suite)
        return derive_traffic_keys(secret, self.suite)

    def _find_master(self, secrets: Secrets) -> bytes | None:
        """Returns the master secret: by the client's random, by the key exchange, or of the resumed session."""
        master = secrets.find(CLIENT_RANDOM, self.client.random)
        if master is None and self.exchange is not None:
            master = self._exchange_master(self.exchange, secrets)
        return self._find_resumed(secrets) if master is None else master

    def _find_resumed(self, secrets: Secrets) -> bytes | None:
        """Returns the master secret of the resumed session, and keeps it for exports of this session's secrets."""
        master = None
        if self.client.ticket:
            master = secrets.find(SESSION_ID, name_ticket(self.client.ticket))
        if master is None and self.server.session_id:
            master = secrets.find(SESSION_ID, self.server.session_id)
        if master is not None:
            secrets.learn(CLIENT_RANDOM, self.client.random, master)
        return master

    def _exchange_master(self, exchange: RsaExchange, secrets: Secrets) -> bytes | None:
        premaster = secrets.find(RSA, exchange.encrypted[:8])
        if premaster is None:
            premaster = secrets.decrypt_premaster(exchange.certificate, exchange.encrypted)
        if premaster is None:
            return None
        if self.server.extended_master:
            master = derive_extended_master(premaster, exchange.transcript, self.suite.hash)
        else:
            master = derive_master(premaster, self.client.random + self.server.random, self.suite.hash)
        secrets.learn(CLIENT_RANDOM, self.client.random, master)
        return master

    def learn_session(self, secrets: Secrets, identifier: bytes) -> None:
        """Keeps the master secret for a session that this id or ticket will resume (TLS 1.2)."""
        master = self._find_master(secrets)
        if master is not None and identifier:
            secrets.learn(SESSION_ID, identifier, master)


def name_ticket(ticket: bytes) -> bytes:
    """Returns a short identifier of a ticket."""
    return hashlib.sha256(ticket).digest()
