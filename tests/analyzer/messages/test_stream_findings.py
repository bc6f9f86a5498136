"""What is said of connections: people get the first of each kind, programs all of them in words that do not change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.endpoints import name_stream
from analyzer.messages import stream_findings
from analyzer.session import Session
from tests.analyzer.pipeline.house import EFFECTS, cut, golden_frames


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
