"""The dissector of the client protocol of Apache ZooKeeper.

Theory. Every message is behind a four-byte size, except the four-letter commands (four_letter_commands), which a
client may send instead. The state of a connection is small: its session, and the opcodes of its xids (conversation.py).
header.py and probe.py read the first bytes, body.py everything; the layouts are records of jute (schemas.py) in tables.

Theory. An answer contains little of its exchange, so its line begins with fields of its request, those that `recalled`
names. tables/summaries.json has the phrases; this module lists the items of a multi.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dissectors.api import WEAK, Body, Context, Dissector, Framer, LengthPrefixed, MessageHeader, Role, Values, lazy
from dissectors.message import Path
from dissectors.wire.summary import SHOWN
from dissectors.zookeeper.body import decode_tree, decode_values
from dissectors.zookeeper.four_letter_commands import ClientOpening, ServerOpening, is_alone
from dissectors.zookeeper.header import MAXIMUM, client_header, server_header
from dissectors.zookeeper.labels import error_name
from dissectors.zookeeper.probe import REPLY_EVIDENCE, reply_evidence, request_evidence
from dissectors.zookeeper.schemas import MULTIS, operations, record
from dissectors.zookeeper.summaries import format_name, say

_OF_CONNECT = ("sessionId", "timeOut")
_OF_SUCCESS = frozenset({"path", "prefixPath", "mode", "type", "scheme", "auth"})
"""What an answer's line repeats of its request where all went well."""

_OF_FAILURE = _OF_SUCCESS | {"flags", "version"}
"""What it repeats beside an error: also what may have led to it."""

_IDENTIFYING = _OF_FAILURE | {"watch", "acl", "operations", *_OF_CONNECT}
"""What an answer's line is made of."""

_NOTHING: Values = {}
_KIND = "nodeKind mode"
_MULTI, _ERROR = "operations", "error"
_ALL_IS_WELL, _NOT_TRIED = 0, -2


def list_request_fields(context: Context) -> frozenset[Path]:
    """Returns the fields of a request that the line of its answer is made of."""
    return _list_request_fields(context.code) if context.role is Role.RESPONSE else frozenset()


@lru_cache(maxsize=128)
def _list_request_fields(code: int | None) -> frozenset[Path]:
    if code is None:
        return frozenset((name,) for name in _OF_CONNECT)
    known = operations().get(code)
    if known is None or known.request is None:
        return frozenset()
    if known.request in MULTIS:
        return frozenset({(_MULTI,)})
    names = {each.name for each in record(known.request).fields}
    return frozenset((name,) for name in names & _IDENTIFYING if name != "acl" or "data" not in names)


def info_line(body: Body, context: Context) -> str:
    """Returns the line for a decoded message; empty for one that says nothing but its name."""
    if context.role is Role.RESPONSE and context.code is None:
        from dissectors.zookeeper.guessing.guess import ZooKeeperGuessFinding  # hardly a capture has many

        guessed = next((finding for finding in body.findings if isinstance(finding, ZooKeeperGuessFinding)), None)
        if guessed is not None:
            line = _line(body, _NOTHING)
            return f"perhaps {guessed.names}: {line}" if line else f"perhaps {guessed.names}"
    request = body.request or _NOTHING
    return _line(
        body,
        {name: request[name] for (name,) in list_request_fields(context) if name in request} if request else _NOTHING,
    )


def _line(body: Body, request: Values) -> str:
    values = body.values
    struct = {**values, "requested": request}
    if "protocolVersion" in values:
        return ", ".join(say(_of_session(values), struct))
    if _MULTI in values:
        items = values[_MULTI]
        line = ", ".join(_multi(items, request.get(_MULTI)))
        return f"nothing done: {line}" if _is_undone(items) else line
    if body.error is not None:
        about = _format_request_fields(request, _OF_FAILURE)
        return ", ".join([" ".join([body.error[1], *about[:1]]), *about[1:], *say("record", struct)])
    subject = [] if values.keys() & {"path", "prefixPath"} else _format_request_fields(request, _OF_SUCCESS)
    accepted = ["accepted"] if "auth" in request else []
    return ", ".join([*subject, *accepted, *say("record", struct)])


def _format_request_fields(request: Values, names: frozenset[str]) -> list[str]:
    """What the line of an answer says again of its request."""
    return say("record", {"requested": _NOTHING, **{name: request[name] for name in request if name in names}})


def _of_session(values: Values) -> str:
    """Which line a connect or its answer has: only the request has a zxid.

    Session 0, or no timeout, says that the server knows no such session.
    """
    if "lastZxidSeen" in values:
        return "connect"
    return "connected" if values.get("sessionId") and values.get("timeOut") else "expired"


