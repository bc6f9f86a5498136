"""One line for people about a vote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.api import Body, Context
from dissectors.zookeeper.info import sayings
from dissectors.zookeeper.labels import names


def info_line(body: Body, context: Context) -> str:
    """Who votes for whom, or who connects."""
    values = body.values
    if "leader" in values:
        return ", ".join(_vote(values))
    if "sid" in values:
        return ", ".join([f"server {values['sid']}", *([str(values["addr"])] if values.get("addr") else [])])
    return ", ".join(sayings(values))


def _vote(values: Mapping[str, Any]) -> Iterator[str]:
    state, leader = values.get("state"), values["leader"]
    yield names("peerState").get(state or 0, f"state {state}")
    yield f"leader {leader}" if leader >= 0 else "no leader"
    zxid, epoch = values.get("zxid", -1), values.get("peerEpoch", -1)
    if zxid >= 0:
        yield f"zxid {zxid:#x}"
    if epoch >= 0:
        yield f"epoch {epoch}"
