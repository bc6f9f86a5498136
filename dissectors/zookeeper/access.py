"""Who may do what, and who a client is: access lists, identities and credentials in the words of people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dissectors.wire.embedded import Embedded
from dissectors.zookeeper.labels import labels
from dissectors.zookeeper.phrases import NOTHING, About, Values, some

_ALL_RIGHTS = 31


def acl(items: Any, values: Values, _: About) -> Iterable[str]:
    """Who may do what; not said of a new node that is open to all, as most are."""
    if not isinstance(items, list) or ("data" in values and len(items) == 1 and _is_open(items[0])):
        return ()
    return (f"ACL {some([*map(_entry, items)])}",) if items else ("no ACL",)


def _is_open(entry: Values) -> bool:
    return bool(entry.get("perms") == _ALL_RIGHTS and entry.get("id", NOTHING).get("scheme") == "world")


def _entry(entry: Values) -> str:
    label, perms, scheme = labels("perms"), entry.get("perms", 0), entry.get("id", NOTHING).get("scheme")
    return f"{scheme} {(label and label(perms)) or perms}"


def clients(items: Any, *_: object) -> Iterable[str]:
    """Who the server takes its client for: `ip 127.0.0.1, digest bob`."""
    if isinstance(items, list):
        yield some([f"{each.get('authScheme')} {each.get('user')}" for each in items])


def user(value: object, *_: object) -> Iterable[str]:
    """Who adds credentials, where they say it in the clear."""
    inside = value.value if isinstance(value, Embedded) and isinstance(value.value, dict) else NOTHING
    return (f"user {inside['user']}",) if isinstance(inside.get("user"), str) else ()
