"""Key logs in NSS's format (SSLKEYLOGFILE; RFC 9850), parsed line by line as a file grows.

A line is a label, an identifier and a secret, the last two as hexadecimal digits. The identifier is the client's
random. In `RSA` lines it is the beginning of the encrypted premaster secret, and in the oldest lines a session's id.
Lines of other forms are counted and skipped. A KeyLog has no representation that shows a secret, and it is never
pickled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
