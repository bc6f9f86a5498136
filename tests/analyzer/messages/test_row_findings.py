"""What is said of one row is said of it among many; what is said of connections."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import analyzer.messages.engine
from analyzer.decode.bodies import flag_row_findings, list_row_findings
from analyzer.decode.endpoints import name_stream
from analyzer.decode.rows import RowReader
from analyzer.insight.counts import count_messages, find_unanswered
from analyzer.messages import stream_findings
from analyzer.messages.row_findings import decode_findings
from analyzer.session import Session
from analyzer.tcp.streams import ACK, FIN, RST
from tests.analyzer.pipeline.house import EFFECTS, cut, golden_frames
from tests.analyzer.wire import CLIENT, SERVER, Segment, Talk, capture, opening, segments
from tests.dissectors.rocketmq.frames import command

REQUEST = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff".replace(" ", ""))
ANSWER = bytes.fromhex("0000000c 00000007 00000000 00000000".replace(" ", ""))
EVERYTHING = [
    *opening(),
    Segment(CLIENT, 0, REQUEST),
    Segment(SERVER, 0, ANSWER),
    Segment(SERVER, 16, ANSWER),
    Segment(CLIENT, 22, REQUEST, kept=15),
    Segment(CLIENT, 44, REQUEST[:9]),
]


def test_one_table_for_one_and_for_many(tmp_path: Path) -> None:
    with Session([capture(tmp_path / "a.pcap", EVERYTHING)]).load() as session:
        many = flag_row_findings(session, np.arange(len(session.rows)), late=True).tolist()
        assert [list(decode_findings(bits)) for bits in many] == [
            list_row_findings(session, row) for row in range(len(many))
        ]
        assert {finding.code for bits in many for finding in decode_findings(bits)} == {
            *("orphan-response", "cut-by-snaplen", "unfinished")
        }


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(tmp_path: Path, count: int) -> None:
    with Session([capture(tmp_path / "a.pcap", EVERYTHING)]).load() as session:
        assert not flag_row_findings(session, np.arange(count), late=True).any()


LEFT = "no answer is in the capture, the side that asked closed the connection first"
DESERTED = "the other side closed the connection, no answer is in the capture"
ENDS = {
    "the capture ends": ([], ("unanswered", "no answer is in the capture")),
    "the server ends": ([Segment(SERVER, 16, flags=FIN | ACK)], ("closed-unanswered", DESERTED)),
    "the server resets": ([Segment(SERVER, 16, flags=RST)], ("closed-unanswered", DESERTED)),
    "the client ends": ([Segment(CLIENT, 44, flags=FIN | ACK)], ("unanswered", LEFT)),
    "the server ends after the client": (
        [Segment(CLIENT, 44, flags=FIN | ACK), Segment(SERVER, 16, flags=FIN | ACK)],
        ("unanswered", LEFT),
    ),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("block", [1, 32_768])
def test_a_request_without_an_answer(name: str, block: int, tmp_path: Path) -> None:
    segments, (code, text) = ENDS[name]
    first = [*opening(), Segment(CLIENT, 0, REQUEST), Segment(SERVER, 0, ANSWER), Segment(CLIENT, 22, REQUEST)]
    with Session([capture(tmp_path / "a.pcap", [*first, *segments])], block=block) as session:
        for _ in session.grow():
            assert session.ended or not len(session.rows) or not list_row_findings(session, len(session.rows) - 1)
        assert [list_row_findings(session, row) for row in (0, 1)] == [[], []]
        (finding,) = list_row_findings(session, 2)
        assert (finding.code, finding.text) == (code, text)


def test_what_only_the_end_can_tell_is_for_people(tmp_path: Path) -> None:
    with Session([capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, REQUEST)])]).load() as session:
        rows = np.arange(1)
        assert RowReader(session).read_columns(["findings"], rows) == [[[]]]
        (found,) = RowReader(session, hindsight=True).read_columns(["findings"], rows)
        assert [finding["code"] for finding in found[0]] == ["unanswered"]


GREETING = struct.pack(">iqiii", 17, 1 << 32, 4, 0x10000, -1)
PROPOSAL = struct.pack(">iqiqiqqii", 2, 7, 32, 5, 5, 7, 9, -11, -1)


@pytest.mark.parametrize("greeting", [b"", GREETING], ids=["owed", "not owed"])
@pytest.mark.parametrize("use_fast_path", [True, False])
def test_a_request_that_need_not_be_answered(
    greeting: bytes, use_fast_path: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A learner of ZooKeeper that is brought up to date does not acknowledge what was committed before."""
    monkeypatch.setattr(analyzer.messages.engine, "WORTH_A_ROUND", 1)
    monkeypatch.setattr(analyzer.messages.engine, "WORTH_A_RUN", 1)
    writes = ((SERVER, greeting), *[(SERVER, PROPOSAL)] * 20)
    talk = Talk(tuple(each for each in writes if each[1]), (("10.0.0.1", 40_000), ("10.0.0.2", 2888)))
    with Session([capture(tmp_path / "a.pcap", segments(talk), talk)], use_fast_path=use_fast_path).load() as session:
        every = np.arange(len(session.rows))
        (_, proposal), (total,) = (list_row_findings(session, row) for row in (0, 5)), count_messages(session).protocols
        owed = 0 if greeting else 20
        assert total.requests == 20
        assert total.unanswered == len(find_unanswered(session, every)) == owed
        assert [finding.code for finding in proposal] == ["closed-unanswered"] * bool(owed)


