"""One line for people about what servers tell each other.

Theory. What a packet is about stands in its data: a transaction or a request, said as in clients' lines, or numbers of
servers, sessions and epochs.
"""

from __future__ import annotations

from dissectors.api import Body, Context
from dissectors.wire.condition import walk
from dissectors.zookeeper.verbs import say

_RECORDS = (("data", "txn"), ("data", "request"))


def info_line(body: Body, context: Context) -> str:
    """The operation that a packet carries and what it is about; else its zxid."""
    values = body.values
    if "nodes" in values:
        return ", ".join(say("snapshot", values))
    if "token" in values:
        return ", ".join(say("authentication", values))
    record = next((found for path in _RECORDS if isinstance(found := walk(values, path), dict)), {})
    about = say("record", record)
    operation = " ".join([*say("operation", values), *about[:1]])
    return ", ".join([*([operation] if operation else []), *about[1:], *say("packet", values)])
