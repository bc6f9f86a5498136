"""Reads SASL tokens: chooses the mechanism, adds the parts to a tree, and formats the info line.

Theory. If a mechanism was agreed on, only its own forms are accepted, and a token in another form stays one secret.
Without a known mechanism (the capture began late), a form must be one that does not occur by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dissectors.api import Context, Role
from dissectors.field import Field, Tree
from dissectors.kafka.sasl.bearer import BEARER, IAM, client_bearer, client_iam, server_bearer, server_iam
from dissectors.kafka.sasl.exchange import CLIENT, SASL_AGAIN, SASL_MECHANISM, SASL_ROUND, SASL_SENDER
from dissectors.kafka.sasl.scram import SCRAM, STEPS
from dissectors.slotted import replace
from dissectors.wire.parts import ValuePart, hide_part, show_part, take_apart, text_of
from dissectors.wire.sasl.gssapi import GSSAPI, gssapi_token
from dissectors.wire.sasl.token import Token, user_words
from dissectors.wire.secret import Secret
from dissectors.wire.specs import LayoutSpec, PartedSpec
from dissectors.wire.times import milliseconds

PLAIN = "PLAIN"


def plain_token(data: bytes) -> Token | None:
    """Returns the client's only token; None for what has not two NULs."""
    pieces = data.split(b"\0")
    if len(pieces) != 3:
        return None
    first, second = len(pieces[0]), len(pieces[0]) + 1 + len(pieces[1])
    identity, user = text_of(pieces[0]), text_of(pieces[1])
    parts = (
        show_part("authzid", identity, 0, first),
        show_part("user", user, first, second, 1),
        hide_part("password", data, second, len(data), 1),
    )
    words = user_words("user", user) + user_words("for", identity if identity != user else "")
    return Token(PLAIN, words, parts, user if isinstance(user, str) else None)


def is_plain(data: bytes) -> bool:
    """Returns whether unknown bytes look like a PLAIN token: both names are words."""
    names = data.split(b"\0")[:2]
    if data.count(b"\0") != 2 or not names[1]:
        return False
    return all(isinstance(text := text_of(name), str) and (not name or text.isprintable()) for name in names)


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
    """Returns whether the client sent a message; None for a bare token of unknown direction."""
    if context.role is not Role.RAW:
        return context.role is Role.REQUEST
    hints = context.extra or {}
    return hints[SASL_SENDER] == CLIENT if SASL_SENDER in hints else None


def read_token(data: bytes, from_client: bool | None, hints: Mapping[str, str]) -> Token | None:
    """Reads a SASL token; None if it is empty, too long, or in no form of its mechanism."""
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


TOKENS = frozenset({"authBytes", "payload"})
"""The fields that hold one: of SaslAuthenticate, and of a bare frame."""

_LENGTHS = {False: LayoutSpec("length", "int32"), True: LayoutSpec("length", "uvarint")}
"""By whether it is compact."""


def unfold_token(tree: Tree, context: Context) -> None:
    """Takes the token of a message apart, if there is one that can be read. The leaves tile as before."""
    for path, node in _nodes(tree):
        token = node.value.reveal() if node.spec.name in TOKENS and isinstance(node.value, Secret) else None
        if isinstance(token, bytes) and not node.children:
            found = read_token(token, is_from_client(context), context.extra or {})
            if found is not None:
                _unfold(tree, node, path, found.parts)
            return


def _nodes(tree: Tree) -> Iterator[tuple[tuple[int, ...], Field]]:
    """The nodes where a token may be, with their paths: those at the top and the members of a body."""
    for at, node in enumerate(tree.fields):
        yield (at,), node
        for below, child in enumerate(node.children):
            yield (at, below), child


def _unfold(tree: Tree, node: Field, path: tuple[int, ...], parts: tuple[ValuePart, ...]) -> None:
    spec = node.spec
    parted = PartedSpec(spec.name, spec.type, spec.label, secret=True)
    take_apart(tree, node, path, parts, parted, _LENGTHS[spec.type.startswith("compact")])


_SASL_HANDSHAKE = 17
_MOST_OFFERED = 8


def sasl_words(values: Mapping[str, Any], context: Context) -> Iterator[str]:
    """Yields the parts of the info line of a SASL message, after its error."""
    yield from _handshake_words(values, context) if context.code == _SASL_HANDSHAKE else _token_words(values, context)
    if isinstance(values.get("errorMessage"), str) and values["errorMessage"]:
        yield values["errorMessage"]


def read_user(values: Mapping[str, Any], context: Context) -> str | None:
    """Returns the user that a client's message logs in; None if its token names nobody, and for a server's token."""
    data = _reveal_token(values)
    token = read_token(data, True, context.extra or {}) if is_from_client(context) else None
    return None if token is None else token.user


def _reveal_token(values: Mapping[str, Any]) -> bytes:
    secret = next((values[name] for name in TOKENS if name in values), None)
    data = secret.reveal() if isinstance(secret, Secret) else b""
    return data if isinstance(data, bytes) else b""


def _token_words(values: Mapping[str, Any], context: Context) -> Iterator[str]:
    hints = context.extra or {}
    data = _reveal_token(values)
    from_client = is_from_client(context)
    token = read_token(data, from_client, hints)
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
