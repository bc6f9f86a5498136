"""Captures and messages as objects: what `open` takes, what messages say beside what the command line prints."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

import wireanalyze as wa
from tests import program
from tests.documents import ROOT
from tests.effort import steps

KAFKA = ROOT / "captures" / "kafka.pcap"
BYTES = KAFKA.read_bytes()


@pytest.fixture(scope="module")
def capture() -> wa.Capture:
    return wa.open(KAFKA)


def listed(*options: str) -> list[dict[str, Any]]:
    """The rows that `list` prints."""
    out = program.run("list", str(KAFKA), "--format", "ndjson", *options).stdout
    return [orjson.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda folder: str(KAFKA), 648),
        (lambda folder: KAFKA, 648),
        (lambda folder: [KAFKA, str(ROOT / "captures" / "mixed.pcapng")], 1525),
        (lambda folder: f"{ROOT}/captures/kafka.p?ap", 648),
        (lambda folder: BYTES, 648),
        (lambda folder: memoryview(BYTES), 648),
        (lambda folder: io.BytesIO(BYTES), 648),
        (lambda folder: ROOT / "captures" / "zookeeper.pcap.zst", 313),
        (lambda folder: shutil.copy(KAFKA, folder / "[odd]*.pcap"), 648),
    ],
    ids=["name", "path", "list", "pattern", "bytes", "view", "file", "compressed", "name like a pattern"],
)
def test_open_takes_anything(make: Callable[[Path], Any], count: int, tmp_path: Path) -> None:
    with wa.open(make(tmp_path)) as capture:
        assert len(capture) == count
        assert sum(1 for _ in capture) == count


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: wa.open("nothing.pcap"), wa.CaptureError, "Cannot open nothing.pcap: No such file or directory."),
        (lambda: wa.open("nothing*.pcap"), wa.CaptureError, "No file matches nothing*.pcap."),
        (lambda: wa.open([]), wa.CaptureError, "No capture was given."),
        (lambda: wa.open(b"no capture"), wa.CaptureError, "is not a capture"),
        (lambda: wa.open(KAFKA, decode_as={9092: "smtp"}), wa.UsageError, "There is no protocol 'smtp'."),
        (lambda: wa.open(KAFKA, decode_as={"ninety": "kafka"}), wa.UsageError, "is neither a port nor a stream."),
        (lambda: wa.decode("00zz"), wa.DecodeError, "The input is not hex"),
        (lambda: wa.decode(""), wa.DecodeError, "The input is not hex"),
        (lambda: wa.decode("00", protocol="smtp"), wa.DecodeError, "There is no protocol 'smtp'."),
        (lambda: wa.decode("0000000e0012000000000001000461626364" * 2), wa.DecodeError, "has 2 messages"),
    ],
)  # fmt: skip
def test_mistakes_before_a_capture(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert isinstance(caught.value, wa.WireanalyzeError)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda capture: capture.messages("latency >"), wa.FilterError, "Filter, character"),
        (lambda capture: capture.messages("kafak.Fetch"), wa.FilterError, "Did you mean kafka.Fetch"),
        (lambda capture: capture.messages(sort="fields"), wa.UsageError, "This is a structure."),
        (lambda capture: capture.messages(head=-1), wa.UsageError, "must not be negative."),
        (lambda capture: capture.stats(by="nothing"), wa.UsageError, "nothing"),
        (lambda capture: capture.stats(by="time", interval="soon"), wa.UsageError, "'soon' is not a duration."),
        (lambda capture: capture.report("nothing"), wa.UsageError, "There is no report nothing. Reports are"),
        (lambda capture: capture.doctor(severity="bad"), wa.UsageError, "There is no severity bad."),
        (lambda capture: capture.message(649), IndexError, "There is no message 649."),
        (lambda capture: capture.message(1)["nothing"], KeyError, "There is no field 'nothing'. This message has"),
        (lambda capture: capture.message(1).read_field("nothing.at.all"), wa.UsageError, "nothing"),
    ],
)  # fmt: skip
def test_mistakes(capture: wa.Capture, call: Callable[[wa.Capture], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call(capture)
    assert text in str(caught.value)


def test_a_filter_error_has_a_place(capture: wa.Capture) -> None:
    with pytest.raises(wa.FilterError) as caught:
        capture.messages("latency > 1 banana")
    assert caught.value.span == (12, 18)


def test_messages_say_what_list_prints(capture: wa.Capture) -> None:
    rows = listed("--fields")
    for message, row in zip(capture, rows, strict=True):
        assert message.time == datetime.fromisoformat(row["time"][:26] + "+00:00")
        assert message.time_ns % 1000 == int(row["time"][26:29])
        assert (message.partner.number if message.partner else None) == row["partner"]
        assert message.error == (None if row["error"] is None else tuple(row["error"].values()))
        for key in set(row) - {"time", "partner", "partner_id", "error", "info", "findings", "fields"}:
            assert getattr(message, key) == row[key]
    assert [message.to_dict() for message in capture.messages(tail=100)] == rows[-100:]


def test_a_choice_of_messages_is_that_of_list(capture: wa.Capture) -> None:
    options = ("-Y", "kafka.Fetch and latency > 100ms", "--sort", "-latency,number", "--head", "9", "--tail", "4")
    chosen = capture.messages("kafka.Fetch and latency > 100ms", sort=["-latency", "number"], head=9, tail=4)
    assert [message.number for message in chosen] == [row["number"] for row in listed(*options)]


def test_times_and_bodies(capture: wa.Capture) -> None:
    message = next(capture.messages("kafka.Fetch and latency > 400ms"))
    request = message.partner
    assert request is not None
    assert message.latency == timedelta(microseconds=message.latency_ns // 1000)
    assert message.latency_ns == message.time_ns - request.time_ns
    assert message.time.tzinfo is UTC
    assert request.partner == message
    assert hash(request.partner) == hash(message)
    assert request["maxWaitMs"] == request.values["maxWaitMs"] == 500
    assert request.read_field("kafka.topic") == ["jg"]
    assert request.read_field("operation") == ["Fetch"]
    assert len(message.data) == message.length
    assert message.tree.fields[0].spec.name == "length"


def test_a_message_shows_itself(capture: wa.Capture) -> None:
    message = capture.message(16)
    shown = program.run("show", str(KAFKA), "16").stdout.decode()
    assert message.text == shown.removesuffix("\n")
    assert message._repr_html_().startswith("<pre>message 16")
    console = Console(file=io.StringIO(), width=300, color_system=None)
    console.print(message)
    assert console.file.getvalue().split() == shown.split()


def test_secrets_are_masked() -> None:
    with wa.open(ROOT / "tests" / "golden" / "kafka" / "k24_sasl_v0.pcap.zst") as capture:
        secret = next(value for message in capture for value in message.values.values() if isinstance(value, wa.Secret))
        assert repr(secret) == f"<secret, {len(secret)} long>"
        message = next(m for m in capture if secret in m.values.values())
        revealed = secret.reveal()
        assert revealed
        assert (revealed.hex() if isinstance(revealed, bytes) else revealed) not in message.text + str(
            message.to_dict()
        )


def test_a_closed_capture_has_headers_and_no_bodies() -> None:
    capture = wa.open(BYTES)
    message, chosen = capture.message(16), capture.messages("kafka.topic == jg")
    capture.close()
    capture.close()
    assert len(list(capture)) == len(capture)
    assert message.operation == capture.message(16).operation
    asking = (lambda: message.values, lambda: message.data, lambda: message.text, lambda: capture.report("groups"))
    for ask in (*asking, lambda: next(chosen)):
        with pytest.raises(wa.CaptureError, match=r"The capture is closed\."):
            ask()


def test_an_evicted_message_says_so() -> None:
    with wa.open(KAFKA, jobs=1) as capture:
        old, new = capture.message(1), capture.message(648)
        capture._session.eviction.evict(600)
        for ask in (lambda: old.operation, lambda: old.values, lambda: old.to_dict(), lambda: old.text):
            with pytest.raises(wa.CaptureError, match=r"Message 1 is not in memory any more\."):
                ask()
        assert (new.number, new.operation) == (648, capture.message(648).operation)
        assert new.values


def test_rows_are_those_of_the_commands(capture: wa.Capture) -> None:
    def printed(*arguments: str) -> list[Any]:
        return [orjson.loads(line) for line in program.run(*arguments, "--format", "ndjson").stdout.splitlines()]

    assert list(capture.stats("operation,version")) == printed("stats", str(KAFKA), "--by", "operation,version")
    assert [{"story": "kafka.groups", **row} for row in capture.report("groups")] == [
        {**row, "story": "kafka.groups"} for row in printed("report", "groups", str(KAFKA))
    ]
    assert list(capture.doctor()) == printed("doctor", str(KAFKA))
    assert list(capture.conversations()) == printed("stats", str(KAFKA), "--conversations")
    assert len(capture.findings()) == sum(row["count"] for row in capture.doctor())
    assert list(capture.findings(severity="error")) == []


def test_rows_show_themselves() -> None:
    rows = wa.Rows([{"name": "<a>", "count": number} for number in range(60)])
    assert "<td>&lt;a&gt;</td><td>0</td>" in rows._repr_html_()
    assert rows._repr_html_().endswith("and 10 more rows")
    console = Console(file=io.StringIO(), width=80)
    console.print(rows[:1])
    assert "<a>" in console.file.getvalue()
    assert (len(rows[1:3]), rows[1:3].keys) == (2, ("name", "count"))


def test_hex_is_decoded(capture: wa.Capture) -> None:
    request, response = (message.data for message in (capture.message(1), capture.message(1).partner) if message)
    both = wa.decode_all(request + response, pair=True)
    assert [message.values for message in both] == [capture.message(1).values, capture.message(1).partner.values]
    assert both[0].text == program.run("decode", request.hex()).stdout.decode().removesuffix("\n")
    assert (both[0].protocol, both[0].state, both[0].error) == ("kafka", "complete", None)


def test_headers_cost_little(capture: wa.Capture) -> None:
    """A header of a message is a list index; 300,000 a second leave some thirty steps of Python for each message."""

    def loop() -> None:
        for message in capture.messages():
            _ = message.time, message.client, message.operation, message.version, message.latency

    assert steps(loop) < 60 * len(capture)
