"""New numbers in Pulsar commands: varints of other lengths, and nothing else changed."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.protocols import with_opaque
from benchmarks.pulsar import Numbers, renumbered, varint
from benchmarks.pulsar_payload import renewed
from benchmarks.recorded import by_operation, exchanges
from dissectors.api import Context, Role
from dissectors.registry import by_name


@pytest.mark.parametrize(
    ("value", "data"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32, "8080808010")]
)
def test_varints(value: int, data: str) -> None:
    assert varint(value) == bytes.fromhex(data)


def test_only_the_numbers_of_a_send_and_its_receipt_change() -> None:
    pulsar = by_name("pulsar")
    send = by_operation(exchanges("pulsar", "cpp4_codecs"))["SEND"][0]
    numbers = Numbers(producer=300, consumer=0, sequence=70_000, entry=5)
    before = [pulsar.values(data, Context(Role.REQUEST)).values for data in send.messages]
    after = [pulsar.values(renumbered(data, numbers), Context(Role.REQUEST)).values for data in send.messages]
    for old, new in zip(before, after, strict=True):
        assert (new["producer_id"], new["sequence_id"]) == (300, 70_000)
        assert {
            key: value for key, value in new.items() if key not in {"producer_id", "sequence_id", "message_id"}
        } == {key: value for key, value in old.items() if key not in {"producer_id", "sequence_id", "message_id"}}
    assert after[1]["message_id"]["entryId"] == 5


def test_new_payloads_are_sound_and_of_many_kinds() -> None:
    """Also with the numbers that are written afterwards."""
    pulsar, chance, numbers = by_name("pulsar"), Random(1), Numbers(producer=1, consumer=2, time=1_795_000_000_000)
    pool = by_operation(exchanges("pulsar", "cpp4_codecs"))
    kinds = set()
    for each in [*pool["SEND"][:20], *pool["MESSAGE"][:20]] * 4:
        numbers.sequence += numbers.count
        frame = renumbered(renewed(each.request, numbers, chance), numbers)
        body = pulsar.values(frame, Context(Role.REQUEST, frame[9]))
        assert not body.findings
        metadata, payload = body.values["metadata"], body.values["payload"]
        assert (metadata["sequence_id"], metadata["publish_time"]) == (numbers.sequence, numbers.time)
        assert body.values["checksum"]["valid"]
        batched = isinstance(payload, dict)
        if batched:
            assert len(payload["messages"]) == metadata["num_messages_in_batch"] == numbers.count
            assert payload["messages"][-1]["metadata"]["sequence_id"] == numbers.highest
        kinds.add((frame[9], metadata.get("compression", "NONE"), batched))
    assert len(kinds) > 10


@pytest.mark.parametrize("name", ["m326_send", "m430_bin_send"])
def test_an_opaque_in_both_forms_of_header(name: str) -> None:
    rocketmq = by_name("rocketmq")
    data = by_operation(exchanges("rocketmq", name))["SEND_MESSAGE_V2"][0].request
    changed = with_opaque(data, 123_456)
    header = rocketmq.header(changed, True)
    assert (header.correlation, header.operation) == (123_456, "SEND_MESSAGE_V2")
    assert int.from_bytes(changed[:4]) == len(changed) - 4
    remaining = rocketmq.values(changed, Context(Role.REQUEST, header.code)).values
    assert remaining == rocketmq.values(data, Context(Role.REQUEST, header.code)).values
