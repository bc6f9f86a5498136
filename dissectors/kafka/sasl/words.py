"""What the line for people says of a SASL message: mechanism, step, and who it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.api import Context
from dissectors.kafka.sasl.memory import SASL_AGAIN, SASL_MECHANISM, SASL_ROUND
from dissectors.kafka.sasl.nodes import TOKENS
from dissectors.kafka.sasl.read import is_from_client, read_token
from dissectors.wire.secret import Secret
from dissectors.wire.times import milliseconds

_SASL_HANDSHAKE = 17
_MOST_OFFERED = 8


def sasl_words(values: Mapping[str, Any], context: Context) -> Iterator[str]:
    """All that there is to say of such a message behind its error, from its values."""
    yield from _handshake_words(values, context) if context.code == _SASL_HANDSHAKE else _token_words(values, context)
    if isinstance(values.get("errorMessage"), str) and values["errorMessage"]:
        yield values["errorMessage"]


def _token_words(values: Mapping[str, Any], context: Context) -> Iterator[str]:
    hints = context.extra or {}
    secret = next((values[name] for name in TOKENS if name in values), None)
    data = secret.reveal() if isinstance(secret, Secret) else b""
    from_client = is_from_client(context)
    token = read_token(data, from_client, hints) if isinstance(data, bytes) else None
    mechanism = hints.get(SASL_MECHANISM) if token is None else token.mechanism
    if mechanism is not None:
        yield mechanism
    if token is not None:
        yield from token.words
    elif data:
        number = f" {hints[SASL_ROUND]}" if SASL_ROUND in hints else ""
        yield f"token{number}, {len(data)} byte{'' if len(data) == 1 else 's'}"
    elif from_client is False and not values.get("errorCode"):
        yield "accepted"
    elif from_client:
        yield "empty token"
    if SASL_AGAIN in hints:
        yield "re-authentication"
    lifetime = values.get("sessionLifetimeMs")
    if isinstance(lifetime, int) and lifetime > 0:
        yield f"session of {milliseconds(lifetime) or f'{lifetime} ms'}"


def _handshake_words(values: Mapping[str, Any], context: Context) -> Iterator[str]:
    """Which mechanism a client wants, and which ones the broker has."""
    if values.get("mechanism"):
        yield f"mechanism {values['mechanism']}"
    offered = values.get("mechanisms")
    if offered and isinstance(offered, list):
        yield "offers " + ", ".join(f"{name}" for name in offered[:_MOST_OFFERED])
    if SASL_AGAIN in (context.extra or {}):
        yield "re-authentication"
