"""One line for people about a message: what it is about, not all that is in it.

Theory. The proto uses few names for the same things, so one table of phrases by field serves all commands
(tables/summaries.json), and a new command has a line as far as its fields have names that others have. An answer says
the least of an exchange; its line is that of the answer and of what it `recalls` of its request together, as if the
answer had these fields too. What went wrong, or what was done, stands before what it was done to.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from dissectors.api import Body, Context, Role, Values
from dissectors.message import Path
from dissectors.pulsar.commands import commands
from dissectors.pulsar.summaries import SUMMARIES
from dissectors.pulsar.tables import table
from dissectors.wire.summary import Say

_SUCCESS = 13


class _LineKind(NamedTuple):
    """What is the same in all lines about one command of one role.

    recalled: names of fields of the request. meant: what the message says without saying it. deeds: what was done, by
    the command that asked for it.
    """

    recalled: tuple[str, ...]
    meant: Values
    deeds: Mapping[int, str]


@lru_cache(maxsize=512)
def _make_line_kind(role: Role, code: int | None) -> _LineKind:
    known = None if code is None else commands().get(code)
    name, lines = None if known is None else known.name, table("summaries")
    return _LineKind(
        tuple(lines["recalls"].get(name, ())) if role is Role.RESPONSE else (),
        lines["meant"].get(name) or lines["meant"].get(f"{role.name} {name}", {}),
        _list_deeds() if code == _SUCCESS else {},
    )


def _list_deeds() -> Mapping[int, str]:
    deeds: Mapping[str, str] = table("summaries")["deeds"]
    return {code: deeds[known.name] for code, known in commands().items() if known.name in deeds}


@lru_cache(maxsize=1024)
def _compile_phrases(names: tuple[str, ...], metadata: tuple[str, ...]) -> tuple[Say, ...]:
    """What has something to say of these fields: there are few kinds of messages, and many of each.

    Rows that are about the metadata name a field of it by its whole path.
    """
    paths = {*names, *(f"metadata.{name}" for name in metadata)}
    return tuple(
        _compile_phrase(text) for fields, texts in _read_rows() if not paths.isdisjoint(fields) for text in texts
    )


@cache
def _read_rows() -> tuple[tuple[list[str], list[str]], ...]:
    """The table: which fields ask for which phrases."""
    return tuple((fields.split("|"), texts) for fields, texts in table("summaries")["line"].items())


@cache
def _compile_phrase(text: str) -> Say:
    """The function of a phrase, made when a message first needs it; the table bounds how many there are."""
    return SUMMARIES.phrase(text)


def list_request_fields(context: Context) -> frozenset[Path]:
    """The fields of a request that the line of its answer is made of."""
    return frozenset((name,) for name in _make_line_kind(context.role, context.code).recalled)


def format_info(body: Body, context: Context) -> str:
    """The line for a decoded message; empty for one that says nothing but its name."""
    kind, values = _make_line_kind(context.role, context.code), body.values
    asked = {} if body.request is None else {name: body.request[name] for name in kind.recalled if name in body.request}
    head = [] if body.error is None else [body.error[1]]
    if body.asked is not None and body.asked in kind.deeds:
        head = [kind.deeds[body.asked]]
    if asked or kind.meant:
        values = {**kind.meant, **asked, **values, "request": asked}
    metadata, told = values.get("metadata"), list[int]()
    says = _compile_phrases(tuple(values), tuple(metadata) if isinstance(metadata, dict) else ())
    said = [text for say in says if (text := say(values, told)) is not None]
    return ", ".join([" ".join([*head, *said[:1]]), *said[1:]] if head else said)
