"""A projection reads what values() reads, of whole messages, cut ones and broken ones; or it says that it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.api import Context, Dissector, Role
from dissectors.kafka import Kafka
from dissectors.message import Path
from dissectors.pulsar import Pulsar
from dissectors.pulsar.commands import MESSAGE, SEND
from dissectors.rocketmq import RocketMQ
from dissectors.zookeeper import ZooKeeper
from tests.dissectors.damage import damage
from tests.dissectors.kafka.test_properties import FRAMES as OF_KAFKA
from tests.dissectors.picking import paths_in, picked_alike
from tests.dissectors.pulsar.test_properties import FRAMES as OF_PULSAR
from tests.dissectors.rocketmq.truth import captured
from tests.dissectors.zookeeper.messages import kinds

pytestmark = pytest.mark.xdist_group("captured")

KAFKA, PULSAR, ROCKETMQ, ZOOKEEPER = Kafka(), Pulsar(), RocketMQ(), ZooKeeper()
CARRYING = tuple(each for each in OF_PULSAR if each[9:10] in (bytes([SEND]), bytes([MESSAGE])))
OF_CARRYING: Sequence[Path] = [
    *(("producer_id",), ("consumer_id",), ("message_id", "ledgerId"), ("nothing",), ("metadata", "producer_name")),
    *(("metadata", "num_messages_in_batch"), ("chunk", "uuid"), ("encrypted",)),
    ("payload", "value", "subscription_name"),
]


class Sample(NamedTuple):
    """A message, and the paths that may be asked for."""

    dissector: Dissector
    data: bytes
    context: Context
    paths: Sequence[Path]


def with_paths_of(dissector: Dissector, messages: Iterable[tuple[bytes, Context]], below: str = "") -> list[Sample]:
    """Messages with the paths that those of their kind have, or those below a field, and some that nothing has."""
    known: dict[tuple[object, ...], dict[Path, None]] = {}
    found = list(messages)
    for data, context in found:
        paths = (path for path in paths_in(dissector.values(data, context).values) if below in ("", path[0]))
        known.setdefault(kind_of(context), {}).update(dict.fromkeys(paths))
    others = [("header", "nothing")] if below else [("nothing",), ("topics", "nothing"), ("_rest",)]
    return [Sample(dissector, *each, [*known[kind_of(each[1])], *others]) for each in found if known[kind_of(each[1])]]


def kind_of(context: Context) -> tuple[object, ...]:
    return context.code, context.version, context.role


@cache
def samples(protocol: str) -> list[Sample]:
    if protocol == "kafka":
        return with_paths_of(KAFKA, ((each.data, each.context) for each in OF_KAFKA))
    if protocol == "pulsar":
        return [Sample(PULSAR, each, Context(Role.REQUEST, each[9]), OF_CARRYING) for each in CARRYING]
    if protocol == "rocketmq":
        small = (each for each in captured() if len(each.data) < 3000)
        return with_paths_of(ROCKETMQ, ((each.data, each.context) for each in small), "header")
    ours = (each for each in kinds(3) if each.dissector.name == "zookeeper")
    return with_paths_of(ZOOKEEPER, ((each.data, each.context) for each in ours))


@settings(max_examples=settings.default.max_examples // 2)
@pytest.mark.parametrize("change", ["whole", "cut", "damaged"])
@pytest.mark.parametrize("protocol", ["kafka", "pulsar", "rocketmq", "zookeeper"])
@given(data=st.data())
def test_any_paths(protocol: str, change: str, data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(samples(protocol)))
    paths = frozenset(data.draw(st.lists(st.sampled_from(sample.paths), min_size=1, max_size=4)))
    content = sample.data
    if change == "cut":
        content = content[: data.draw(st.integers(min(10, len(content)), len(content)))]
    elif change == "damaged":
        content = damage(content, data, most=3, first=4)
        if protocol in ("pulsar", "rocketmq"):
            content = (len(content) - 4).to_bytes(4) + content[4:]
    picked_alike(sample.dissector, content, sample.context, paths)
