"""Cipher suites (IANA's registry of TLS parameters): a table of numbers and names. A name describes its suite fully.

A name is `TLS_<key exchange>_WITH_<cipher>_<hash>` up to TLS 1.2, and `TLS_<cipher>_<hash>` in TLS 1.3. If the cipher
authenticates (GCM, CCM, ChaCha20-Poly1305), the hash is that of the key derivation; else it is that of the MAC.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import NamedTuple


class Mode(Enum):
    """The ways in which a cipher protects records."""

    GCM = "GCM"
    CCM = "CCM"
    CHACHA20 = "CHACHA20"
    CBC = "CBC"
    NULL = "NULL"


class Suite(NamedTuple):
    """One cipher suite. `exchange` is empty in TLS 1.3; key, mac and tag in bytes.

    hash: of the PRF or HKDF. mac: the hash of the MAC, and `mac_length` its bytes; "" if the cipher authenticates.
    """

    code: int
    name: str
    exchange: str
    mode: Mode
    key: int
    hash: str
    mac: str
    mac_length: int
    tag: int

    @property
    def is_tls13(self) -> bool:
        """Whether the suite is one of TLS 1.3."""
        return not self.exchange

    @property
    def fixed_nonce(self) -> int:
        """Bytes of the nonce that come from the key block."""
        if self.is_tls13 or self.mode is Mode.CHACHA20:
            return 12
        return 4 if self.mode in (Mode.GCM, Mode.CCM) else 0

    @property
    def explicit_nonce(self) -> int:
        """Bytes of the nonce or initialisation vector before each record's ciphertext."""
        if self.mode is Mode.CBC:
            return 16
        return 8 if not self.is_tls13 and self.mode in (Mode.GCM, Mode.CCM) else 0

    @property
    def overhead(self) -> int:
        """Minimum bytes by which a record's body is longer than its plaintext."""
        inner = 1 if self.is_tls13 or self.mode is Mode.CBC else 0  # the inner content type, or one byte of padding
        return self.explicit_nonce + self.tag + self.mac_length + inner


_CIPHERS = {
    "NULL": (Mode.NULL, 0, 0),
    "AES_128_GCM": (Mode.GCM, 16, 16),
    "AES_256_GCM": (Mode.GCM, 32, 16),
    "AES_128_CCM": (Mode.CCM, 16, 16),
    "AES_256_CCM": (Mode.CCM, 32, 16),
    "AES_128_CCM_8": (Mode.CCM, 16, 8),
    "AES_256_CCM_8": (Mode.CCM, 32, 8),
    "CHACHA20_POLY1305": (Mode.CHACHA20, 32, 16),
    "AES_128_CBC": (Mode.CBC, 16, 0),
    "AES_256_CBC": (Mode.CBC, 32, 0),
}
_MAC_LENGTHS = {"sha1": 20, "sha256": 32, "sha384": 48, "md5": 16}
_NAME = re.compile(r"TLS_(?:(?P<exchange>\w+?)_WITH_)?(?P<cipher>\w+?)(?:_(?P<hash>MD5|SHA|SHA256|SHA384))?")

