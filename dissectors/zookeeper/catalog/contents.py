"""The members of what fields hold that have content of their own (see inside/opened.py), and of answers to words."""

from __future__ import annotations

from collections.abc import Mapping

from dissectors.catalog import Member, holding

_DIGEST = ("realm", "qop", "algorithm", "charset", "cipher", "username", "digest-uri", "nc", "authzid", "stale")
_DIGEST_SECRETS = ("nonce", "cnonce", "response", "rspauth")
_TOKEN = (*(Member(name, "string") for name in (*_DIGEST, *_DIGEST_SECRETS)), Member("maxbuf", "long"))
_CREDENTIALS = (Member("user", "string"), Member("password", "string"))
_SERVER = (
    Member("sid", "long"),
    Member("addresses", "string", True),
    Member("role", "string"),
    Member("client", "string"),
)
_CONFIGURATION = (
    Member("servers", "struct", True, members=lambda: _SERVER),
    Member("version", "long", about="the zxid since which it holds"),
)
_HOLDERS: Mapping[tuple[str, str], tuple[Member, ...]] = {
    **{(record, "token"): _TOKEN for record in ("GetSASLRequest", "SetSASLResponse", "QuorumAuthPacket")},
    ("AuthPacket", "auth"): _CREDENTIALS,
}

ANSWER = (Member("text", "string"), Member("values", "struct", open=True, about="what its lines say, by name"))
"""What answers a four-letter word."""


def add_nested_members(record: str, member: Member) -> Member:
    """A member of a record, with what its bytes may hold. Tokens of other mechanisms have other names in them."""
    inside = _HOLDERS.get((record, member.name))
    return member if inside is None else holding(member, lambda: inside, inside is _TOKEN)


def add_configuration_members(member: Member) -> Member:
    """A member of the answer to a new configuration."""
    return holding(member, lambda: _CONFIGURATION, True) if member.name == "data" else member
