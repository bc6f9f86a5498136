"""The pages about what clients and servers say to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from dissectors.guide import Page
from dissectors.wire.guide.shelf import Pages, Shelf, list_page
from dissectors.wire.guide.text import columns
from dissectors.zookeeper.guide.layouts import layout_data, layout_lines, record_page
from dissectors.zookeeper.header import CONNECT
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.schemas import ZooKeeperOperation, operations
from dissectors.zookeeper.tables import table

_BETWEEN_SERVERS = frozenset({"createSession", "error", "deleteContainer"})
_EVENT = "notification"
_REQUEST, _RESPONSE, _TRANSACTION = "request", "response", "transaction"


@cache
def _pages() -> Pages:
    tables = {"types": _types, "errors": _errors, "words": _words, "xids": _xids, "events": _events}
    coded = {each.name: partial(_operation, each) for each in operations().values()}
    spoken = {word: partial(_word, word) for word in table("guide")["words"]}
    return {**tables, CONNECT: _connect, **coded, **spoken, **records()}


def records() -> Pages:
    """Each record of the tables by itself."""
    return {name: partial(record_page, name) for name in table("records")["records"]}


def _operation(operation: ZooKeeperOperation) -> Page:
    lines = [f"{operation.name} (opcode {operation.code})", *columns(_facts(operation))]
    data: dict[str, Any] = {"name": operation.name, "code": operation.code, **dict(_facts(operation))}
    parts = [(_REQUEST, operation.request), (_RESPONSE, operation.response)]
    if operation.name == _EVENT:
        parts = [("event", operation.response)]
    elif operation.name in _BETWEEN_SERVERS:
        parts = parts[:1] if operation.request else []
    parts += [(_TRANSACTION, name) for name in operation.txn if name is not None]
    for title, name in parts:
        lines += ["", f"{title.capitalize()}{f': {name}' if name else ''}", *layout_lines(name)]
    data["layouts"] = [{"of": title, "layout": layout_data(name)} for title, name in parts]
    return Page(lines, data)


def _facts(operation: ZooKeeperOperation) -> Iterator[tuple[str, str]]:
    guide = table("guide")
    name = operation.name
    if name in guide["operations"]:
        yield "what", guide["operations"][name]
    if name in guide["since"]:
        yield "since", guide["since"][name]
    if name == _EVENT:
        yield "header", "ReplyHeader (int xid -1, long zxid, int err); zxid is -1 before 3.9"
    elif name not in _BETWEEN_SERVERS:
        xid = next((number for number, of in load_names("xid").items() if of == name), None)
        special = f"; xid mostly {xid}" if xid is not None else ""
        yield (
            "headers",
            f"request RequestHeader (int xid, int opcode); response ReplyHeader (int xid, long zxid, int err){special}",
        )
        yield "error", _error(operation)
    if name in table("operations")["multiRequest"]:
        yield "in a multi", "yes" if name in table("operations")["multiResponse"] else "yes, answered as create2"
    if operation.txn:
        yield _TRANSACTION, " or ".join(each or "without a record" for each in operation.txn)


def _error(operation: ZooKeeperOperation) -> str:
    if operation.response == "MultiResponse":
        return "err is 0 if an item fails: that item says which error, those before it 0, those behind it -2"
    if operation.response_on_error:
        return "a ReplyHeader with its code, and the response or nothing behind it"
    return "a ReplyHeader with its code, and nothing behind it"


def _connect() -> Page:
    text = [
        ("what", "opens a session, or comes back to one; first on a connection, in both directions"),
        ("headers", "none: these records stand right behind the length"),
        (
            "error",
            "session 0 and timeout 0: expired, or another password; a server that only reads may answer NOTREADONLY",
        ),
    ]
    parts = ((_REQUEST, "ConnectRequest"), (_RESPONSE, "ConnectResponse"))
    lines = [CONNECT, *columns(text)]
    for title, name in parts:
        lines += ["", f"{title.capitalize()}: {name}", *layout_lines(name)]
    layouts = [{"of": title, "layout": layout_data(name)} for title, name in parts]
    return Page(lines, {"name": CONNECT, **dict(text), "layouts": layouts})


def _types() -> Page:
    return list_page(("type", "on the wire"), list(table("guide")["types"].items()), "types")


def _errors() -> Page:
    rows = sorted(load_names("error").items(), reverse=True)
    data = [{"code": number, "name": name} for number, name in rows]
    return Page([f"{number}\t{name}" for number, name in rows], {"errors": data})


def _words() -> Page:
    rows = [(word, since, what) for word, (since, what) in table("guide")["words"].items()]
    return list_page(("word", "since", "what"), rows, "words")


def _word(word: str) -> Page:
    since, what = table("guide")["words"][word]
    facts = [("what", what), *([("since", since)] if since else [])]
    facts += [
        (
            "request",
            "these four bytes" + (" and long traceMask" if word == "stmk" else "") + ", with no length in front",
        )
    ]
    facts += [
        (
            "response",
            "text up to the end of the connection; from 3.5.3 on only if 4lw.commands.whitelist names the word",
        )
    ]
    return Page([f"{word} (four-letter word)", *columns(facts)], {"name": word, **dict(facts)})


def _xids() -> Page:
    return list_page(("xid", "what"), list(table("guide")["xids"].items()), "xids")


def _events() -> Page:
    about: Mapping[str, str] = table("guide")["events"]
    kinds = [("type", f"{number}", name, about.get(name, "")) for number, name in load_names("watchEventType").items()]
    states = [("state", f"{number}", name, "") for number, name in load_names("keeperState").items()]
    return list_page(("field", "number", "name", "what"), [*kinds, *states], "events")


CLIENTS = Shelf("ZooKeeper", _pages, lambda: load_names("operation"))
