"""Guesses the operation of a reply whose request is not in the capture.

Theory. A reply has an xid, but nothing of its request. Few records consume a body exactly, and those that do by
accident give values that no server sends. So an operation is named if one layout alone is left. Operations with the
same response (exists, setData and setACL) cannot be told apart, and are named together. An empty body fits many; a
reserved xid determines its operation. Bytes that any other candidate would mask are masked even if no operation is
named: only bytes that are certainly not secret are shown.

Facts (ClientCnxn, FinalRequestProcessor). Behind an error there is nothing, except a null token after an error of a
SASL step. A token may be any bytes behind their length, so it is accepted only if nothing else is possible.

Theory. Jute has no tags, so a record may fit another record's bytes. But the values of servers obey rules that such an
accident breaks: a path begins with a slash, a name has none, times are of this century, and a Stat counts the data and
the children beside it. Each rule is strict, so a record that passes all is hardly an accident.

Several operations share a record, and the content of some identifies them: answers() tells.

Facts. PathUtils.validatePath defines valid paths. DataTree copies data, children and Stat under one lock, so their
counts agree; a node that was just created has one transaction and one time (DataTree.createNode). cversion is -1 in
nodes that a server creates for itself. FinalRequestProcessor answers addWatch with an ErrorResponse of 0.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from dissectors.api import Context, Role
from dissectors.finding import Finding, Severity
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import holds_secret
from dissectors.wire.emit import FAILURES
from dissectors.zookeeper.forms import MULTIS, find_form
from dissectors.zookeeper.four_letter_commands import is_text
from dissectors.zookeeper.guessing import NOTHING, Guess
from dissectors.zookeeper.header import AUTH, CUT_CONNECT, PING, REPLY, REPLY_SIZE, SET_WATCHES, is_connect_response
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.schemas import operations
from dissectors.zookeeper.tables import table

_UNASKED = frozenset({"createSession", "error", "notification", "ping"})
"""What no client asks for, and pings, which are answered under an xid of their own."""

_SET_ASIDE = {PING: ("ping",), AUTH: ("auth",), SET_WATCHES: ("setWatches", "setWatches2")}
_END_OF_MULTI = struct.pack(">i?i", -1, True, -1)
_SHOWN = 3
_TOKEN = "SetSASLResponse"
_LENGTH = 4


@make_slotted
class ZooKeeperGuessFinding(Finding):
    """The finding that a reply was read by a guess: as the reply to one of these operations."""

    opcodes: tuple[int, ...] = ()

    @property
    def names(self) -> str:
        """The names of the possible operations for people: `exists, setData or setACL`."""
        return _alternatives(self.opcodes)


class _Reading(NamedTuple):
    """A response record with the opcodes that it may answer, and, of a message at hand, the values that it gives."""

    record: str | None
    opcodes: tuple[int, ...]
    values: Mapping[str, Any] = MappingProxyType({})


def is_orphan(message: bytes, context: Context) -> bool:
    """Returns whether a message is a reply whose request is unknown."""
    if context.role is not Role.RESPONSE or context.code is not None or len(message) < REPLY.size:
        return False
    return context.extra != CUT_CONNECT and not is_text(message) and not is_connect_response(message)


def guess(message: bytes) -> Guess:
    """Guesses which operation an orphaned reply answers."""
    size, xid, _, err = REPLY.unpack_from(message)
    if size + _LENGTH != len(message):
        return Guess(secret=True)
    if size == REPLY_SIZE:
        return _of_header(xid, err)
    found = [each for reading in _readings() for each in _fitting(reading, message, err)]
    found = [each for each in found if each.record != _TOKEN] or found
    if len(found) == 1:
        return Guess(_make_guess_finding(found[0].opcodes, "no other layout fits"), found[0].opcodes[0])
    return Guess(_make_undecided_finding(found), secret=not found or any(holds_secret(each.values) for each in found))


def _of_header(xid: int, err: int) -> Guess:
    """The same of a reply without a body."""
    if xid in _SET_ASIDE:
        opcodes = tuple(load_numbers("operation")[name] for name in _SET_ASIDE[xid])
        return Guess(_make_guess_finding(opcodes, f"the xid {xid} is set aside for it"), opcodes[0])
    return NOTHING if err else Guess(_make_undecided_finding([each for each in _readings() if each.record is None]))


@cache
def _readings() -> Sequence[_Reading]:
    """All responses that differ, by their fields."""
    found: dict[str, _Reading] = {}
    for code, operation in operations().items():
        if operation.name not in _UNASKED:
            fields = str(table("records")["records"].get(operation.response, operation.response))
            same = found.setdefault(fields, _Reading(operation.response, ()))
            found[fields] = same._replace(opcodes=(*same.opcodes, code))
    return tuple(found.values())


def _fitting(reading: _Reading, message: bytes, err: int) -> Iterator[_Reading]:
    """The reading of a message, if the record consumes it exactly and gives values that a server would send."""
    if err and not operations()[reading.opcodes[0]].response_on_error:
        return
    if reading.record in MULTIS and not message.endswith(_END_OF_MULTI):
        return
    try:
        values, stop = find_form(reading.record).read(message, REPLY.size, Budget())
    except FAILURES:
        return
    if stop == len(message) and not values.get("err") and plausible(values):
        opcodes = tuple(code for code in reading.opcodes if answers(operations()[code].name, values))
        if opcodes:
            yield _Reading(reading.record, opcodes, values)


def _make_guess_finding(opcodes: tuple[int, ...], why: str) -> ZooKeeperGuessFinding:
    text = f"read as the reply to {_alternatives(opcodes)}; {why}"
    return ZooKeeperGuessFinding(Severity.NOTE, "guessed-layout", text, opcodes=opcodes)


def _make_undecided_finding(found: Sequence[_Reading]) -> Finding | None:
    if not found:
        return None
    names = [operations()[code].name for each in found for code in each.opcodes]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return Finding(Severity.NOTE, "guessed-layout", f"too little to tell what it answers: {shown} would fit")


def _alternatives(opcodes: Sequence[int]) -> str:
    names = [operations()[code].name for code in opcodes]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


Values = Mapping[str, Any]

_YEARS = range(946_684_800_000, 4_102_444_800_000)
"""Milliseconds since 1970 from 2000 to 2100: a node's times, if they are not 0."""

