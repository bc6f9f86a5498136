"""Pages of the protocol guide: operations, packets, votes and records of ZooKeeper.

Theory. A record's versions are no numbers on the wire: later releases append fields, and a reader sees by the length
whether they are there. So the guide lists the sizes of such a record, and the size from which each field exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from dissectors.guide import Page
from dissectors.wire.guide import LayoutEntry, Pages, Shelf, columns, entry_data, enum_text, list_page, overview
from dissectors.wire.plan import Leaf, resolve
from dissectors.wire.primitive import FixedWidth
from dissectors.zookeeper import sasl
from dissectors.zookeeper.election.framer import INITIAL, LEGACY_INITIAL, NOTIFICATION
from dissectors.zookeeper.header import CONNECT
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.quorum.header import SNAPSHOT, Packet, header, packets
from dissectors.zookeeper.schemas import MULTIS, ZooKeeperOperation, operations, record, width
from dissectors.zookeeper.tables import table

NOTHING = "nothing"
_SEVERAL = 9
"""Values of an enum that are all named: there are no longer ones but errors and opcodes."""


def fields(name: str) -> tuple[LayoutEntry, ...]:
    """Returns the fields of a record, with those of nested records below them."""
    always = "0+" if record(name).versions.high else None
    return tuple(_entry(always, *row) for row in table("records")["records"][name])


def _entry(always: str | None, name: str, kind: str, more: Mapping[str, Any] = MappingProxyType({})) -> LayoutEntry:
    single = kind.removeprefix("[]")
    named = single not in table("guide")["types"] and single not in table("records")["records"]
    return LayoutEntry(
        name,
        kind.replace(single, "int") if named else kind,
        more.get("versions", always),
        enum=single if named else more.get("enum"),
        secret=more.get("secret", False) or "secretBy" in more,
        fields=fields(single) if single in table("records")["records"] else None,
    )


def layout_lines(name: str | None) -> list[str]:
    """Returns the lines of a record, of a multi's items, or of nothing."""
    if name is None:
        return [f"  {NOTHING}"]
    if name in MULTIS:
        rows = table("operations")[MULTIS[name]].items()
        items = columns([("type", "record"), *((kind, content or NOTHING) for kind, content in rows)])
        return ["  items of int type, boolean done, int err and a record; the last one is done and has none", *items]
    several = record(name).versions.high > 0
    return [*columns(_sizes(name) if several else ()), *overview(fields(name), _enum, several)]


def layout_data(name: str | None) -> dict[str, Any] | None:
    """Returns the layout of a record as JSON data."""
    if name is None:
        return None
    if name in MULTIS:
        return {"name": name, "items": table("operations")[MULTIS[name]]}
    found: dict[str, Any] = {"name": name, "fields": [entry_data(each) for each in fields(name)]}
    if record(name).versions.high:
        found["sizes"] = dict(_sizes(name))
    return found


def _sizes(name: str) -> Iterator[tuple[str, str]]:
    """How long a record is in each version, and since which release."""
    schema, since = record(name), table("guide")["sizes"].get(name, ())
    for version in range(schema.versions.high + 1):
        plan = resolve(schema, version)
        size, fixed = width(plan), all(isinstance(step, Leaf) and _is_fixed(step) for step in plan.steps)
        release = f", {since[version]}" if version < len(since) else ""
        yield f"version {version}", f"{size} bytes{'' if fixed else ' and more'}{release}"


def _is_fixed(step: Leaf) -> bool:
    return isinstance(step.primitive, FixedWidth)


def record_page(name: str) -> Page:
    """Returns the page of a record by itself."""
    found = layout_data(name)
    assert found is not None
    return Page([name, *layout_lines(name)], found)


def _enum(name: str) -> str:
    guide = table("guide")["phrases"]
    values = {} if name in guide else {f"{number}": text for number, text in load_names(name).items()}
    return enum_text(name, guide, values, _SEVERAL)


_BETWEEN_SERVERS = frozenset({"createSession", "error", "deleteContainer"})
_EVENT = "notification"
_REQUEST, _RESPONSE, _TRANSACTION = "request", "response", "transaction"


@cache
def _pages() -> Pages:
    tables = {"types": _types, "errors": _errors, "words": _words, "xids": _xids, "events": _events}
    coded = {each.name: partial(_operation, each) for each in operations().values()}
    commands = {word: partial(_word, word) for word in table("guide")["words"]}
    return {**tables, CONNECT: _connect, **coded, **commands, **records()}


def records() -> Pages:
    """Returns an entry for each record of the tables."""
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


