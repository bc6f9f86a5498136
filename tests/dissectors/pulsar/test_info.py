"""Lines for people: of commands, of what follows them, and of answers with what was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dissectors.pulsar
from dissectors.api import Body, Context, Role
from dissectors.pulsar import Pulsar
from dissectors.pulsar.commands import commands, library
from dissectors.pulsar.summaries import format_info
from tests.dissectors.pulsar.frames import METADATA, NO_ID, field, frame, payload_part, send, sized

PULSAR = Pulsar()
TABLE = json.loads((Path(dissectors.pulsar.__file__).parent / "tables" / "summaries.json").read_text())
REQUEST, RESPONSE, PUSH, ONEWAY = Role.REQUEST, Role.RESPONSE, Role.PUSH, Role.ONEWAY
LATEST = 2**63 - 1


def line(role: Role, message: bytes, asked: bytes | None = None) -> str:
    """The line about a message, its request known to the fields that it recalls."""
    context = Context(role, message[9] if message[9] != 0 else None)
    body = PULSAR.values(message, context)
    assert not [each for each in body.findings if each.code == "malformed-body"]
    if asked is not None:
        values = PULSAR.values(asked, Context(REQUEST, asked[9])).values
        known = {name: values[name] for (name,) in PULSAR.request_fields(context) if name in values}
        body = body._replace(request=known, request_code=asked[9])
    return PULSAR.info(body, context)


def place(ledger: int, entry: int, *more: bytes) -> bytes:
    return field(1, ledger) + field(2, entry) + b"".join(more)


def schema(kind: int) -> bytes:
    return field(1, "") + field(3, b"") + field(4, kind)


def delivered(metadata: bytes, payload: bytes = b"x", *fields: bytes) -> bytes:
    return frame(9, field(1, 7), field(2, place(3, 4)), *fields, rest=payload_part(metadata, payload))


def property_of(key: str, value: str) -> bytes:
    return field(4, field(1, key) + field(2, value))


TOPIC, SUBSCRIPTION = field(1, "t"), field(2, "s")
SUBSCRIBE = frame(4, TOPIC, SUBSCRIPTION, field(3, 1), field(4, 7), field(5, 9))
PRODUCER = frame(5, TOPIC, field(2, 3), field(3, 9))
LOOKUP = frame(23, TOPIC, field(2, 9))
BATCH = sized(field(3, 2)) + b"ab" + sized(field(3, 1)) + b"c"
TXN = field(2, 7) + field(3, 1)
LONG = (
    "t, subscription s, Key_Shared, consumer 7, name c, sticky 0-99, any order, from the earliest if new, "
    "from the earliest, from 1 h ago, not durable, compacted, replicated, topic not to be created, priority 2"
)

ALONE = [
    (REQUEST, frame(2, field(1, "C"), field(3, b"hush"), field(4, 21), field(5, "token"), field(6, "b:6650"),
                    field(7, "bob")),
     "C, protocol v21, token authentication, through a proxy to b:6650, for bob"),
    (REQUEST, frame(2, field(1, "C"), field(5, "none")), "C, no authentication"),
    (RESPONSE, frame(3, field(1, "S"), field(2, 21), field(3, 5 << 20)), "S, protocol v21, messages up to 5 MiB"),
    (REQUEST, frame(36, field(1, "S"), field(2, field(1, "token") + field(2, b"hush"))), "S, token authentication"),
    (RESPONSE, frame(37, field(1, "C"), field(2, field(1, "token") + field(2, b"hush"))), "C, token authentication"),
    (REQUEST, frame(21, TOPIC, field(2, 9), field(6, 0)), "t, not to be created"),
    (REQUEST, frame(23, TOPIC, field(2, 9), field(3, 1), field(7, "internal")), "t, authoritative, listener internal"),
    (REQUEST, frame(5, TOPIC, field(2, 3), field(3, 9), field(4, "p"), field(5, 1),
                    field(6, field(1, "k") + field(2, "v")), field(7, schema(4)), field(8, 2), field(10, 1),
                    field(11, 5)),
     "t, producer 3, name p, Exclusive, encrypted, schema Avro, epoch 2, topic epoch 5"),
    (REQUEST, frame(4, TOPIC, SUBSCRIPTION, field(3, 3), field(4, 7), field(5, 9), field(6, "c"), field(7, 2),
                    field(8, 0), field(9, place(NO_ID, NO_ID)), field(11, 1), field(13, 1), field(14, 1),
                    field(15, 0), field(16, 3600),
                    field(17, field(1, 1) + field(3, field(1, 0) + field(2, 99)) + field(4, 1))),
     LONG),
    (REQUEST, SUBSCRIBE, "t, subscription s, Shared, consumer 7"),
    (REQUEST, frame(12, field(1, 7), field(2, 9), field(3, 1)), "consumer 7, by force"),
    (REQUEST, frame(28, field(1, 7), field(2, 9), field(3, place(3, 4))), "consumer 7, to 3:4"),
    (REQUEST, frame(28, field(1, 7), field(2, 9), field(3, place(NO_ID, NO_ID))), "consumer 7, to the earliest"),
    (REQUEST, frame(28, field(1, 7), field(2, 9), field(3, place(LATEST, LATEST))), "consumer 7, to the latest"),
    (REQUEST, frame(28, field(1, 7), field(2, 9), field(4, 1_795_271_133_179)),
     "consumer 7, to 2026-11-21T14:25:33.179Z"),
    (ONEWAY, frame(11, field(1, 7), field(2, 1)), "consumer 7, 1 permit"),
    (ONEWAY, frame(20, field(1, 7)), "consumer 7, all that is not acknowledged"),
    (ONEWAY, frame(20, field(1, 7), *(field(2, place(3, each)) for each in range(5))),
     "consumer 7, 3:0, 3:1, 3:2, 2 more"),
    (ONEWAY, frame(10, field(1, 7), field(2, 0), field(3, place(3, 4)),
                   field(3, place(3, 5, field(5, 21), field(6, 5)))),
     "consumer 7, 3:4, 3:5 (3 of 5 left)"),
    (ONEWAY, frame(10, field(1, 7), field(2, 1), field(3, place(3, 4, field(3, 2)))), "consumer 7, up to 3:4:2"),
    (ONEWAY, frame(10, field(1, 7), field(2, 0), field(3, place(3, 4, field(4, 6))), field(4, 4)),
     "DecryptionError, consumer 7, 3:4:-1:6"),
    (REQUEST, frame(10, field(1, 7), field(2, 0), field(3, place(3, 4)), field(6, 7), field(7, 1), field(8, 9)),
     "consumer 7, 3:4, transaction (1,7)"),
    (PUSH, frame(31, field(1, 7)), "consumer 7, inactive"),
    (PUSH, frame(31, field(1, 7), field(2, 1)), "consumer 7, active"),
    (PUSH, frame(15, field(1, 3), field(2, NO_ID), field(3, "pulsar://b")),
     "producer 3, closed by the broker, now at pulsar://b"),
    (PUSH, frame(16, field(1, 7), field(2, NO_ID), field(4, "pulsar+ssl://b")),
     "consumer 7, closed by the broker, now at pulsar+ssl://b (TLS)"),
    (PUSH, frame(68, field(1, 3), field(2, 0), field(3, "pulsar://b")), "producer 3, now at pulsar://b"),
    (REQUEST, frame(50, field(1, 9), field(2, 30_000), field(3, 1)), "coordinator 1, timeout 30 s"),
    (REQUEST, frame(52, field(1, 9), TXN, *(field(4, each) for each in "abcd")), "4 partitions, transaction (1,7)"),
    (REQUEST, frame(54, field(1, 9), TXN, field(4, TOPIC + SUBSCRIPTION)), "subscription s of t, transaction (1,7)"),
    (REQUEST, frame(56, field(1, 9), TXN, field(4, 1)), "transaction (1,7), abort"),
    (REQUEST, frame(32, field(1, 9), field(2, "a/b"), field(3, 2), field(4, "x.*"), field(5, "ff")),
     "a/b, pattern x.*, ALL, hash ff"),
    (PUSH, frame(66, field(1, 5), field(2, "a"), field(3, "b"), field(3, "c"), field(4, "ff")),
     "new a, deleted b, c, hash ff, watcher 5"),
    (PUSH, frame(77, field(1, 5), field(3, field(1, "a") + field(2, "b"))), "watch 5, new a, deleted b"),
    (PUSH, frame(77, field(1, 5), field(2, field(1, "a"))), "watch 5, a"),
    (PUSH, frame(80, field(1, 5), field(2, field(1, 16) + field(2, field(1, 0)))), "watch 5, 1 of 16 coordinators"),
    (PUSH, frame(71, field(1, 5), field(2, field(1, 4) + field(4, "pulsar://b")), field(5, "topic://t")),
     "topic://t, session 5, 0 segments, epoch 4, controller pulsar://b"),
    (REQUEST, frame(76, field(1, 5), field(2, "a/b"), field(3, field(1, "k") + field(2, "v"))),
     "a/b, only k=v, watch 5"),
    (REQUEST, frame(18), ""),
]  # fmt: skip


@pytest.mark.parametrize(("role", "message", "expected"), ALONE, ids=[each[2] for each in ALONE])
def test_commands(role: Role, message: bytes, expected: str) -> None:
    assert line(role, message) == expected


CARRIED = [
    (send(METADATA, b"abc"), "producer 0, sequence 3, 3 bytes"),
    (send(METADATA + field(6, "k") + field(8, 3), b"broken"), "producer 0, sequence 3, 6 bytes, ZSTD, key k"),
    (send(METADATA + field(11, 2), BATCH), "producer 0, sequence 3, 2 messages, 3 bytes"),
    (frame(6, field(1, 0), field(2, 3), field(6, 5), rest=payload_part(METADATA + field(11, 2), BATCH)),
     "producer 0, sequence 3 to 5, 2 messages, 3 bytes"),
    (send(METADATA + field(26, "u") + field(27, 3) + field(28, 12_000) + field(29, 1), b"x" * 5000),
     "producer 0, sequence 3, chunk 2 of 3, 4.9 KiB of 11.7 KiB"),
    (send(METADATA + field(13, field(1, "mine") + field(2, b"secret")) + field(9, 345) + field(11, 3), b"x"),
     "producer 0, sequence 3, 3 messages, 345 bytes, encrypted with mine"),
    (send(METADATA + field(25, 1), b""), "producer 0, sequence 3, null"),
    (send(METADATA + field(6, "a2V5") + field(17, 1)), "producer 0, sequence 3, 1 byte, key a2V5 (base64)"),
    (send(METADATA + field(19, 1_795_271_133_179)),
     "producer 0, sequence 3, 1 byte, deliver at 2026-11-21T14:25:33.179Z"),
    (send(METADATA + field(5, "west") + property_of("__MSG_PROP_REPL_SOURCE_POSITION", "8:9")),
     "producer 0, sequence 3, 1 byte, from cluster west, source 8:9"),
    (send(METADATA + property_of("REAL_TOPIC", "t") + property_of("RECONSUMETIMES", "2")),
     "producer 0, sequence 3, 1 byte, from t, retry 2"),
    (send(METADATA + field(20, 21) + field(22, 7) + field(23, 1), b""),
     "producer 0, sequence 3, marker TXN_COMMIT, transaction (1,7)"),
    (send(METADATA, b"abc", checksum=1), "wrong checksum, producer 0, sequence 3, 3 bytes"),
    (delivered(METADATA), "consumer 7, 3:4, 1 byte"),
    (delivered(METADATA + field(11, 2), BATCH, field(3, 4), field(4, 2)),
     "consumer 7, 3:4, redelivery 4, 1 of 2 left, 2 messages, 3 bytes"),
    (delivered(METADATA + field(11, 2) + field(31, 1), BATCH),
     "consumer 7, 3:4, 2 messages, 3 bytes, 1 compacted away"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), CARRIED, ids=[each[1] for each in CARRIED])
def test_messages(message: bytes, expected: str) -> None:
    context = Context(REQUEST, message[9])
    assert PULSAR.info(PULSAR.values(message, context), context) == expected


ANSWERS = [
    (frame(7, field(1, 3), field(2, 4), field(3, place(5, 6)), field(4, NO_ID)), None, "producer 3, sequence 4, 5:6"),
    (frame(7, field(1, 3), field(2, 4), field(3, place(NO_ID, NO_ID))), None,
     "producer 3, sequence 4, a duplicate, not stored again"),
    (frame(8, field(1, 3), field(2, 4), field(3, 25), field(4, "too late")), None,
     "ProducerFenced producer 3, sequence 4, too late"),
    (frame(13, field(1, 9)), SUBSCRIBE, "subscribed t, subscription s, consumer 7"),
    (frame(13, field(1, 9)), frame(15, field(1, 3), field(2, 9)), "closed producer 3"),
    (frame(13, field(1, 9)), frame(16, field(1, 7), field(2, 9)), "closed consumer 7"),
    (frame(13, field(1, 9)), frame(12, field(1, 7), field(2, 9)), "unsubscribed consumer 7"),
    (frame(13, field(1, 9)), frame(12, field(1, 7), field(2, 9), field(3, 1)), "unsubscribed consumer 7, by force"),
    (frame(13, field(1, 9)), frame(28, field(1, 7), field(2, 9), field(3, place(3, 4))), "moved consumer 7, to 3:4"),
    (frame(13, field(1, 9)), frame(67, field(1, 9), field(2, 5)), "closed watcher 5"),
    (frame(13, field(1, 9)), None, ""),
    (frame(14, field(1, 9), field(2, 5), field(3, "taken")), SUBSCRIBE,
     "ConsumerBusy t, subscription s, consumer 7, taken"),
    (frame(14, field(1, 9), field(2, 18), field(3, "Unable to read schema:\n{\n}")), PRODUCER,
     "IncompatibleSchema t, producer 3, Unable to read schema:..."),
    (frame(14, field(1, NO_ID), field(2, 3), field(3, "no")), frame(2, field(1, "C"), field(5, "token")),
     "AuthenticationError token authentication, no"),
    (frame(14, field(1, 9), field(2, 77), field(3, "")), None, "UNKNOWN_77"),
    (frame(17, field(1, 9), field(2, "p"), field(3, 12), field(4, bytes(7) + b"\2")), PRODUCER,
     "t, producer 3, name p, schema version 2, last sequence 12"),
    (frame(17, field(1, 9), field(2, "p"), field(3, -1), field(6, 0)), PRODUCER,
     "t, producer 3, name p, waits for its turn"),
    (frame(22, field(1, 0), field(2, 9), field(3, 0)), frame(21, TOPIC, field(2, 9)), "t, not partitioned"),
    (frame(22, field(1, 3), field(2, 9), field(3, 0)), frame(21, TOPIC, field(2, 9)), "t, 3 partitions"),
    (frame(22, field(2, 9), field(3, 1), field(4, 11), field(5, "none")), frame(21, TOPIC, field(2, 9)),
     "TopicNotFound t, none"),
    (frame(24, field(1, "pulsar://b"), field(3, 1), field(4, 9), field(5, 1), field(8, 1)), LOOKUP,
     "t, connect to pulsar://b, through the service URL"),
    (frame(24, field(1, "pulsar://b"), field(3, 0), field(4, 9), field(5, 1)), LOOKUP,
     "t, redirect to pulsar://b, authoritative"),
    (frame(24, field(2, "pulsar+ssl://b"), field(3, 1), field(4, 9)), LOOKUP, "t, connect to pulsar+ssl://b"),
    (frame(30, field(1, place(3, 4, field(4, 2))), field(2, 9), field(3, place(3, 1))),
     frame(29, field(1, 7), field(2, 9)), "consumer 7, last 3:4:-1:2, acknowledged up to 3:1"),
    (frame(30, field(1, place(NO_ID, NO_ID)), field(2, 9), field(3, place(3, NO_ID))), None,
     "no message, acknowledged up to 3:-1"),
    (frame(26, field(1, 9), field(8, -3), field(9, 2), field(10, 1), field(15, 5)), frame(25, field(1, 9), field(4, 7)),
     "consumer 7, backlog 5, 2 not acknowledged, -3 permits, blocked"),
    (frame(33, field(1, 9), *(field(2, each) for each in "abcd"), field(3, 1), field(4, "ff")),
     frame(32, field(1, 9), field(2, "a/b"), field(4, "x.*")), "a/b, pattern x.*, 4 topics, filtered, hash ff"),
    (frame(33, field(1, 9), field(4, "ff"), field(5, 0)), frame(32, field(1, 9), field(2, "a/b")),
     "a/b, unchanged, hash ff"),
    (frame(65, field(1, 9), field(2, 5), field(3, "a"), field(4, "ff")), frame(64, field(1, 9), field(2, 5),
     field(3, "a/b"), field(4, "x.*")), "a/b, pattern x.*, a, hash ff, watcher 5"),
    (frame(35, field(1, 9), field(4, schema(15)), field(5, bytes(8))), frame(34, field(1, 9), field(2, "t")),
     "t, schema KeyValue, schema version 0"),
    (frame(40, field(1, 9), field(2, 18), field(3, "no")), frame(39, field(1, 9), field(2, "t"), field(3, schema(4))),
     "IncompatibleSchema t, no"),
    (frame(51, field(1, 9), TXN), frame(50, field(1, 9), field(3, 1)), "coordinator 1, transaction (1,7)"),
    (frame(53, field(1, 9), TXN), frame(52, field(1, 9), TXN, field(4, "t")), "t, transaction (1,7)"),
    (frame(57, field(1, 9), TXN), frame(56, field(1, 9), TXN, field(4, 0)), "transaction (1,7), committed"),
    (frame(57, field(1, 9), TXN, field(4, 23), field(5, "no")), frame(56, field(1, 9), TXN, field(4, 0)),
     "TransactionConflict transaction (1,7), commit, no"),
    (frame(61, field(1, 9), TXN), frame(60, field(1, 9), TXN, field(4, TOPIC + SUBSCRIPTION), field(5, 1)),
     "subscription s of t, transaction (1,7), aborted"),
    (frame(63, field(1, 9)), frame(62, field(1, 9), field(2, 4)), "coordinator 4"),
    (frame(38, field(1, 7), field(4, 23), field(5, "no"), field(6, 9)), None, "TransactionConflict consumer 7, no"),
    (frame(19), None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("message", "asked", "expected"), ANSWERS, ids=[each[2] or "nothing" for each in ANSWERS])
def test_answers(message: bytes, asked: bytes | None, expected: str) -> None:
    assert line(RESPONSE, message, asked) == expected


def test_receipts_need_no_request() -> None:
    assert PULSAR.request_fields(Context(RESPONSE, 7)) == frozenset()
    assert PULSAR.request_fields(Context(REQUEST, 13)) == frozenset()


def test_what_is_repeated_is_a_field_of_what_may_be_answered() -> None:
    names = {command.name: command for command in commands().values()}
    for answer, fields in TABLE["requestFields"].items():
        asking = [each for each in names.values() if answer in each.answered_by or answer == "ERROR"]
        known = {row.name for command in asking for row in command.message.fields.values()}
        assert set(fields) <= known, answer
    assert set(TABLE["deeds"]) == {name for name, each in names.items() if "SUCCESS" in each.answered_by}
    for key, fields in TABLE["meant"].items():
        known = {row.name for row in names[key.split()[-1]].message.fields.values()}
        assert set(fields) - {"closed"} <= known, key


ODD: list[object] = [None, True, -1, 1 << 70, 1.5, "", "x", b"", b"\xff", [], [{}, {}], {}, {"type": []}]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_fields_of_any_type(value: object) -> None:
    for names in TABLE["line"]:
        for name in names.split("|"):
            assert isinstance(format_info(Body({"response": "Redirect", name: value}, None), Context(REQUEST)), str)


def test_each_field_of_the_table_is_one_of_a_command() -> None:
    known = {row.name for command in commands().values() for row in command.message.fields.values()}
    known |= {f"metadata.{row.name}" for row in library().message("MessageMetadata").fields.values()}
    carried = {"checksum", "encrypted", "metadata"}
    assert {name for names in TABLE["line"] for name in names.split("|")} <= known | carried | {"closed"}
