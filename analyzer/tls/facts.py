"""The facts of a TLS connection that can be read without keys, and the state of its decryption."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from analyzer.tls.alerts import name_alert
from analyzer.tls.certificates import Certificate
from analyzer.tls.handshake import VERSIONS
from analyzer.tls.suites import name_suite

MOST_ALERTS = 8
MOST_CERTIFICATES = 4
MOST_VERSIONS = 16


class Refusal(StrEnum):
    """The reasons why a connection, or the rest of it, is not decrypted."""

    NO_KEY = "its keys are in no key log"
    WRONG_KEY = "its keys do not fit"
    NO_HANDSHAKE = "the capture begins inside the session, without its handshake"
    INCOMPLETE = "the capture lacks a part of its handshake"
    OLD_VERSION = "its version is not decrypted"
    SUITE = "its cipher suite is not decrypted"
    RENEGOTIATED = "the session was renegotiated"
    COMPRESSED = "its records are compressed"
    NO_DATA = "it carried no data"


class Alert(NamedTuple):
    """One alert. encrypted: only the keys made it readable."""

    from_client: bool
    fatal: bool
    code: int
    encrypted: bool = False

    def __str__(self) -> str:
        return name_alert(self.code)


@dataclass(slots=True)
class TlsFacts:
    """Holds the facts of a connection. Fields are empty, 0 or None until a message sets them.

    random: of the client; key logs identify the session by it.

    offered: versions of the client. opened, failed: records by side, the client (0) and the server (1). `failed`
    records did not match their keys; `lost` records lack bytes. is_reported: a finding reports the refusal.
    """

    random: bytes = b""
    server_name: str = ""
    offered: tuple[int, ...] = ()
    fingerprint: str = ""
    version: int = 0
    suite: int = 0
    alpn: str = ""
    resumed: bool = False
    retried: bool = False
    certificates: list[Certificate] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    key_updates: int = 0
    opened: list[int] = field(default_factory=lambda: [0, 0])
    failed: list[int] = field(default_factory=lambda: [0, 0])
    lost: list[int] = field(default_factory=lambda: [0, 0])
    refusal: Refusal | None = None
    is_reported: bool = False

    @property
    def is_decrypted(self) -> bool:
        """Whether data was decrypted, and nothing indicates wrong keys."""
        return self.refusal is None and any(self.opened)

    @property
    def version_name(self) -> str:
        """The usual name of the version that the server chose; empty if it is unknown."""
        return VERSIONS.get(self.version, f"version 0x{self.version:04x}") if self.version else ""

    @property
    def suite_name(self) -> str:
        """The name of the chosen suite; empty if it is unknown."""
        return name_suite(self.suite) if self.suite else ""

    def add_alert(self, alert: Alert) -> None:
        """Records an alert; only the first ones are kept."""
        if len(self.alerts) < MOST_ALERTS:
            self.alerts.append(alert)