_HEAD = ("QuorumPacket",)
_OF_SNAPSHOT = ("SnapshotHead", "SnapshotNode", "SnapshotTail")
_OF_TXN = ("TxnHeader", "TxnDigest")
_WHO = {"learner": "a learner to the leader", "leader": "the leader to a learner", "both": "both"}


@cache
def _quorum_pages() -> Pages:
    assert SNAPSHOT.operation is not None
    return {
        "packets": _packets,
        "transactions": _transactions,
        **{each.name: partial(_packet, each) for each in packets().values()},
        SNAPSHOT.operation: _snapshot,
        sasl.NAME: partial(_election_message, sasl.NAME),
        **{name: partial(record_page, name) for name in (*_HEAD, *_OF_TXN, "LearnerInfo", "SessionTimeout")},
    }


def _packets() -> Page:
    rows = [(f"{code}", each.name, *table("guide")["packets"][each.name]) for code, each in packets().items()]
    return list_page(("code", "name", "from", "what"), rows, "packets")


def _transactions() -> Page:
    rows = [
        (f"{row['code']}", row["name"], " or ".join(each or "no record" for each in row["txn"]))
        for row in table("operations")["operations"]
        if "txn" in row
    ]
    return list_page(("type", "name", "record"), rows, "transactions")


def _packet(packet: Packet) -> Page:
    facts = list(_list_packet_facts(packet))
    lines = [f"{packet.name} (packet type {packet.code})", *columns(facts)]
    data: dict[str, Any] = {"name": packet.name, "code": packet.code, **dict(facts)}
    layouts = []
    for name in _HEAD + _records(packet):
        lines += ["", name, *layout_lines(name)]
        layouts.append(layout_data(name))
    return Page(lines, data | {"layouts": layouts})


def _list_packet_facts(packet: Packet) -> Iterator[tuple[str, str]]:
    who, what = table("guide")["packets"][packet.name]
    yield "what", what
    yield "from", _WHO[who]
    yield "role", _roles(packet, who)
    yield "data", _parts(packet.data)
    if packet.answer != packet.data:
        yield "data of the answer", _parts(packet.answer)


def _roles(packet: Packet, who: str) -> str:
    """What it is in its conversation, which may depend on the side that sends it."""
    if packet.name == "ACK":
        return "the response to a PROPOSAL, else oneway"
    learner, leader = (header(packet.code.to_bytes(4), side).role.name.lower() for side in (True, False))
    return f"the leader's a {leader}, the learner's a {learner}" if who == "both" else leader


def _parts(parts: tuple[str, ...]) -> str:
    phrases = table("guide")["parts"]
    return ", then ".join(phrases.get(part, part) for part in parts) or "none"


def _records(packet: Packet) -> tuple[str, ...]:
    """The records that the data of a packet or of its answer has, whatever else there is."""
    known, found = table("records")["records"], dict.fromkeys((*packet.data, *packet.answer))
    found_parts = [name for name in found if name in known]
    found_parts += [
        name for part, names in (("txn", _OF_TXN), ("sessions", ("SessionTimeout",))) if part in found for name in names
    ]
    return tuple(found_parts)


def _snapshot() -> Page:
    facts = [
        ("what", "the leader's whole tree, behind a SNAP"),
        ("from", _WHO["leader"]),
        ("layout", "SnapshotHead; SnapshotNode for each node, parents first; the path / alone; SnapshotTail"),
    ]
    lines = [f"{SNAPSHOT.operation}", *columns(facts)]
    for name in _OF_SNAPSHOT:
        lines += ["", name, *layout_lines(name)]
    layouts = [layout_data(name) for name in _OF_SNAPSHOT]
    return Page(lines, {"name": SNAPSHOT.operation, **dict(facts), "layouts": layouts})


@cache
def _election_pages() -> Pages:
    shown = (INITIAL, LEGACY_INITIAL, NOTIFICATION, sasl.NAME)
    return {"states": _states, **{name: partial(_election_message, name) for name in shown}}


def _election_message(name: str) -> Page:
    what = table("guide")["election"][name]
    return Page([name, f"  {what}", "", *layout_lines(name)], {"what": what, **(layout_data(name) or {})})


def _states() -> Page:
    return list_page(
        ("number", "name"), [(f"{number}", name) for number, name in load_names("peerState").items()], "states"
    )


QUORUM = Shelf("ZooKeeper's quorum", _quorum_pages, lambda: load_names("packet"))
ELECTION = Shelf("ZooKeeper's election", _election_pages, dict)
