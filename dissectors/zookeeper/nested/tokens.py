"""SASL tokens of ZooKeeper: which mechanism's they are, by their form.

Facts (ZooKeeperSaslClient, ZooKeeperSaslServer, SaslQuorumAuthLearner). The mechanism is never named: both sides take
it from their own configuration, DIGEST-MD5 if the login has no Kerberos ticket, otherwise GSSAPI. In DIGEST-MD5 a
client's first token is empty, and the answer to a failed step has none.
"""

from __future__ import annotations

from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.sasl.digest_md5 import digest_token
from dissectors.wire.sasl.gssapi import gssapi_token
from dissectors.wire.sasl.token import Token
from dissectors.wire.secret import Secret


def token_of(data: bytes, from_client: bool | None = None) -> Token | None:
    """Reads a SASL token by its form; None if it is empty or of no known form."""
    return digest_token(data) or gssapi_token(data, from_client)


def token_words(value: object) -> tuple[str, ...]:
    """Returns the words of the info line for a token. A null token has none."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    data = value.reveal() if isinstance(value, Secret) else None
    if not isinstance(data, bytes):
        return ()
    token = token_of(data)
    if token is not None:
        return (token.mechanism, *token.words)
    return (f"token, {len(data)} byte{'' if len(data) == 1 else 's'}",) if data else ("empty token",)
