"""One line for people about what servers tell each other.

Theory. What a packet is about stands in its data: a transaction or a request, said as in clients' lines, or numbers of
servers, sessions and epochs.
"""

from __future__ import annotations

from dissectors.api import Body, Context
from dissectors.wire.embedded import EmbeddedValue
from dissectors.zookeeper.summaries import say


def info_line(body: Body, context: Context) -> str:
    """The operation that a packet carries and what it is about; else its zxid."""
    values = body.values
    if "nodes" in values:
        return ", ".join(say("snapshot", values))
    if "token" in values:
        return ", ".join(say("authentication", values))
    data = values.get("data")
    if not isinstance(data, EmbeddedValue) or not isinstance(data.value, dict):
        return ", ".join(say("packet", values))
    inside = data.value
    record = inside.get("txn", inside.get("request")) or {}
    about = [*say("carried", record), *say("record", record)]
    operation = " ".join([*say("operation", inside), *about[:1]])
    parts = [*([operation] if operation else []), *about[1:], *say("data", inside)]
    return ", ".join([*parts, *say("packet", values), *say("whose", inside)])