# ---- multis


def _multi(items: Any, request: Any) -> Iterator[str]:
    """`create /a, delete /b: NONODE`. request: what a multi asked for, which its answer may not say again.

    Of many items the first ones are said, and the first that failed, wherever they stand.
    """
    failed = [place for place, item in enumerate(items) if _is_failed_item(item)]
    shown = sorted({*range(min(SHOWN, len(items))), *failed[:SHOWN]})
    same = isinstance(request, list) and len(request) == len(items)
    after = 0
    for place in shown:
        if place > after:
            yield f"{place - after} more"
        yield from _item(items[place], request[place] if same else _NOTHING, f"item {place + 1} of {len(items)}")
        after = place + 1
    if after < len(items):
        yield f"{len(items) - after} more"


def _is_failed_item(item: Values) -> bool:
    """Whether a multi failed for this item, and not for one before or behind it."""
    return item.get("type") == _ERROR and item.get("err") not in (None, _ALL_IS_WELL, _NOT_TRIED)


def _is_undone(items: Any) -> bool:
    """Whether one failed, and with it all others. Reads fail one by one, and the others are answered."""
    return any(map(_is_failed_item, items)) and any(
        item.get("type") == _ERROR and item.get("err") in (_ALL_IS_WELL, _NOT_TRIED) for item in items
    )


def _item(item: Values, sent: Values, otherwise: str) -> Iterator[str]:
    request = " ".join(f"{sent[name]}" for name in ("type", "path") if sent.get(name))
    if _is_failed_item(item):
        yield f"{request or otherwise}: {error_name(item['err'])}"
    elif item.get("type") == _ERROR:
        yield from (request,) if request else ()
    elif item.get("path") and item["path"] != sent.get("path", item["path"]):
        yield f"{request} {format_name(sent.get('flags', 0), _KIND) or ''} -> {item['path']}"
    elif request or item.get("type"):
        yield request or " ".join(f"{item[name]}" for name in ("type", "path") if item.get(name))


class ZooKeeper(Dissector):
    """ZooKeeper 3.3 to 3.9, the client port: all operations, multi, events, four-letter words."""

    name = "zookeeper"
    ports = (2181,)
    answers_in_order = True
    outstanding_limit = (1000, "globalOutstandingLimit")
    tls_ports = (2281,)
    framing = LengthPrefixed(4, 0, MAXIMUM)
    columns = ("role", "operation", "correlation", "client", "latency", "zookeeper.path")
    settings = ("connect.request.timeOut", "connect.request.readOnly", "connect.request.protocolVersion")
    client = "session"
    color = "green"
    fast_path = "dissectors.zookeeper.fast_path"
    opens = staticmethod(is_alone)
    conversation = lazy("dissectors.zookeeper.conversation:ZooKeeperConversation")
    values = staticmethod(decode_values)
    tree = staticmethod(decode_tree)
    info = staticmethod(info_line)
    projection = lazy("dissectors.zookeeper.layouts:make_projection")
    template = lazy("dissectors.zookeeper.layouts:TEMPLATE")
    request_fields = staticmethod(list_request_fields)
    catalog = lazy("dissectors.zookeeper.catalog:CATALOG")
    operations = lazy("dissectors.zookeeper.schemas:operations")
    guide = lazy("dissectors.zookeeper.guide:CLIENTS")
    reports = lazy("dissectors.zookeeper.reports:reports")
    participants = lazy("dissectors.zookeeper.reports:participants")
    checks = lazy("dissectors.zookeeper.checks:list_client_checks")
    triage = lazy("dissectors.zookeeper.checks:triage")
    payloads = lazy("dissectors.zookeeper.payloads:PAYLOADS")

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates first bytes: a connect or a path is nearly certain, a reply is weak evidence."""
        if from_client is None:
            return max(request_evidence(prefix), reply_evidence(prefix))
        return request_evidence(prefix) if from_client else reply_evidence(prefix)

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Strict where there is a path or an error to be strict about."""
        return request_evidence(prefix) >= WEAK if from_client else reply_evidence(prefix) >= REPLY_EVIDENCE

    def make_framer(self, from_client: bool, opening: bool) -> Framer | None:
        """Makes a framer for a four-letter word and its answer, which have no length prefix."""
        if not opening:
            return None
        return ClientOpening() if from_client else ServerOpening()

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Reads the xid and opcode of a request, or the xid of a reply (Jute records of ZooKeeper)."""
        return client_header(prefix) if from_client else server_header(prefix)