_TABLE = """
1301 TLS_AES_128_GCM_SHA256
1302 TLS_AES_256_GCM_SHA384
1303 TLS_CHACHA20_POLY1305_SHA256
1304 TLS_AES_128_CCM_SHA256
1305 TLS_AES_128_CCM_8_SHA256
0001 TLS_RSA_WITH_NULL_MD5
0002 TLS_RSA_WITH_NULL_SHA
0005 TLS_RSA_WITH_RC4_128_SHA
000a TLS_RSA_WITH_3DES_EDE_CBC_SHA
002f TLS_RSA_WITH_AES_128_CBC_SHA
0032 TLS_DHE_DSS_WITH_AES_128_CBC_SHA
0033 TLS_DHE_RSA_WITH_AES_128_CBC_SHA
0034 TLS_DH_anon_WITH_AES_128_CBC_SHA
0035 TLS_RSA_WITH_AES_256_CBC_SHA
0038 TLS_DHE_DSS_WITH_AES_256_CBC_SHA
0039 TLS_DHE_RSA_WITH_AES_256_CBC_SHA
003a TLS_DH_anon_WITH_AES_256_CBC_SHA
003b TLS_RSA_WITH_NULL_SHA256
003c TLS_RSA_WITH_AES_128_CBC_SHA256
003d TLS_RSA_WITH_AES_256_CBC_SHA256
0040 TLS_DHE_DSS_WITH_AES_128_CBC_SHA256
0067 TLS_DHE_RSA_WITH_AES_128_CBC_SHA256
006a TLS_DHE_DSS_WITH_AES_256_CBC_SHA256
006b TLS_DHE_RSA_WITH_AES_256_CBC_SHA256
006c TLS_DH_anon_WITH_AES_128_CBC_SHA256
006d TLS_DH_anon_WITH_AES_256_CBC_SHA256
008c TLS_PSK_WITH_AES_128_CBC_SHA
008d TLS_PSK_WITH_AES_256_CBC_SHA
009c TLS_RSA_WITH_AES_128_GCM_SHA256
009d TLS_RSA_WITH_AES_256_GCM_SHA384
009e TLS_DHE_RSA_WITH_AES_128_GCM_SHA256
009f TLS_DHE_RSA_WITH_AES_256_GCM_SHA384
00a2 TLS_DHE_DSS_WITH_AES_128_GCM_SHA256
00a3 TLS_DHE_DSS_WITH_AES_256_GCM_SHA384
00a6 TLS_DH_anon_WITH_AES_128_GCM_SHA256
00a7 TLS_DH_anon_WITH_AES_256_GCM_SHA384
00a8 TLS_PSK_WITH_AES_128_GCM_SHA256
00a9 TLS_PSK_WITH_AES_256_GCM_SHA384
00aa TLS_DHE_PSK_WITH_AES_128_GCM_SHA256
00ab TLS_DHE_PSK_WITH_AES_256_GCM_SHA384
00ae TLS_PSK_WITH_AES_128_CBC_SHA256
00af TLS_PSK_WITH_AES_256_CBC_SHA384
c004 TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA
c005 TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA
c006 TLS_ECDHE_ECDSA_WITH_NULL_SHA
c008 TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA
c009 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA
c00a TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA
c00e TLS_ECDH_RSA_WITH_AES_128_CBC_SHA
c00f TLS_ECDH_RSA_WITH_AES_256_CBC_SHA
c010 TLS_ECDHE_RSA_WITH_NULL_SHA
c012 TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA
c013 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
c014 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA
c018 TLS_ECDH_anon_WITH_AES_128_CBC_SHA
c019 TLS_ECDH_anon_WITH_AES_256_CBC_SHA
c023 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256
c024 TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384
c025 TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA256
c026 TLS_ECDH_ECDSA_WITH_AES_256_CBC_SHA384
c027 TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256
c028 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384
c029 TLS_ECDH_RSA_WITH_AES_128_CBC_SHA256
c02a TLS_ECDH_RSA_WITH_AES_256_CBC_SHA384
c02b TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
c02c TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
c02d TLS_ECDH_ECDSA_WITH_AES_128_GCM_SHA256
c02e TLS_ECDH_ECDSA_WITH_AES_256_GCM_SHA384
c02f TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
c030 TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
c031 TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256
c032 TLS_ECDH_RSA_WITH_AES_256_GCM_SHA384
c035 TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA
c036 TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA
c037 TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA256
c038 TLS_ECDHE_PSK_WITH_AES_256_CBC_SHA384
c09c TLS_RSA_WITH_AES_128_CCM
c09d TLS_RSA_WITH_AES_256_CCM
c09e TLS_DHE_RSA_WITH_AES_128_CCM
c09f TLS_DHE_RSA_WITH_AES_256_CCM
c0a0 TLS_RSA_WITH_AES_128_CCM_8
c0a1 TLS_RSA_WITH_AES_256_CCM_8
c0a2 TLS_DHE_RSA_WITH_AES_128_CCM_8
c0a3 TLS_DHE_RSA_WITH_AES_256_CCM_8
c0ac TLS_ECDHE_ECDSA_WITH_AES_128_CCM
c0ad TLS_ECDHE_ECDSA_WITH_AES_256_CCM
c0ae TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8
c0af TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8
cca8 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
cca9 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
ccaa TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256
ccab TLS_PSK_WITH_CHACHA20_POLY1305_SHA256
ccac TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256
"""


@cache
def _names() -> dict[int, str]:
    """Returns the names of all suites of the table by their numbers."""
    rows = (line.split() for line in _TABLE.strip().splitlines())
    return {int(code, 16): name for code, name in rows}


def name_suite(code: int) -> str:
    """Returns the name of a suite, or its number if the table lacks it."""
    return _names().get(code, f"0x{code:04x}")


@cache
def find_suite(code: int) -> Suite | None:
    """Returns a suite by its number; None if its records cannot be decrypted here."""
    name = _names().get(code, "")
    found = _NAME.fullmatch(name)
    cipher = found and _CIPHERS.get(found["cipher"])
    if not found or not cipher:
        return None
    mode, key, tag = cipher
    named = {"MD5": "md5", "SHA": "sha1", "SHA256": "sha256", "SHA384": "sha384", None: "sha256"}[found["hash"]]
    mac = named if mode in (Mode.CBC, Mode.NULL) else ""
    hashed = "sha256" if mac in ("sha1", "md5") else named
    return Suite(code, name, found["exchange"] or "", mode, key, hashed, mac, _MAC_LENGTHS.get(mac, 0), tag)
