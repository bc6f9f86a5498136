"""Lines about servers: brokers and where they are, routes, topics and groups as they are configured, controllers, raft.

Facts. In a broker's name are a master, number 0, and its slaves; where a controller elects masters, numbers begin with
1 and say nothing of roles. perm 6 is read and write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dissectors.holes import made, plain
from dissectors.rocketmq.labels import permission
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import count_text
from dissectors.wire.phrases import SHOWN, Values, is_number, joined

_READ_WRITE = 6
_MASTER = 0


def broker(value: Any, values: Values) -> Iterator[str]:
    """`broker-a master at 10.0.0.1:10911`; of what is about a topic its broker says little."""
    if not isinstance(value, str) or value == "" or "topic" in values:
        return
    number, address = values.get("brokerId", values.get("appliedBrokerId")), values.get("brokerAddr")
    address = values.get("brokerAddress") if address is None else address
    words = [f"broker {value}"]
    if is_number(number):
        words.append(made(_number, number))
    if isinstance(address, str) and address != "":
        words.append(f"at {address}")
    yield " ".join(words)


def _number(number: int) -> str:
    return "master" if number == _MASTER else f"number {number}"


def master(_: Any, values: Values) -> Iterable[str]:
    """Who is master, as controllers say it."""
    number, address, epoch = (values.get(name) for name in ("masterBrokerId", "masterAddress", "masterEpoch"))
    words = ["master"]
    if is_number(number):
        words.append(f"number {number}")
    if isinstance(address, str) and address != "":
        words.append(f"at {address}")
    if is_number(epoch):
        words.append(f"epoch {epoch}")
    if len(words) > 1:
        yield " ".join(words)


def in_sync(value: Any, values: Values) -> Iterator[str]:
    """Which brokers have all that the master has."""
    if isinstance(value, list):
        yield from joined("in sync ", value) if value else ("none in sync",)
        if is_number(values.get("syncStateSetEpoch")):
            yield f"set {values['syncStateSetEpoch']}"


def route(value: Any, values: Values) -> Iterator[str]:
    """`broker-a at 10.0.0.1:10911 (4 queues)`: the brokers of a topic."""
    rows = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    queues = values.get("queueDatas")
    parts = [each for each in queues if isinstance(each, dict)] if isinstance(queues, list) else []
    for row in rows[:SHOWN]:
        name = row.get("brokerName", "?")
        own = [text for part in parts if part.get("brokerName") == name for text in configured(part)]
        yield f"{_addressed(row)} ({', '.join(own)})" if own else _addressed(row)
    if len(rows) > SHOWN:
        yield f"{len(rows) - SHOWN} more"
    if isinstance(value, list) and not rows:
        yield "no broker"


def _addressed(row: dict[str, Any]) -> str:
    """A broker's name, the address of its master, or of its first, and how many more it has."""
    addresses = row.get("brokerAddrs")
    known = addresses if isinstance(addresses, dict) else {}
    first = known.get("0", next(iter(known.values()), None))
    more = f" and {count_text(len(known) - 1, 'slave')}" if len(known) > 1 else ""
    name = row.get("brokerName", "?")
    return f"{name} at {first}{more}" if isinstance(first, str) else f"{name}"


def cluster(value: Any, values: Values) -> Iterator[str]:
    """All brokers of all clusters."""
    if isinstance(value, dict):
        clusters = values.get("clusterAddrTable")
        yield from joined("cluster ", list(clusters) if isinstance(clusters, dict) else [])
        yield from route(list(value.values()), {})


def configured(row: Values) -> Iterator[str]:
    """Queues of a topic and what may be done with them, where that is not all."""
    read, write, allowed = (row.get(name) for name in ("readQueueNums", "writeQueueNums", "perm"))
    if is_number(read) and is_number(write):
        yield count_text(read, "queue") if read == write else f"{read} queues to read, {write} to write"
    if is_number(allowed) and allowed & _READ_WRITE != _READ_WRITE:
        yield made(_allowed, allowed)


def _allowed(value: int) -> str:
    return f"{permission(value & _READ_WRITE)} only" if value & _READ_WRITE else "no access"


def topic(_: Any, values: Values) -> Iterator[str]:
    """How one topic is configured."""
    yield from configured(values)
    if values.get("order") is True:
        yield "in order"


def registered(value: Any, _: Values) -> Iterator[str]:
    """Topics that a broker tells name servers of."""
    if isinstance(value, dict):
        topics = value.get("topicConfigTable")
        if isinstance(topics, dict):
            yield from _named(topics, "topic")
        yield from version(value.get("dataVersion"), {})


def version(value: Any, _: Values) -> Iterable[str]:
    """How often a configuration was changed."""
    counter = value.get("counter") if isinstance(value, dict) else None
    return (f"data version {counter}",) if isinstance(counter, int) else ()


def counted(noun: str) -> Any:
    """How many a list or table has; of few their names."""
    return lambda value, _: _named(value, noun) if isinstance(value, list | dict) and value else ()


def _named(value: Any, noun: str) -> list[str]:
    names = list(value)
    few = len(names) <= SHOWN and all(isinstance(each, str) for each in names)
    return [f"{noun} {', '.join(names)}"] if names and few else [count_text(len(names), noun)]


def figures(value: Any, values: Values) -> Iterator[str]:
    """A table of texts: what a broker does, or orders of topics."""
    if not isinstance(value, dict) or not value:
        return
    release = value.get("brokerVersionDesc")
    if isinstance(release, str):
        yield release
        yield count_text(len(value), "figure")
    else:
        yield from joined("", [f"{name} = {text}" for name, text in value.items()])


def controllers(value: Any, values: Values) -> Iterator[str]:
    """Who leads the controllers."""
    if isinstance(value, str) and value != "":
        address = values.get("controllerLeaderAddress")
        yield f"leader {value} at {address}" if isinstance(address, str) else f"leader {value}"
        peers = values.get("peers")
        if isinstance(peers, str):
            yield count_text(sum(1 for each in peers.split(";") if each), "peer")


def raft(value: Any, values: Values) -> Iterator[str]:
    """What controllers say among themselves: term, who to whom, how far the log goes."""
    if not isinstance(value, int) or isinstance(value, bool):
        return
    code = values.get("code")
    if values.get("answers") is True and code is not None and f"{plain(code)}" in table("lines")["raft"]:
        yield table("lines")["raft"][f"{plain(code)}"]
    vote, kind = values.get("voteResult"), values.get("type")
    yield from (each for each in (vote, kind) if isinstance(each, str))
    yield f"term {value}"
    one, other = values.get("localId"), values.get("remoteId")
    if isinstance(one, str) and isinstance(other, str):
        yield f"{one} to {other}"
    entry = values.get("entry")
    index = entry.get("index") if isinstance(entry, dict) else values.get("index", values.get("ledgerEndIndex"))
    if isinstance(index, int) and index >= 0:
        yield f"index {index}"
    if isinstance(values.get("commitIndex"), int) and values["commitIndex"] >= 0:
        yield f"committed {values['commitIndex']}"


def high_availability(value: Any, values: Values) -> Iterator[str]:
    """How replication stands, as a broker says it."""
    if isinstance(value, bool):
        yield "master" if value else "slave"
        number, end = values.get("inSyncSlaveNums"), values.get("masterCommitLogMaxOffset")
        if isinstance(number, int) and value:
            yield f"{count_text(number, 'slave')} in sync"
        if isinstance(end, int):
            yield f"log ends at {end}"
