"""Names of hosts that the capture tells: beside addresses, by row, and not at all where nobody wants them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analyzer.session import Session
from tests.analyzer.commented import commented
from tests.analyzer.decode.test_rows import ANSWER, REQUEST
from tests.analyzer.wire import CLIENT, SERVER, Talk, frames, segments

TALK = Talk(((CLIENT, REQUEST), (SERVER, ANSWER)))
CLIENT_END, SERVER_END = "10.0.0.1:40000", "10.0.0.2:9092"


def written(path: Path, *names: tuple[str, bytes], talk: Talk = TALK) -> Path:
    return commented(path, frames(segments(talk), talk), {}, *names)


def test_names_by_row(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcapng", ("10.0.0.2", b"broker-1"))
    with Session([path]).load() as session:
        rows, hosts = np.arange(2), session.hosts
        assert hosts.has_names
        assert hosts.name_column(rows, sender=True).values() == [None, "broker-1"]
        assert hosts.name_column(rows, sender=False).values() == ["broker-1", None]
        assert hosts.endpoint_column(rows, sender=True).values() == [CLIENT_END, "broker-1:9092"]
        assert hosts.endpoint_column(rows[1:], sender=False).values() == [CLIENT_END]


def test_names_by_address(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcapng", ("fd00::1", b"six"), ("10.0.0.2", b"broker-1\0alias"))
    with Session([path]).load() as session:
        hosts = session.hosts
        assert (hosts.find_name("fd00::1"), hosts.find_name("10.0.0.2"), hosts.find_name("10.0.0.9")) == (
            "six",
            "alias",
            None,
        )
        assert list(hosts.iterate_names()) == [("fd00::1", ["six"]), ("10.0.0.2", ["broker-1", "alias"])]
        assert (hosts.find_endpoint("[fd00::1]:2181"), hosts.find_endpoint(CLIENT_END)) == ("six:2181", None)
        assert (hosts.annotate_endpoint("[fd00::1]:2181"), hosts.annotate_endpoint(CLIENT_END)) == (
            "[fd00::1]:2181 (six)",
            CLIENT_END,
        )


def test_the_last_file_has_the_last_word(tmp_path: Path) -> None:
    later = replace(TALK, ends=(("10.0.0.7", 40_000), TALK.ends[1]))
    first = written(tmp_path / "a.pcapng", ("10.0.0.2", b"a"), ("10.0.0.1", b"client"))
    second = written(tmp_path / "b.pcapng", ("10.0.0.2", b"b"), talk=later)
    with Session([first, second]).load() as session:
        assert (session.hosts.list_names("10.0.0.2"), session.hosts.find_name("10.0.0.1")) == (["a", "b"], "client")
        assert set(session.hosts.endpoint_column(np.arange(4), sender=False).values()) >= {"b:9092", "client:40000"}


def test_names_that_come_late_are_seen(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pcapng", ("10.0.0.2", b"broker-1"))
    with Session([path], block=1) as session:
        found = [
            name for rows in session.grow() for name in session.hosts.name_column(np.array(rows, int), True).values()
        ]
        assert session.hosts.name_column(np.arange(2), sender=True).values() == [None, "broker-1"]
    assert found == [None, None]


@pytest.mark.parametrize("names", [True, False])
def test_names_may_be_unwanted(tmp_path: Path, names: bool) -> None:
    path = written(tmp_path / "a.pcapng", ("10.0.0.2", b"broker-1"))
    with Session([path], names=names).load() as session:
        assert session.hosts.has_names is names
        assert session.hosts.endpoint_column(np.arange(1), sender=False).values() == [
            "broker-1:9092" if names else SERVER_END
        ]
        assert (session.hosts.find_name("10.0.0.2") is None) is not names
