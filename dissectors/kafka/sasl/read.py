"""Which mechanism's token this is: by what the handshake said, else by its form.

Theory. Known is more than seen: under a mechanism that was agreed on only its own forms count, and a token in none of
them stays one secret. Without it (the capture began late) a form must be one that chance does not make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dissectors.api import Context, Role
from dissectors.kafka.sasl.bearer import BEARER, IAM, client_bearer, client_iam, server_bearer, server_iam
from dissectors.kafka.sasl.memory import CLIENT, SASL_MECHANISM, SASL_SENDER
from dissectors.kafka.sasl.plain import PLAIN, is_plain, plain_token
from dissectors.kafka.sasl.scram import SCRAM, STEPS
from dissectors.slotted import replace
from dissectors.wire.sasl.gssapi import GSSAPI, gssapi_token
from dissectors.wire.sasl.token import Token

Read = Callable[[bytes], Token | None]
LARGEST = 1 << 20
"""Bytes of a token that is taken apart; brokers take 512 KiB (sasl.server.max.receive.size)."""


def _plain_by_form(data: bytes) -> Token | None:
    return plain_token(data) if is_plain(data) else None


def _from_client(data: bytes) -> Token | None:
    return gssapi_token(data, True)


def _from_server(data: bytes) -> Token | None:
    return gssapi_token(data, False)


_MECHANISMS: Mapping[str, tuple[Sequence[Read], Sequence[Read]]] = {
    PLAIN: ((plain_token,), ()),
    SCRAM: (STEPS[True], STEPS[False]),
    BEARER: ((client_bearer,), (server_bearer,)),
    GSSAPI: ((_from_client,), (_from_server,)),
    IAM: ((client_iam,), (server_iam,)),
}
"""By mechanism, what reads a client's tokens, and a server's."""

_FORMS: tuple[Sequence[Read], Sequence[Read]] = (
    (_from_client, *STEPS[True], client_bearer, _plain_by_form),
    (_from_server, *STEPS[False], server_bearer),
)


def is_from_client(context: Context) -> bool | None:
    """Whether the client sent a message; None for a bare token of which the conversation has not told."""
    if context.role is not Role.RAW:
        return context.role is Role.REQUEST
    hints = context.extra or {}
    return hints[SASL_SENDER] == CLIENT if SASL_SENDER in hints else None


def read_token(data: bytes, from_client: bool | None, hints: Mapping[str, str]) -> Token | None:
    """What a token says; None where it is empty, or in no form that it may have."""
    if not data or len(data) > LARGEST:
        return None
    known = hints.get(SASL_MECHANISM)
    if known is None:
        forms = _FORMS
    else:
        family = SCRAM if known.startswith(SCRAM) else known
        if family not in _MECHANISMS:
            return None
        forms = _MECHANISMS[family]
    sides = forms if from_client is None else (forms[not from_client],)
    for read in (read for side in sides for read in side):
        token = read(data)
        if token is not None:
            return token if known is None else replace(token, mechanism=known)
    return None
