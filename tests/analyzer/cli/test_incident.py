"""`wireanalyze report --html`, as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analyzer.cli.conftest import Call

KAFKA = str(Path(__file__).parents[3] / "captures" / "kafka.pcap")


def test_a_page_is_written_and_not_replaced(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    status, out, err = call("report", "--html", str(path), KAFKA)
    assert (status, out) == (0, "")
    assert err.startswith("wireanalyze: A page of ") or "page of" in err
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "kafka.pcap" in text
    status, _, err = call("report", "--html", str(path), KAFKA)
    assert status == 2
    assert "--force" in err
    assert call("report", "--html", str(path), "--force", KAFKA)[0] == 0
    assert call("report", "--html", "-", KAFKA)[1] == text


@pytest.mark.parametrize(
    "arguments", [("groups", KAFKA), (KAFKA, "--json"), (KAFKA, "--list"), (), ("no-such-file.pcap",)]
)
def test_what_has_no_meaning_is_refused(call: Call, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "page.html"
    status, out, err = call("report", "--html", str(path), *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("wireanalyze: ")
    assert not path.exists()
