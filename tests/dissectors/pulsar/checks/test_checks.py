"""What only several messages show to be wrong: messages, perhaps the end of their connection, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.insight.diagnosis import diagnose
from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.pulsar.checks import checks, held_messages
from dissectors.pulsar.checks.connections import PingAnswers, ProtocolVersions
from dissectors.pulsar.checks.creation_loops import CreationLoops
from dissectors.pulsar.checks.held_messages import BlockedConsumers, TransactionTimeouts
from dissectors.pulsar.checks.messages import MessageRedelivery, SendReceipts
from dissectors.pulsar.checks.starved_consumers import StarvedConsumers
from dissectors.pulsar.checks.topic_moves import TopicMoves
from dissectors.pulsar.commands import commands
from dissectors.pulsar.reports.fields import NO_NUMBER, command_codes
from tests.analyzer.capture.writers import NS, T0
from tests.analyzer.wire import CLIENT, FIN, SERVER, Talk, frames, segments, write
from tests.dissectors.checking import End, Step, end, see, show_anything, texts
from tests.dissectors.pulsar.frames import CONNECT, CONNECTED, PING
from tests.dissectors.telling import wanted_names

GOLDEN = Path(__file__).parents[3] / "golden" / "pulsar"
BROKER = "10.0.1.1:6650"
TOPIC = "persistent://public/default/t"


def client(stream: int) -> str:
    return f"10.0.0.{stream}:5000"


def say(name: str, at: int, role: Role = Role.REQUEST, stream: int = 1, losses: int = 0, **values: Any) -> MessageEvent:
    """A command at so many ms."""
    context = Context(role, command_codes()[name])
    return see("pulsar", context, values, stream, at, server=BROKER, losses=losses, client=client(stream))


def call(name: str, answer: str, at: int, told: dict[str, Any], stream: int = 1, **values: Any) -> list[Step]:
    return [say(name, at, stream=stream, **values), say(answer, at, Role.RESPONSE, stream, **told)]


def ends(at: int, *, by_client: bool = True, stream: int = 1, losses: int = 0) -> End:
    return end(stream, at, by_client=by_client, client=client(stream), server=BROKER, losses=losses)


def opens(at: int, stream: int = 1, losses: int = 0) -> End:
    return end(stream, at, losses=losses, is_open=True)


def ping(at: int, **more: Any) -> MessageEvent:
    return say("PING", at, **more)


def pong(at: int, **more: Any) -> MessageEvent:
    return say("PONG", at, Role.RESPONSE, **more)


def agree(client: int, broker: int, flags: Any = None, of_client: Any = None) -> list[Step]:
    reported = {"protocol_version": broker, "feature_flags": flags}
    return call("CONNECT", "CONNECTED", 0, reported, protocol_version=client, feature_flags=of_client)


def subscribe(number: int = 3, name: str = "s", stream: int = 1, at: int = 0) -> MessageEvent:
    return say("SUBSCRIBE", at, stream=stream, consumer_id=number, topic=TOPIC, subscription=name)


def flow(permits: int, at: int, number: int = 3, **more: Any) -> MessageEvent:
    return say("FLOW", at, Role.ONEWAY, consumer_id=number, messagePermits=permits, **more)


def message(at: int, entry: int = 0, count: int = 0, number: int = 3, batch: int = 1, **more: Any) -> MessageEvent:
    place = {"ledgerId": 12, "entryId": entry}
    metadata = {"num_messages_in_batch": batch}
    values: dict[str, Any] = {
        "consumer_id": number,
        "message_id": place,
        "redelivery_count": count,
        "metadata": metadata,
    }
    return say("MESSAGE", at, Role.PUSH, **values, **more)


def made(number: int = 5, at: int = 0, stream: int = 2) -> MessageEvent:
    return say("PRODUCER", at, stream=stream, producer_id=number, topic=TOPIC)


def send(sequence: int, at: int, number: int = 5, stream: int = 2, **more: Any) -> MessageEvent:
    return say("SEND", at, stream=stream, producer_id=number, sequence_id=sequence, **more)


def stored(entry: int, at: int) -> MessageEvent:
    return say("SEND_RECEIPT", at, Role.RESPONSE, 2, producer_id=5, message_id={"ledgerId": 12, "entryId": entry})


def acknowledge(entry: int, at: int) -> MessageEvent:
    return say("ACK", at, Role.ONEWAY, consumer_id=3, message_id=[{"ledgerId": 12, "entryId": entry}])


TRANSACTION = {"txnid_most_bits": 0, "txnid_least_bits": 7}


def begins() -> list[Step]:
    return call("NEW_TXN", "NEW_TXN_RESPONSE", 0, TRANSACTION, txn_ttl_millis=3000)


def ends_transaction(at: int, error: str) -> list[Step]:
    return call("END_TXN", "END_TXN_RESPONSE", at, {"error": error}, **TRANSACTION)


def leave(at: int) -> MessageEvent:
    return say("CLOSE_CONSUMER", at, consumer_id=3)


def receipt(at: int, number: int = 5, stream: int = 2, entry: int = 0) -> MessageEvent:
    place = {"ledgerId": entry, "entryId": entry}
    return say("SEND_RECEIPT", at, Role.RESPONSE, stream, producer_id=number, message_id=place)


def closed_by_broker(at: int, number: int = 5, stream: int = 2) -> MessageEvent:
    return say("CLOSE_PRODUCER", at, Role.PUSH, stream, producer_id=number)


def refused(at: int, stream: int = 1, error: str = "ProducerBusy") -> list[Step]:
    return call("PRODUCER", "ERROR", at, {"error": error}, stream, producer_id=5, topic=TOPIC)


def alone(at: int, stream: int) -> list[Step]:
    mode = {"producer_id": 5, "topic": TOPIC, "producer_access_mode": "ExclusiveWithFencing"}
    return call("PRODUCER", "PRODUCER_SUCCESS", at, {"producer_name": "p"}, stream, **mode)


FED: list[Step] = [subscribe(), made(), flow(10, 1)]
STARVED = "consumer 3, subscription s, topic persistent://public/default/t asked for no more messages for {}, with {}"
BLOCKED = (
    f"consumer 3, subscription s, topic {TOPIC} had permits, and a message waited {{}} for it until the consumer "
    "acknowledged some of its {} unacknowledged messages: probably"
)
NAME = f"producer 5 of {TOPIC}"
KEEP = "; both sides give a connection up that has said nothing for 30 s, or as they are told (keepAliveInterval)"

# Which watch, what happens, and what is said: how each sentence begins
BACK, AWAY = "its client had it", "its client was without it"
GONE = "its client had not got it again"


def creates(at: int, stream: int = 2) -> list[Step]:
    return call("PRODUCER", "PRODUCER_SUCCESS", at, {}, stream, producer_id=5, topic=TOPIC)


OF_CHECKS: dict[type[Check], dict[str, tuple[Sequence[Step], list[str]]]] = {
    PingAnswers: {
        "a ping in time": ([ping(0), pong(10_000), ends(90_000)], []),
        "late": ([ping(0), pong(10_001)], [f"the PING was answered after 10 s{KEEP}"]),
        "late, and bytes are missing": ([ping(0), pong(10_001, losses=1)], []),
        "never": ([ping(0), ping(30_000), ends(60_000)], ["a PING had had no answer for 60 s when 10.0.0.1:5000"]),
        "never, but bytes are missing": ([ping(0), ends(60_000, losses=1)], []),
        "a connection that ends soon behind a ping": ([ping(0), ends(900)], []),
        "a ping that waits still": ([ping(0), opens(20_000)], ["a PING has had no answer for 20 s when the capture"]),
    },
    ProtocolVersions: {
        "an old client": (
            [*agree(11, 21), say("GET_LAST_MESSAGE_ID", 1), say("GET_LAST_MESSAGE_ID", 2)],
            ["GET_LAST_MESSAGE_ID is of protocol version 12 and newer, client and broker agreed on 11"],
        ),
        "an old broker": ([*agree(21, 17), say("TC_CLIENT_CONNECT_REQUEST", 1)], ["TC_CLIENT_CONNECT_REQUEST is"]),
        "as agreed": ([*agree(21, 17), say("GET_OR_CREATE_SCHEMA", 1), ping(2)], []),
        "nobody knows what was agreed": ([say("TOPIC_MIGRATED", 1, Role.PUSH)], []),
        "a feature that the broker has not": (
            [*agree(21, 21, {}, {"supports_topic_watchers": True}), say("WATCH_TOPIC_LIST", 1)],
            ["WATCH_TOPIC_LIST is only for who says supports_topic_watchers at the connection's beginning"],
        ),
        "and one that it has": ([*agree(21, 21, {"supports_topic_watchers": True}), say("WATCH_TOPIC_LIST", 1)], []),
        "a client that cannot refresh": (
            [*agree(21, 21, {"supports_auth_refresh": True}), say("AUTH_CHALLENGE", 1)],
            ["AUTH_CHALLENGE is only for who says supports_auth_refresh"],
        ),
        "the broker's question at the beginning": (
            [say("CONNECT", 0, protocol_version=21), say("AUTH_CHALLENGE", 1)],
            [],
        ),
    },
    BlockedConsumers: {
        "it waits until some are acknowledged": (
            [*FED, message(2, batch=2), stored(1, 3), acknowledge(0, 3000), message(3003, 1)],
            [BLOCKED.format("3 s", "2")],
        ),
        "it waits, and nothing was acknowledged": ([*FED, message(2), stored(1, 3), message(3003, 1)], []),
        "no permits": ([*FED, message(2, batch=10), stored(1, 3), acknowledge(0, 9), message(3003, 1)], []),
        "it was closed and came again": (
            [*FED, message(2), stored(1, 3), leave(4), subscribe(at=5), flow(9, 6), message(3003, 1)],
            [],
        ),
    },
    TransactionTimeouts: {
        "ended in time": ([*begins(), *ends_transaction(2000, "TransactionNotFound"), opens(9000)], []),
        "ended too late": (
            [*begins(), *ends_transaction(4000, "TransactionNotFound"), opens(9000)],
            ["transaction (0,7) was not ended within its timeout of 3 s, but after 4 s"],
        ),
        "not ended": (
            [*begins(), opens(9000)],
            ["transaction (0,7) was not ended within its timeout of 3 s, so its coordinator has aborted it: what"],
        ),
        "bytes are missing in which it may have ended": ([*begins(), opens(9000, losses=1)], []),
        "the connection ends before": ([*begins(), ends(2000)], []),
    },
    StarvedConsumers: {
        "a consumer that keeps up": ([*FED, message(2, batch=10), send(1, 3), flow(10, 900)], []),
        "one that does not": (
            [*FED, message(2, batch=10), send(1, 3), send(2, 3, num_messages=4), flow(10, 3002)],
            [STARVED.format("3 s", "5 messages sent to its topic meanwhile: it does not keep up")],
        ),
        "nothing was sent to it": ([*FED, message(2, batch=10), flow(10, 3002)], []),
        "it has permits": ([*FED, message(2, batch=9), send(1, 3), flow(10, 3002)], []),
        "it asks one by one": ([subscribe(), made(), flow(1, 1), message(2), send(1, 3), flow(1, 3002)], []),
        "it never asks again": ([*FED, message(2, batch=10), send(1, 3), ends(9002)], [STARVED.format("9 s", "1 m")]),
        "nor up to the end": ([*FED, message(2, batch=10), send(1, 3), opens(9002)], [STARVED.format("9 s", "1 m")]),
        "what was sent when it had ended": ([*FED, message(2, batch=10), send(1, 9003), ends(9002)], []),
        "its FLOW may be lost before the end": (
            [*FED, message(2, batch=10), send(1, 3), ends(9002, losses=1), subscribe(4), opens(9002, losses=1)],
            [],
        ),
        "its FLOW may be lost": ([*FED, message(2, batch=10), send(1, 3), flow(10, 3002, losses=1)], []),
        "another one of its subscription is fed": (
            [*FED, subscribe(4), flow(5, 1, 4), message(2, batch=10), send(1, 3), flow(10, 3002)],
            [STARVED.format("3 s", "1 message sent to its topic meanwhile; other consumers")],
        ),
        "closed and made again": (
            [*FED, message(2, batch=10), send(1, 3), say("CLOSE_CONSUMER", 500, consumer_id=3), subscribe(at=9000)],
            [],
        ),
    },
    MessageRedelivery: {
        "each message once": ([subscribe(), *(message(at, at) for at in range(500))], []),
        "again and again": (
            [subscribe(), *(message(at, at % 10, at // 10) for at in range(110))],
            [
                f"subscription s of {TOPIC}: message 12:0 was delivered 10 times before",
                (
                    f"subscription s of {TOPIC}: 100 of 110 entries that were delivered within 109 ms came again, "
                    "10 different"
                ),
            ],
        ),
        "again, without a count": (
            [subscribe(), *(message(at, at % 10) for at in range(110))],
            [f"subscription s of {TOPIC}: 100 of 110 entries"],
        ),
        "again, for it was wanted": (
            [subscribe(), *(message(at, at) for at in range(90)), say("SEEK", 90, consumer_id=3)]
            + [message(at + 100, at) for at in range(110)],
            [],
        ),
        "again, but slowly": ([subscribe(), *(message(at * 1000, at % 10) for at in range(200))], []),
    },
    TopicMoves: {
        "a topic that is back soon": (
            [*creates(0), closed_by_broker(5), *creates(45)],
            [f"the broker {BROKER} closed producer 5 of {TOPIC}, as when it unloads a topic; {BACK} again 40 ms later"],
        ),
        "a topic that is away for long": (
            [*creates(0), closed_by_broker(5), *creates(6005, stream=2)],
            [f"the broker {BROKER} closed producer 5 of {TOPIC}, as when it unloads a topic; {AWAY} for 6 s"],
        ),
        "a topic that does not come back": (
            [*creates(0), closed_by_broker(5), opens(9005, stream=2)],
            [f"the broker {BROKER} closed producer 5 of {TOPIC}, and {GONE} 9 s later, when the capture ends"],
        ),
        "a client that leaves soon": ([*creates(0), closed_by_broker(5), ends(45, stream=2)], []),
        "a consumer that goes back": (
            [
                subscribe(),
                say("SEEK", 3, consumer_id=3),
                say("CLOSE_CONSUMER", 4, Role.PUSH, consumer_id=3),
                opens(9005),
            ],
            [],
        ),
    },
    SendReceipts: {
        "with receipts": ([made(), send(1, 1), receipt(2), ends(9, stream=2)], []),
        "without": (
            [made(), send(1, 1), receipt(2), send(2, 3), send(3, 4), ends(9, stream=2)],
            [f"{NAME}: 10.0.0.2:5000 ended the connection with 2 SENDs without a receipt (sequences 2 to 3)"],
        ),
        "a receipt may be lost": ([made(), send(1, 1), ends(9, stream=2, losses=1)], []),
        "receipts may be lost, but not that of what was sent behind": (
            [made(), send(1, 1), send(2, 2, losses=1), send(3, 3, losses=1), ends(9, stream=2, losses=1)],
            [f"{NAME}: 10.0.0.2:5000 ended the connection with 2 SENDs without a receipt (sequences 2 to 3)"],
        ),
        "the broker closes the producer": (
            [made(), send(1, 1), closed_by_broker(2), made(at=3), send(1, 4), receipt(5), ends(9, stream=2)],
            [f"{NAME} is closed by the broker with a SEND without a receipt (sequence 1): its client sends it again"],
        ),
        "and had answered all": ([made(), send(1, 1), receipt(2), closed_by_broker(3)], []),
        "the broker knows it": (
            [made(), send(7, 1), receipt(2, entry=NO_NUMBER)],
            [f"{NAME}: the broker had sequence 7 already and did not store this message again"],
        ),
        "the broker knows what comes behind it": (
            [made(), send(7, 1, highest_sequence_id=9), receipt(2), send(8, 3), receipt(4, entry=NO_NUMBER)],
            [f"{NAME}: the broker did not store this message (its receipt says -1:-1): it drops duplicates"],
        ),
        "back, and the broker does not mind": ([made(), send(7, 1), receipt(2), send(0, 3), receipt(4)], []),
    },
    CreationLoops: {
        "four times refused": ([step for at in range(4) for step in refused(at * 1000)], []),
        "five times, and ten times": (
            [step for at in range(10) for step in refused(at * 1000)],
            [
                f"{NAME} is asked for the 5th time within 4 s, the last answer was ProducerBusy",
                f"{NAME} is asked for the 10th time within 9 s",
            ],
        ),
        "once in a while": ([step for at in range(9) for step in refused(at * 20_000)], []),
        "a consumer that seeks": (
            [step for at in range(9) for step in (subscribe(at=at), say("SEEK", at, consumer_id=3))],
            [],
        ),
        "another takes over": ([*alone(0, 1), *alone(1000, 2), *alone(2000, 3)], []),
        "in turns": (
            [step for at in range(6) for step in alone(at * 1000, at % 2 + 1)],
            [f"10.0.0.1:5000 and 10.0.0.2:5000 take {TOPIC} from one another in turns, 3 times within 3 s"],
        ),
    },
}
CASES = {name: (kind, *case) for kind, cases in OF_CHECKS.items() for name, case in cases.items()}


@pytest.mark.parametrize("case", CASES)
def test_what_is_reported(case: str) -> None:
    kind, steps, expected = CASES[case]
    found = texts(kind, steps)
    assert len(found) == len(expected), found
    for text, begin in zip(found, expected, strict=True):
        assert text.startswith(begin)


@pytest.mark.parametrize(
    ("between", "found"), [([], 0), ([leave(4), subscribe(at=5), flow(9, 6), message(7, 1)], 1)], ids=["full", "freed"]
)
def test_unacknowledged_messages_are_bounded(monkeypatch: pytest.MonkeyPatch, between: list[Step], found: int) -> None:
    """Of two entries the first is remembered, so nothing is known of the second, until the first is forgotten."""
    monkeypatch.setattr(held_messages, "MOST_UNACKNOWLEDGED", 1)
    steps = [*FED, message(2), message(3, 1), *between, stored(2, 8), acknowledge(1, 3000), message(3003, 2)]
    assert len(texts(BlockedConsumers, steps)) == found


PATHS = sorted(wanted_names(checks()))
ANY = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.integers(0, NO_NUMBER), st.text("/ab", max_size=3),
    st.lists(st.integers(-1, 3), max_size=3), st.dictionaries(st.sampled_from(["ledgerId", "entryId"]), st.integers()),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.integers(0, 999),
            st.dictionaries(st.sampled_from(PATHS), ANY, max_size=5),
            st.integers(0, 2),
            st.integers(0, 1 << 40),
        ),
        max_size=8,
    )
)
def test_nothing_is_raised(messages: list[tuple[int, dict[str, Any], int, int]]) -> None:
    for kind in checks():
        show_anything(kind, messages)


CODES = {"late-pong", "starved-consumer", "redelivery-storm", "newer-command", "no-receipt", "producers-in-turns"}
FAULTS = {
    "java4_errors": {"reconnect-loop": 4},
    "raw4_haproxy": {"no-receipt": 4},
    "standalone": {"no-receipt": 1},
}
"""Captures of clients that do something wrong, the last of a fenced producer that sends. All others: nothing."""


@pytest.mark.parametrize("name", sorted(path.name.partition(".")[0] for path in GOLDEN.glob("*.pcap.zst")))
def test_who_is_well_is_left_alone(name: str) -> None:
    found: dict[str, int] = {}
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        for each in diagnose(session):
            code = each.finding.code
            if code in CODES | {"reconnect-loop", "duplicate-sequence", "out-of-order-sequence", "bug"}:
                found[code] = found.get(code, 0) + 1
    assert found == FAULTS.get(name, {})


@pytest.mark.parametrize("ended", [False, True], ids=["open", "ended"])
def test_a_ping_that_nobody_answers(tmp_path: Path, ended: bool) -> None:
    """Told of a real capture: at the last message of the connection, as it stands when the capture ends."""
    silent = Talk(((CLIENT, CONNECT), (SERVER, CONNECTED), (CLIENT, PING)), (("10.0.0.1", 40_000), ("10.0.0.2", 6650)))
    other = Talk(((CLIENT, CONNECT), (SERVER, CONNECTED)), (("10.0.0.1", 40_001), ("10.0.0.2", 6650)))
    packets = frames([each for each in segments(silent) if ended or not each.flags & FIN], silent, T0)
    packets += frames(segments(other), other, T0 + 20 * NS)
    with Session([write(tmp_path / "a.pcap", packets)]).load() as session:
        found = [each for each in diagnose(session) if each.finding.code == "late-pong"]
    assert [each.row for each in found] == ([] if ended else [2])
    assert all("when the capture ends" in each.finding.text for each in found)


def test_versions_are_of_commands_that_there_are() -> None:
    names = {command.name for command in commands().values()}
    wanted = {commands()[code].name for _, code, _ in ProtocolVersions.on if code is not None}
    assert wanted <= names
    assert {"PING", "WATCH_TOPIC_LIST", "TOPIC_MIGRATED"} <= wanted
