"""The fast path of RocketMQ.header says the same, of the vendor's frames and of others, cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.fast_path import FAST_PATH, LONGEST
from tests.dissectors.fast_paths import Message, looks, mutated, recorded

ROCKETMQ = RocketMQ()
REST = ',"flag":0,"language":"JAVA","opaque":7,"version":5}'


def compare(messages: Sequence[Message], available: Sequence[int] | None = None) -> int:
    """How many the fast path was sure of: what it says of them is what look() says, and header()."""
    found = looks(FAST_PATH, messages, available)
    for look, (data, from_client) in zip(found, messages, strict=True):
        if look is not None:
            assert look.header == ROCKETMQ.header(data, from_client), data[:600]
            assert look == FAST_PATH.look(data, from_client)
    return sum(look is not None for look in found)


def test_recorded_messages() -> None:
    messages = recorded("rocketmq")
    assert compare(messages) > 0.95 * len(messages) > 700


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_mutated_messages(seed: int) -> None:
    random = Random(seed)
    messages = [(mutated(data, random, 4, 8 + int.from_bytes(data[5:8])), side) for data, side in recorded("rocketmq")]
    assert compare(messages) > 200


@pytest.mark.parametrize("seed", range(4))
def test_mutated_headers_of_their_length(seed: int) -> None:
    """The header's own length is made true again, so that its grammar has to tell."""
    random, messages = Random(seed), []
    for data, side in recorded("rocketmq"):
        header = mutated(data[: 8 + int.from_bytes(data[5:8])], random, 8, 1 << 20)
        messages.append((header[:4] + data[4:5] + max(len(header) - 8, 0).to_bytes(3) + header[8:], side))
    assert compare(messages) > 200


def test_every_cut() -> None:
    """Whatever is there of a message, what it seems to say is what all of it says."""
    data, side = max(recorded("rocketmq")[::20], key=lambda message: len(message[0]) < 600 and len(message[0]))
    assert compare([(data, side)] * len(data), range(len(data))) == len(data) - 8 - int.from_bytes(data[5:8])


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ('{"code":10' + REST, True),
        ('{"code":10,"extFields":{}' + REST, True),
        ('{"code":10,"extFields":{"a":"b","c":"d"}' + REST, True),
        ('{"code":10,"extFields":{"a":5,"flag":1,"code":11,"b":"c"}' + REST, True),
        ('{"code":10,"extFields":{"code":11}' + REST, False),
        ('{"code":10,"extFields":{"a":"\\u0001\\n"}' + REST, True),
        ('{"code":10,"extFields":{"":""}' + REST, True),
        ('{"code":10,"remark":":{},1,"' + REST, True),
        ('{"code":-2147483647' + REST, True),
        ('{"code":-2147483648' + REST, False),
        ('{"code":2147483648' + REST, False),
        ('{"code":99999999999' + REST, False),
        ('{"code":010' + REST, False),
        ('{"code":-' + REST, False),
        ('{"code":1.0' + REST, False),
        ('{"code":"10"' + REST, False),
        ('{"code":null' + REST, False),
        ('{"code":10,"code":11' + REST, False),
        ('{"code":10,"extFields":{"a":{"b":"c"}}' + REST, False),
        ('{"code":10,"extFields":{"a":"\\""}' + REST, False),
        ('{"code":10,"extFields":{"a":"\\u00g1"}' + REST, False),
        ('{"code":10,"extFields":{"a":"\\x"}' + REST, False),
        ('{"code":10,"extFields":{"a":"\t"}' + REST, False),
        ('{"code":10,"extFields":{"a":"é"}' + REST, False),
        ('{"code":10,"extFields":{"a":"b",}' + REST, False),
        ('{"code":10,"extFields":{"a" "b"}' + REST, False),
        ('{"code":10,"extFields":{"a":"b"' + REST, False),
        ('{"code":10,"extFields":{"a":"b"}}' + REST, False),
        ('{"code":10,"extFields":["a","b"]' + REST, False),
        ('{"c\\u006fde":10' + REST, False),
        ('{ "code":10' + REST, False),
        ('{"code":10, "flag":0,"language":"JAVA","opaque":7,"version":5}', False),
        ('{"code":10,"flag":0,"language":"NODE_JSX","opaque":7,"version":5}', True),
        ('{"code":10,"flag":0,"language":"LONGNAMED","opaque":7,"version":5}', False),
        ('{"code":10,"flag":0,"language":"J\\u0041","opaque":7,"version":5}', False),
        ('{"code":10,"flag":0,"opaque":7,"version":5,"language":5}', False),
        ('{"code":10,"flag":0,"opaque":7,"version":5,"language":"GO"}', True),
        ('{"language":"GO","code":10,"flag":0,"opaque":7,"version":5,"extFields":{"a":"b"}}', True),
        ('{"language":"GO","code":10,"flag":0,"opaque":7,"version":5,"extFields":{"a":5}}', False),
        ('"code":10' + REST, False),
        ("", False),
        ("{}", False),
        ('"', False),
        ('{"code":10,"extFields":{"a":"' + "b" * LONGEST + '"}' + REST, False),
    ],
)
def test_forms(text: str, sure: bool) -> None:
    """Alone, and between others, which a broken one must not disturb."""
    header = text.encode()
    message = (len(header) + 4).to_bytes(4) + len(header).to_bytes(4) + header
    sound = max(recorded("rocketmq"), key=lambda each: each[0][8:9] == b"{" and len(each[0]) < 300)
    assert compare([(message, True)]) == sure
    assert compare([sound, (message, True), (message, False), sound]) == 2 + 2 * sure
