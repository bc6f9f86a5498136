"""Identities of clients: credentials that they send, and their names in access lists.

Facts (DigestAuthenticationProvider). For scheme `digest` a client sends `USER:PASSWORD`, and access lists have
`USER:HASH` with the hash, SHA-1 in base64, of the two. `super` is the administrator's name in the server's own list; it
is authenticated as a digest too. A hash can be tried against passwords, so it is as secret as they are; the user is in
every log. In a list that a client sends, scheme `auth` stands for its authenticated identities, whatever is beside it.
But people pass `auth:USER:PASSWORD:cdrwa` to zkCli.sh, which sends the password as it is. For other schemes the server
examines the connection (ip, x509, sasl) or nothing (world), not the sent bytes. Their content is unknown, so it stays a
secret.
"""

from __future__ import annotations

from collections.abc import Mapping

from dissectors.wire.parts import ValuePart, hide_part, show_part, text_of

CREDENTIALS = "DigestCredentials"
_DIGEST_SCHEMES = frozenset({"digest", "super"})
_HIDDEN: Mapping[object, str] = {**dict.fromkeys(_DIGEST_SCHEMES, "hash"), "auth": "password"}
"""What stands behind the user in an access list, by scheme."""

SECRET_SCHEMES = tuple(sorted(map(str, _HIDDEN)))


def credential_parts(scheme: object, data: bytes) -> tuple[ValuePart, ...] | None:
    """Returns user and password; None where nobody says what the bytes are."""
    return _split_at_colon(data, "password") if scheme in _DIGEST_SCHEMES else None


def identity_parts(scheme: object, data: bytes) -> tuple[ValuePart, ...] | None:
    """Returns user and secret of an entry in an access list; a hash has no colon in it."""
    secret = _HIDDEN.get(scheme)
    return None if secret is None or (secret == "hash" and data.count(b":") != 1) else _split_at_colon(data, secret)


def _split_at_colon(data: bytes, secret: str) -> tuple[ValuePart, ...] | None:
    """At the first colon; without one all may be the secret."""
    at = data.find(b":")
    if at < 0:
        return None
    return show_part("user", text_of(data[:at]), 0, at), hide_part(secret, data, at, len(data), 1)
