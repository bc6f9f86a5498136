"""What is said of one message: refusals, closes, validation errors, sizes; alike by both ways of reading."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dissectors.api import Context, Role
from dissectors.finding import Finding, Severity
from dissectors.pulsar import Pulsar
from dissectors.pulsar.expert_info import LIMIT
from dissectors.pulsar.tables import table
from tests.dissectors.pulsar.frames import NO_ID, ack, error, field, frame, produced, send, sized, success
from tests.dissectors.trees import assert_tiles

PULSAR = Pulsar()
NOTE, WARNING = Severity.NOTE, Severity.WARNING
PUSH, REQUEST, RESPONSE = (Context(role) for role in (Role.PUSH, Role.REQUEST, Role.RESPONSE))
URL, TLS = "pulsar://b:6650", "pulsar+ssl://b:6651"


@dataclass(frozen=True)
class Case:
    """A message, and of each of its findings severity, code and part of the text."""

    name: str
    message: bytes
    found: tuple[tuple[Severity, str, str], ...] = ()
    context: Context = RESPONSE

    def __str__(self) -> str:
        return self.name


def closed(code: int, *fields: bytes) -> bytes:
    return frame(code, field(1, 4), field(2, 2**64 - 1), *fields)


def invalid(number: int, count: int = 1) -> bytes:
    ids = [field(3, field(1, 7) + field(2, each)) for each in range(count)]
    return frame(10, field(1, 3), field(2, 0), *ids, field(4, number))


CASES = [
    Case("fenced", error(7, 25), ((WARNING, "fenced-producer", "has fenced this producer"),)),
    Case("fenced while sending", frame(8, field(1, 2), field(2, 9), field(3, 25), field(4, "no")),
         ((WARNING, "fenced-producer", "has fenced this producer"),)),
    Case("producer busy", error(7, 16), ((WARNING, "busy-producer", "one of the same name"),)),
    Case("quota, held back", error(7, 7), ((WARNING, "busy-producer", "backlog quota"),)),
    Case("quota, refused", error(7, 8), ((WARNING, "busy-producer", "an exception"),)),
    Case("consumer busy", error(7, 5), ((WARNING, "busy-consumer", "the subscription is taken"),)),
    Case("schema", error(7, 18), ((WARNING, "incompatible-schema", "does not fit those"),)),
    Case("schema, by the answer of its own", frame(40, field(1, 8), field(2, 18), field(3, "no")),
         ((WARNING, "incompatible-schema", "does not fit those"),)),
    Case("who it is", error(NO_ID, 3), ((WARNING, "access-refused", "says it is: its credentials"),)),
    Case("what it may", frame(24, field(3, 2), field(4, 8), field(6, 4)),
         ((WARNING, "access-refused", "its role"),)),
    Case("not stored", frame(8, field(1, 2), field(2, 9), field(3, 2), field(4, "no")),
         ((WARNING, "storage-failed", "could not write or open"),)),
    Case("too many lookups", error(7, 14), ((WARNING, "throttled", "(maxConcurrentLookupRequest)"),)),
    Case("another error", error(7, 11)),
    Case("an error without a name", error(7, 77)),
    Case("a request id behind the error", frame(14, field(2, 16), field(3, "no"), field(1, 6)),
         ((WARNING, "busy-producer", "one of the same name"),)),
    Case("an error whose request id is missing", frame(14, field(2, 16), field(3, "no")),
         ((Severity.ERROR, "malformed-body", "request_id"), (WARNING, "busy-producer", "one of the same name"))),
    Case("waiting", produced(7, 0), ((NOTE, "busy-producer", "the producer p waits"),)),
    Case("ready", produced(7, 1)),
    Case("ready by default", produced(7)),
    Case("producer closed", closed(15),
         ((WARNING, "broker-close", "closes the producer 4, not its client; its client must look"),), PUSH),
    Case("consumer closed", closed(16),
         ((NOTE, "broker-close", "the consumer 4, not its client; its client must look the topic up again, also"),),
         PUSH),
    Case("moved", closed(16, field(3, URL), field(4, TLS)), ((NOTE, "broker-close", f"go on at {URL}"),), PUSH),
    Case("moved, TLS alone", closed(15, field(4, TLS)), ((NOTE, "broker-close", f"go on at {TLS}"),), PUSH),
    Case("moved to no text", closed(15, field(3, b"\xff")), ((WARNING, "broker-close", "look the topic up"),), PUSH),
    Case("closed by its client", closed(15), (), REQUEST),
    Case("migrated", frame(68, field(1, 5), field(2, 1), field(3, URL)),
         ((NOTE, "broker-close", f"the consumer 5 has moved to another cluster; its client must go on at {URL}"),),
         PUSH),
    Case("migrated, nobody knows where", frame(68, field(1, 5), field(2, 0)),
         ((NOTE, "broker-close", "producer 5 has moved to another cluster; the broker does not say where to"),), PUSH),
    Case("acknowledged", ack(3, 9), (), REQUEST),
    Case("discarded", invalid(1), ((WARNING, "discarded-message", "consumer 3 could not read a message"),), REQUEST),
    Case("several", invalid(4, 2), ((WARNING, "discarded-message", "2 messages"),), REQUEST),
    Case("for a reason without a name", invalid(9), ((WARNING, "discarded-message", "error 9"),), REQUEST),
    Case("a success", success(7)),
]  # fmt: skip


def found(message: bytes, context: Context) -> list[Finding]:
    """The findings, by both ways."""
    tree, body = PULSAR.tree(message, context), PULSAR.values(message, context)
    assert_tiles(tree)
    assert tree.findings == list(body.findings)
    return tree.findings


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_reported(case: Case) -> None:
    findings = found(case.message, case.context)
    assert len(findings) == len(case.found)
    for finding, (severity, code, text) in zip(findings, case.found, strict=True):
        assert (finding.severity, finding.code) == (severity, code)
        assert text in finding.text


def test_sentences_are_whole() -> None:
    """No place of a sentence stays open, whatever is missing."""
    for case in CASES:
        for finding in found(case.message, case.context):
            assert "{" not in finding.text
            assert "None" not in finding.text


def test_each_error_and_reason_of_the_table_has_its_name_from_the_enum() -> None:
    expert_info, enums = table("expert_info"), table("enums")
    assert set(expert_info["errors"]) <= set(enums["ServerError"].values())
    assert set(expert_info["why"]) == set(enums["CommandAck.ValidationError"].values())


@pytest.mark.parametrize("cut", range(40))
def test_what_breaks_does_not_raise(cut: int) -> None:
    for case in CASES:
        found(case.message[:cut], case.context)


def of_length(length: int) -> bytes:
    """A SEND of exactly so many bytes."""
    rest = length - len(send(payload=b""))
    return send(payload=bytes(rest))


@pytest.mark.parametrize(("length", "codes"), [(LIMIT - 1, []), (LIMIT, []), (LIMIT + 1, ["oversized-frame"])])
def test_the_largest_frame_that_is_taken_by_default(length: int, codes: list[str]) -> None:
    message = of_length(length)
    assert len(message) == length
    findings = found(message, REQUEST)
    assert [(finding.severity, finding.code) for finding in findings] == [(NOTE, code) for code in codes]
    assert all(f"{length:,} bytes" in finding.text for finding in findings)


def test_a_large_frame_of_which_little_was_captured() -> None:
    findings = found(of_length(LIMIT + 1)[:200], REQUEST)
    assert [finding.code for finding in findings] == ["malformed-body", "oversized-frame"]


def test_a_large_frame_of_no_command() -> None:
    findings = found(sized(sized(field(1, 99) + field(2, 1)) + bytes(LIMIT)), REQUEST)
    assert [finding.code for finding in findings] == ["unknown-operation", "trailing-bytes", "oversized-frame"]