_FORBIDDEN = re.compile("[\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")
_NO_NAMES = frozenset({"", ".", ".."})
_SCHEME = re.compile(r"[a-zA-Z][\w.-]{0,63}")
_ALL_RIGHTS = 31
_COUNTERS, _VERSIONS = ("dataLength", "numChildren"), ("version", "cversion", "aversion")
_LOWEST = -2
"""Where versions begin in nodes that a server makes for itself: the root, the configuration, quotas."""

_FIRST = ("version", "cversion", "aversion", "numChildren")
"""What is 0 in a node that was just created."""


def plausible(values: Values) -> bool:
    """Returns whether a server would send these values together after a ReplyHeader."""
    judged = (_RULES[name](value) for name, value in values.items() if name in _RULES)
    return all(judged) and all(rule(values) for names, rule in _TOGETHER.items() if names <= values.keys())


def answers(operation: str, values: Values) -> bool:
    """Whether plausible values are such as this operation gives, of those whose responses have the same fields."""
    return operation not in _OWN or _OWN[operation](values)


def is_path(value: object) -> bool:
    """Returns whether this is the path of a node."""
    if not isinstance(value, str) or not value.startswith("/"):
        return False
    return value == "/" or all(map(_is_name, value[1:].split("/")))


def _is_name(value: object) -> bool:
    """Whether this is the name of a node within its parent."""
    return isinstance(value, str) and value not in _NO_NAMES and "/" not in value and not _FORBIDDEN.search(value)


def _make_list_judge(judge: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda items: isinstance(items, list) and all(map(judge, items))


def _is_stat(stat: Values) -> bool:
    times = all(stat[name] == 0 or stat[name] in _YEARS for name in ("ctime", "mtime"))
    versions = all(stat[name] >= _LOWEST for name in _VERSIONS)
    return (
        times
        and versions
        and all(stat[name] >= 0 for name in _COUNTERS)
        and 0 <= stat["czxid"] <= min(stat["mzxid"], stat["pzxid"])
    )


def _is_scheme(value: object) -> bool:
    return isinstance(value, str) and _SCHEME.fullmatch(value) is not None


def _is_acl(entry: Values) -> bool:
    return 0 <= entry["perms"] <= _ALL_RIGHTS and _is_scheme(entry["id"]["scheme"])


def _is_client(found: Values) -> bool:
    return _is_scheme(found["authScheme"])


def _is_result(item: Values) -> bool:
    """One of a multi; beside an error there is only its code."""
    return item.keys() == {"type", "err"} or plausible({name: item[name] for name in item if name != "err"})


_RULES: Mapping[str, Callable[[Any], bool]] = {
    "path": is_path,
    "stat": _is_stat,
    "children": _make_list_judge(_is_name),
    "ephemerals": _make_list_judge(is_path),
    "acl": lambda found: bool(found) and _make_list_judge(_is_acl)(found),
    "clientInfo": lambda found: bool(found) and _make_list_judge(_is_client)(found),
    "totalNumber": lambda number: number >= 0,
    "operations": _make_list_judge(_is_result),
}
"""What is asked of a field by its name; of any other, nothing."""


def _counts_data(values: Values) -> bool:
    return bool(values["stat"]["dataLength"] == len(values["data"] or b""))


def _counts_children(values: Values) -> bool:
    return bool(values["stat"]["numChildren"] == len(values["children"]))


def _is_created(values: Values) -> bool:
    stat = values["stat"]
    once = stat["czxid"] == stat["mzxid"] == stat["pzxid"] and stat["ctime"] == stat["mtime"]
    return once and not any(stat[name] for name in _FIRST)


_TOGETHER: Mapping[frozenset[str], Callable[[Values], bool]] = {
    frozenset({"data", "stat"}): _counts_data,
    frozenset({"children", "stat"}): _counts_children,
    frozenset({"path", "stat"}): _is_created,
}
"""What is asked of fields that stand together, each of which has passed its own rule."""


def _results(*types: str) -> Callable[[Values], bool]:
    """Whether all items of a multi that say their type are of these."""
    return lambda values: all(item["type"] in types for item in values["operations"])


_OWN: Mapping[str, Callable[[Values], bool]] = {
    "reconfig": lambda values: (values["data"] or b"").startswith(b"server."),
    "multi": _results("create", "create2", "delete", "check", "setData", "error"),
    "multiRead": _results("getChildren", "getData", "error"),
}
"""QuorumMaj.toString; MultiOperationRecord."""
