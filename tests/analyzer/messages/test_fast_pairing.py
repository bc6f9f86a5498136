"""Pairing in columns is what conversations do message by message, whatever is asked and answered, and whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import analyzer.capture.records
import analyzer.messages.engine
import analyzer.messages.fast_pairing
import dissectors.kafka.conversation
import dissectors.pairing
from analyzer.messages.fast_pairing import PairingHeaders
from analyzer.messages.fast_rows import FastRowBuilder
from tests.analyzer.wire import CLIENT, SERVER, Ends, Talk, capture, rows, segments

Writes = list[tuple[int, bytes]]
COUNT = 150
"""Messages of a conversation."""


pytestmark = pytest.mark.usefixtures("small_scale")


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def asked_and_answered(
    random: Random, ask: Callable[[int, int], bytes], answer: Callable[[int, int], bytes], keys: int, loss: float
) -> Writes:
    """Both ends ask (mostly the client) under few keys, and answer in some order; some never, some what was not asked.

    ask, answer: a message of a side with a key.
    """
    found: Writes = []
    waiting: list[tuple[int, int]] = []
    for number in range(COUNT):
        side = CLIENT if random.random() < 0.8 else SERVER
        if random.random() < 0.5:
            key = number if keys == 0 else random.randrange(1, keys + 1)
            found.append((side, ask(side, key)))
            waiting.append((side, key))
        elif waiting and random.random() > loss:
            asker, key = waiting.pop(0 if random.random() < 0.7 else random.randrange(len(waiting)))
            found.append((1 - asker, answer(1 - asker, key)))
        elif random.random() < loss:
            found.append((1 - side, answer(1 - side, random.randrange(1, 9))))
            if waiting:
                waiting.pop(0)
    return found


# ---- RocketMQ: both sides ask, under numbers of their own


def command(flag: int, opaque: int, code: int) -> bytes:
    header = b'{"code":%d,"flag":%d,"language":"JAVA","opaque":%d,"version":%d}' % (code, flag, opaque, 400 + code % 2)
    return framed(len(header).to_bytes(4) + header)


def rocketmq(random: Random) -> Writes:
    codes = (10, 11, 34, 105, 40, 9999)

    def ask(side: int, key: int) -> bytes:
        return command(2 * (random.random() < 0.1), key, random.choice(codes))

    keys, loss = random.choice(((0, 0), (0, 0.1), (4, 0), (4, 0.2), (30, 0.02)))
    opening = [(CLIENT, command(0, 1000, 105)), (SERVER, command(1, 1000, 0))]
    return opening + asked_and_answered(random, ask, lambda side, key: command(1, key, 0), keys, loss)


# ---- ZooKeeper: the client asks, pings have a key of their own, and keys that are used again have rules


def numbers(*values: int) -> bytes:
    return framed(b"".join(value.to_bytes(4, signed=True) for value in values))


def zookeeper(random: Random) -> Writes:
    def ask(side: int, key: int) -> bytes:
        if side == SERVER:
            return numbers(-1, -1, -1, 0, 3, 3, 0)
        if random.random() < often:
            pings.add(key)
            return numbers(random.choice((-2, key)), 11)
        return numbers(key, random.choice((4, 3, 5, 101, 100, unknown)), 0, 0)

    def answer(side: int, key: int) -> bytes:
        return numbers(-2 if key in pings else key, 0, 9, random.choice((0, 0, -101)))

    pings: set[int] = set()
    often, unknown = random.choice((0, 0.1)), random.choice((8, 8, 8, 77))
    keys, loss = random.choice(((0, 0), (0, 0.1), (4, 0), (4, 0.2), (30, 0.02)))
    connect = framed(bytes(24) + (16).to_bytes(4) + bytes(17))
    accepted = framed(bytes(8) + (7).to_bytes(8) + (16).to_bytes(4) + bytes(17))
    text = asked_and_answered(random, ask, answer, keys, loss)
    return [(CLIENT, connect), (SERVER, accepted), *text]


# ---- Kafka: answers come in order


def kafka(random: Random) -> Writes:
    found: Writes = [(CLIENT, request(0)), (SERVER, numbers(0, 0, 0))]
    waiting: list[int] = []
    loss = random.choice((0, 0, 0.03))
    for number in range(1, COUNT):
        if random.random() < 0.5:
            key = number if loss else random.randrange(4)
            found.append((CLIENT, request(key, random.choice((1, 1, 1, 1, 40)) if loss else 1)))
            waiting.append(key)
        elif waiting:
            key = waiting.pop(0)
            if random.random() >= loss:
                found.append((SERVER, numbers(key, 0, 0)))
    return found


def request(correlation: int, version: int = 1) -> bytes:
    return framed((3).to_bytes(2) + version.to_bytes(2) + correlation.to_bytes(4) + b"\0\2me" + bytes(4))


TALKS: dict[str, tuple[int, Callable[[Random], Writes]]] = {
    "kafka": (9092, kafka),
    "rocketmq": (9876, rocketmq),
    "zookeeper": (2181, zookeeper),
}


def written(folder: Path, protocol: str, seed: int) -> Path:
    port, talk = TALKS[protocol]
    ends: Ends = (("10.0.0.1", 40_000), ("10.0.0.2", port))
    conversation = Talk(tuple(talk(Random(seed))), ends)
    return capture(folder / "a.pcap", segments(conversation), conversation)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("protocol", TALKS)
def test_pairs(tmp_path: Path, protocol: str, seed: int) -> None:
    path = written(tmp_path, protocol, seed)
    plain = rows(path, use_fast_path=False)
    assert {row["protocol"] for row in plain} == {protocol}
    for block in (2, 9, 1000):
        assert rows(path, block=block) == plain, f"blocks of {block}"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("protocol", TALKS)
def test_what_waits_is_bounded(tmp_path: Path, protocol: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (analyzer.messages.fast_pairing, dissectors.pairing, dissectors.kafka.conversation):
        monkeypatch.setattr(module, "MOST_WAITING", 3)
    path = written(tmp_path, protocol, seed)
    plain = rows(path, use_fast_path=False)
    assert any(row["state"] == "guessed" for row in plain)
    for block in (9, 1000):
        assert rows(path, block=block) == plain, f"blocks of {block}"


@pytest.mark.parametrize("protocol", TALKS)
def test_most_is_not_stepped(tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is lost and no key is used again while it waits, no row goes through a conversation."""
    stepped: list[int] = []
    step = FastRowBuilder._step

    def counted(self: FastRowBuilder, headers: PairingHeaders, owner: int) -> None:
        stepped.append(owner)
        step(self, headers, owner)

    monkeypatch.setattr(FastRowBuilder, "_step", counted)
    taken = 0
    for seed in range(8):
        stepped.clear()
        rows(written(tmp_path, protocol, seed))
        taken += not stepped
    assert taken >= 2


def test_keys_that_do_not_fit_one_number(tmp_path: Path) -> None:
    """Far apart keys are sorted in another way."""
    keys = [-(2**31), 2**31 - 1, 0, 5]
    writes = [(CLIENT, command(0, 1, 105)), (SERVER, command(1, 1, 0))]
    writes += [(CLIENT, command(0, key, 105)) for key in keys] + [(SERVER, command(1, key, 0)) for key in keys[::-1]]
    talk = Talk(tuple(writes), (("10.0.0.1", 40_000), ("10.0.0.2", 9876)))
    path = capture(tmp_path / "a.pcap", segments(talk), talk)
    found = rows(path)
    assert found == rows(path, use_fast_path=False)
    assert [row["partner"] for row in found] == [2, 1, 10, 9, 8, 7, 6, 5, 4, 3]
