"""The one screen as people see it: of a bundled capture line by line, and of odd ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.insight.overview import overview
from analyzer.render.overview_text import WIDTH, format_overview
from analyzer.render.sparkline import BLOCKS, PLAIN
from analyzer.session import Session

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "overview_mixed.txt"


def lines(name: str, bars: str = BLOCKS, *, with_errors: bool = True, width: int = WIDTH) -> list[str]:
    with Session([ROOT / "captures" / name]).load() as session:
        return list(format_overview(overview(session, with_errors=with_errors), name, bars, width))


def test_of_mixed_protocols_it_is_as_it_was() -> None:
    assert "\n".join(lines("mixed.pcapng")) + "\n" == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["mixed.pcapng", "kafka-4.4.pcap.zst", "kafka-0.10.pcap.zst", "kafka.pcap"])
def test_it_is_one_screen(name: str) -> None:
    found = lines(name)
    assert len(found) <= 40
    assert max(map(len, found)) <= 120


def test_plain_bars_need_no_more_than_ascii() -> None:
    assert any("#" in line for line in lines("kafka-4.4.pcap.zst", PLAIN))
    assert "\n".join(lines("kafka-4.4.pcap.zst", PLAIN)).isascii()


def test_without_errors_there_is_no_column_of_them() -> None:
    assert not any("errors" in line for line in lines("mixed.pcapng", with_errors=False) if "(no errors)" not in line)


@pytest.mark.parametrize("width", [60, 72, 80, 120, 200])
@pytest.mark.parametrize("name", ["mixed.pcapng", "kafka-4.4.pcap.zst"])
def test_a_narrow_terminal_gets_what_matters_most(name: str, width: int) -> None:
    found = lines(name, width=width)
    assert max(map(len, found)) <= width
    (head,) = (line for line in found if line.split()[-1:] == ["max"] or " max " in line)
    assert {"messages", "unansw.", "errors", "max"} <= set(head.split())
    assert ("versions" in head) == (width >= 120)


def test_trouble_comes_first_and_its_absence_is_reported() -> None:
    found = lines("mixed.pcapng")
    trouble, metrics = (next(at for at, line in enumerate(found) if word in line) for word in ("errors (26", "msg/s"))
    assert trouble < metrics
    fine = lines("kafka-4.4-share.pcap.zst")
    assert {"errors: none", "never answered: none"} <= set(fine)
