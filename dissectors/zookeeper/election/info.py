"""One line for people about a vote."""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.api import Body, Context
from dissectors.zookeeper.labels import names
from dissectors.zookeeper.phrases import Values, zxid_text
from dissectors.zookeeper.sayings import sayings

_LOOKING = 0


def info_line(body: Body, context: Context) -> str:
    """Who votes for whom, or who connects."""
    values = body.values
    if "leader" in values:
        return ", ".join(_vote(values))
    if "sid" in values:
        return ", ".join(_opening(values))
    status = names("authStatus").get(values.get("status", 0), "")
    return ", ".join(filter(None, [status if "token" in values else "", *sayings(values)]))


def _opening(values: Values) -> Iterator[str]:
    """Several addresses stand with bars between them."""
    address = values.get("addr")
    yield f"server {values['sid']}" + (f" at {str(address).replace('|', ', ')}" if address else "")


def _vote(values: Values) -> Iterator[str]:
    """Who looks for a leader votes for one; any other names the one that it has."""
    state, leader = values.get("state"), values["leader"]
    yield names("peerState").get(-1 if state is None else state, f"state {state}")
    word = "votes for" if state == _LOOKING else "leader"
    yield f"{word} {leader}" if leader >= 0 else "no leader"
    if values.get("zxid", -1) >= 0:
        yield zxid_text(values["zxid"])
    for name, key in (("epoch", "peerEpoch"), ("round", "electionEpoch")):
        if values.get(key, -1) >= 0:
            yield f"{name} {values[key]}"
