"""Rules that the values of a server's reply obey, by which a guess tells records that fit by accident.

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
from collections.abc import Callable, Mapping
from typing import Any

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
