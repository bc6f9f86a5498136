"""What is wrong in one message, or will be: throttling, versions that newer brokers refuse, batches that contradict
themselves.

Theory. An operator should be told such things without having to know where to look. They are read from decoded values,
so they are the same for values and for a tree, and only what is certain from the message alone is said. Which checks a
kind of message needs is known before; most need one comparison. Values may be holes (dissectors.holes): a comparison is
then a condition, so a check compares, and looks into records through derived() alone. tables/notices.json has the
sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, TypeAlias

from dissectors.finding import Finding, Severity
from dissectors.kafka.embedded.rules import RECORDS
from dissectors.kafka.labels import error_name
from dissectors.kafka.schemas import apis
from dissectors.kafka.tables import table
from dissectors.wire.schema import Versions

Values: TypeAlias = Mapping[str, Any]
Notices: TypeAlias = Callable[[Values], tuple[Finding, ...]]
"""The findings of a decoded body, of which any field may be missing."""

_Check: TypeAlias = Callable[[Values], Iterable[Finding]]

_FETCH, _API_VERSIONS = 1, 18
_SESSIONS = frozenset({_FETCH, 78, 79})
"""APIs whose requests belong to a session that the broker keeps."""

_FINAL = -1
_UNSUPPORTED_VERSION = 35


@lru_cache(maxsize=1024)
def notices(key: int, version: int, response: bool) -> Notices | None:
    """What to check in the bodies of an API's version and direction; None where there is nothing."""
    checks = tuple(_checks(key, version, response))
    if len(checks) < 2:
        return None if not checks else lambda values: tuple(checks[0](values))
    return lambda values: tuple([finding for check in checks for finding in check(values)])


def _checks(key: int, version: int, response: bool) -> Iterator[_Check]:
    if response:
        yield _throttled
        if key in _SESSIONS:
            yield _session_lost
        if key == _API_VERSIONS:
            yield _refused
    else:
        dropped = _dropped(key, version)
        if dropped is not None:
            yield lambda values: (dropped,)
        if key == _FETCH:
            yield _session_asked
    if (key, response) in RECORDS:
        from dissectors.kafka.batch_notices import batch_check  # a message without records does not pay for them

        yield batch_check(key, version, response)


def _throttled(values: Values) -> Iterable[Finding]:
    time = values.get("throttleTimeMs")
    if isinstance(time, int) and time > 0:
        return (Finding(Severity.NOTE, "throttled", f"the broker throttles this client for {time} ms"),)
    return ()


def _session_lost(values: Values) -> Iterable[Finding]:
    code = values.get("errorCode")
    if code:
        text = table("notices")["sessions"].get(error_name(int(code)))
        if text is not None:
            yield Finding(Severity.NOTE, "fetch-session", text)


def _session_asked(values: Values) -> Iterable[Finding]:
    session, epoch = values.get("sessionId"), values.get("sessionEpoch")
    if not isinstance(session, int) or not isinstance(epoch, int):
        return
    if epoch < _FINAL:
        yield Finding(Severity.WARNING, "fetch-session", f"{epoch} is no epoch of a fetch session")
    elif epoch > 0 and session == 0:
        yield Finding(Severity.WARNING, "fetch-session", f"epoch {epoch} of a fetch session that has no id")


def _refused(values: Values) -> Iterable[Finding]:
    if values.get("errorCode") == _UNSUPPORTED_VERSION:
        yield Finding(Severity.NOTE, "version-refused", table("notices")["refused"])


# ---- versions that newer brokers refuse


@cache
def _current() -> Mapping[int, Versions]:
    """What the newest release accepts, by API key."""
    return {row["key"]: Versions.parse(row["request"]["current"]) for row in table("messages")["messages"]}


def _dropped(key: int, version: int) -> Finding | None:
    api, current = apis()[key], _current()[key]
    gone = current.high < current.low
    if version not in api.versions or (version >= current.low and not gone):
        return None
    content = table("notices")
    kind = "removed" if gone else "earlyAccess" if key in content["earlyAccess"] else "usual"
    text = content["dropped"][kind].format(api=api.name, version=version)
    return Finding(Severity.NOTE, "deprecated-version", text)
