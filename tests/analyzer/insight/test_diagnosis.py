"""The diagnosis of recorded captures, and of made ones: what is found at which message."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_statistics
from analyzer.decode.bodies import decode_body
from analyzer.insight.diagnosis import GRACE, LocatedFinding, diagnose
from analyzer.insight.events import losses
from analyzer.insight.properties import properties
from analyzer.session import Session
from dissectors.api import Body, Context, Dissector, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent, for_request, subscribe
from dissectors.finding import Severity
from tests.analyzer.wire import ACK, CLIENT, SERVER, Segment, Talk, capture, opening, segments

BUNDLED = Path(__file__).parents[3] / "captures"
GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
REQUEST = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff".replace(" ", ""))
ANSWER = bytes.fromhex("00000010 00000007 00000000 ffffffff 00000000".replace(" ", ""))


def found(path: Path) -> list[tuple[int | None, str]]:
    with Session([path]).load() as session:
        return [(row, finding.code) for row, finding, *_ in diagnose(session)]


def test_a_producer_that_was_fenced_off() -> None:
    assert (114, "fenced-producer") in found(GOLDEN / "k4_java_txn.pcap.zst")


@pytest.mark.parametrize("name", ["k4_java_produce", "k4_py_aio", "k4_java_classic", "k4_java_kip848"])
def test_nothing_across_messages_is_wrong_where_all_is_well(name: str) -> None:
    across = {"fenced-producer", "duplicate-sequence", "out-of-order-sequence", "fetch-session", "far-timestamp"}
    assert not across.intersection(code for _, code in found(GOLDEN / f"{name}.pcap.zst"))


def test_that_there_is_nothing_now_is_no_error() -> None:
    with Session([BUNDLED / "rocketmq.pcap.zst"]).load() as session:
        texts = {each.finding.text for each in diagnose(session) if each.finding.code == "error-answer"}
        names = {error[1] for row in range(len(session.rows)) if (error := decode_body(session, row).error) is not None}
    assert {"PULL_NOT_FOUND", "POLLING_TIMEOUT"} <= names
    assert "GET_ROUTEINFO_BY_TOPIC: TOPIC_NOT_EXIST" in texts
    assert not {"PULL_MESSAGE: PULL_NOT_FOUND", "POP_MESSAGE: POLLING_TIMEOUT"} & texts


def test_an_error_is_reported_once_by_the_finding_that_explains_it() -> None:
    with Session([BUNDLED / "pulsar.pcap.zst"]).load() as session:
        found = [each for each in diagnose(session) if each.error == "ProducerFenced"]
    assert {each.finding.code for each in found} == {"fenced-producer"}
    assert {each.finding.severity for each in found} == {Severity.ERROR}


def test_a_normal_step_of_the_protocol_is_no_finding() -> None:
    with Session([GOLDEN / "k4_java_classic.pcap.zst"]).load() as session:
        names = {error[1] for row in range(len(session.rows)) if (error := decode_body(session, row).error) is not None}
        errors = {each.error for each in diagnose(session)}
    assert "MEMBER_ID_REQUIRED" in names - errors
    assert "REBALANCE_IN_PROGRESS" in errors


def test_rows_in_order_then_what_belongs_to_none(tmp_path: Path) -> None:
    segments = [
        *opening(),
        Segment(CLIENT, 0, REQUEST),
        Segment(SERVER, 0, ANSWER),
        Segment(SERVER, 20, ANSWER),
        Segment(CLIENT, 22, REQUEST),
        Segment(CLIENT, 22, b"\xff" * 22),
    ]
    text = found(capture(tmp_path / "a.pcap", segments))
    assert text == [(2, "orphan-response"), (2, "guessed-layout"), (None, "conflicting-overlap")]


@pytest.mark.parametrize(("waited", "codes"), [(GRACE - 1, []), (GRACE + 1_000_000, ["unanswered"])])
def test_a_request_at_the_end_of_the_capture_may_still_wait(waited: int, codes: list[str], tmp_path: Path) -> None:
    begin = 1_795_000_000_000_000_000
    segments = [
        *(replace(each, time=begin) for each in opening()),
        Segment(CLIENT, 0, REQUEST, time=begin),
        Segment(SERVER, 0, acked=22, flags=ACK, time=begin + waited),
    ]
    assert [code for _, code in found(capture(tmp_path / "a.pcap", segments))] == codes


def test_what_the_kernel_dropped_is_reported_by_interface(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    counted = [encode_statistics(0, 0, 5, 0), encode_statistics(1, 0, 7, 2)]
    path.write_bytes(
        encode_header([InterfaceDescription("lo", 1), InterfaceDescription("eth0", 1)]) + b"".join(counted)
    )
    with Session([path]).load() as session:
        ((row, finding, *_),) = diagnose(session)
        described = properties(session, 0, 0)["files"][0]["interfaces"]
    assert (row, finding.code) == (None, "packets-not-kept")
    assert "interface eth0: 2 packets were dropped" in finding.text
    assert [(each["received_packets"], each["dropped_packets"]) for each in described] == [(5, 0), (7, 2)]


PULSAR = Path(__file__).parents[3] / "captures" / "pulsar.pcap.zst"
CAPTURES = [*sorted(GOLDEN.glob("*.pcap.zst")), PULSAR]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_alike_rows_together_and_each_for_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session([path]).load() as session:
        monkeypatch.setattr("analyzer.decode.template_decoder.WORTH", 1 << 60)
        plain = list(diagnose(session))
        monkeypatch.setattr("analyzer.decode.template_decoder.WORTH", 2)
        assert [_comparable(each) for each in diagnose(session)] == [_comparable(each) for each in plain]


def _comparable(found: LocatedFinding) -> tuple[object, ...]:
    return found.row, found.finding.severity, found.finding.code, found.finding.text


def test_rows_with_nothing_to_say_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    with Session([GOLDEN / "k4_election.pcap.zst"]).load() as session:
        decoded: list[int] = []

        def counted(dissector: Dissector, message: bytes, context: Context) -> Body:
            decoded.append(len(message))
            return dissector.values(message, context)

        monkeypatch.setattr("analyzer.messages.defects.decode_values", counted)
        assert sum(1 for _ in diagnose(session))
        assert len(decoded) < len(session.rows) // 2


def test_where_bytes_of_a_connection_are_missing(tmp_path: Path) -> None:
    segments = [
        *opening(),
        Segment(CLIENT, 0, REQUEST),
        Segment(SERVER, 0, ANSWER),
        Segment(CLIENT, 44, REQUEST),  # behind one that is lost, and was acknowledged
        Segment(SERVER, 40, ANSWER),
        Segment(CLIENT, 66, REQUEST),
    ]
    with Session([capture(tmp_path / "a.pcap", segments)]).load() as session:
        found = losses(session, range(len(session.rows))).tolist()
        sides = session.rows.column("side").tolist()
    assert found[0] == 0
    assert found == sorted(found)
    assert found[-1] == len(set(sides))


class Answers(Check):
    """Says which answers a PRODUCER had."""

    def ask(self, event: MessageEvent) -> None:
        self.await_answer(event, event.values.get("producer_name", "nobody"))

    def answer(self, name: str, event: MessageEvent) -> None:
        self.note("bug", f"{name} {event.values.get('producer_ready')}")

    on = subscribe([("pulsar", 5, Role.REQUEST)], ask, {("producer_name",)}) | subscribe(
        [("pulsar", 17, Role.RESPONSE)], for_request(answer), {("producer_ready",)}
    )


@pytest.mark.parametrize(("side", "direction"), [(CLIENT, "client to server"), (SERVER, "server to client")])
def test_one_direction_alone_is_reported_once(tmp_path: Path, side: int, direction: str) -> None:
    packets = segments(Talk(((CLIENT, REQUEST), (SERVER, ANSWER)) * 5))
    lone = {"unanswered", "closed-unanswered", "orphan-response", "one-direction"}
    assert not lone & {code for _, code in found(capture(tmp_path / "a.pcap", packets))}
    path = capture(tmp_path / "b.pcap", [each for each in packets if each.side == side])
    assert [each for each in found(path) if each[1] in lone] == [(None, "one-direction")]
    with Session([path]).load() as session:
        text = f"only one direction of 1 connection was captured ({direction}): answers cannot be paired"
        assert text in [each.finding.text for each in diagnose(session)]


def test_a_request_that_is_answered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissectors.pulsar.dissector.Pulsar.checks", lambda self: (Answers,))
    with Session([PULSAR]).load() as session:
        output = [(row, finding.text) for row, finding, *_ in diagnose(session) if finding.code == "bug"]
    assert [(row, text) for row, text in output if row in (895, 897)] == [(895, "waiting False"), (897, "waiting True")]


class Failing(Check):
    """Has a defect."""

    def receive_any(self, event: MessageEvent) -> None:
        raise ValueError("a defect")

    on = subscribe([("kafka", 3, Role.REQUEST)], receive_any)


def test_a_check_with_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissectors.kafka.dissector.Kafka.checks", lambda self: (Failing,))
    path = capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, REQUEST), Segment(SERVER, 0, ANSWER)])
    assert Counter(found(path)) == {(0, "bug"): 1}