@pytest.mark.parametrize(
    ("code", "closer", "said"),
    [
        (11, CLIENT, []),
        (200050, CLIENT, []),
        (105, CLIENT, ["unanswered"]),
        (11, SERVER, ["closed-unanswered"]),
        (11, None, ["unanswered"]),
    ],
)
def test_who_goes_while_a_server_holds_its_request(
    code: int, closer: int | None, said: list[str], tmp_path: Path
) -> None:
    """Consumers of RocketMQ pull until they are stopped, so that a pull is always waiting."""
    requested = command(code)
    talk = Talk(((CLIENT, requested),), (("10.0.0.1", 40_000), ("10.0.0.2", 10_911)))
    end = [] if closer is None else [Segment(closer, len(requested) if closer == CLIENT else 0, flags=FIN | ACK)]
    path = capture(tmp_path / "a.pcap", [*opening(), Segment(CLIENT, 0, requested), *end], talk)
    with Session([path]).load() as session:
        assert [finding.code for finding in list_row_findings(session, 0)] == said
        (total,) = count_messages(session).protocols
        assert total.unanswered == 1


# ---- what is said of connections: people get the first of each kind


def said(path: Path) -> list[tuple[str, str, str]]:
    """Stream, code and text of each, as tables have them."""
    with Session([path]) as session:
        remaining = session.load().engine.stream_findings
        streams, findings = remaining.describe(np.arange(len(remaining)))
        ids = [name_stream(session, stream) for stream in streams.tolist()]
    return sorted((name, each.code, each.text) for name, each in zip(ids, findings, strict=True))


@pytest.mark.parametrize("effect", ["lost", "overlapping", "snapped"])
def test_people_get_the_first_of_each_kind(effect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut(tmp_path / "captures", golden_frames("k4_go_segment", EFFECTS[effect]), ["1.pcap"])
    path = tmp_path / "captures" / "1.pcap"
    with Session([path]) as session:
        every = session.load().engine.stream_findings.findings
        codes = [each.code for each in every]
        monkeypatch.setattr(stream_findings, "MOST", 2)
        few = session.engine.stream_findings.findings
        assert (
            len(session.engine.stream_findings)
            == len(every)
            == sum(session.engine.stream_findings.stream_counts.values())
        )
    for code in set(codes):
        mine = [each for each in every if each.code == code]
        shown = [each for each in few if each.code == code]
        assert shown[:2] == mine[:2]
        more = [f"{len(mine) - 2} more of this kind are not listed"] if len(mine) > 2 else []
        assert [each.text for each in shown[2:]] == more


def test_what_programs_get_does_not_depend_on_numbers(tmp_path: Path) -> None:
    """Packets and streams of another capture before it have other numbers; what is said of these is the same."""
    packets = golden_frames("k4_go_segment", EFFECTS["lost"])
    cut(tmp_path / "alone", packets, ["1.pcap"])
    cut(tmp_path / "behind", [packets[0], *packets], ["1.pcap"])
    one, other = (said(tmp_path / name / "1.pcap") for name in ("alone", "behind"))
    assert one == other
    assert {code for _, code, _ in one} >= {"gap", "bytes-skipped"}
    assert not any("packet" in text for _, _, text in one)
