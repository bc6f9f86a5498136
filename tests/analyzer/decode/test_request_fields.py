"""Lines about answers that say what was asked: row by row, and many alike ones together."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

import analyzer.decode.request_fields
import analyzer.decode.template_decoder
from analyzer.decode.request_fields import SHORT
from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from dissectors.api import Body, Context, Role
from dissectors.zookeeper.dissector import ZooKeeper
from tests.analyzer.reading import info_of
from tests.analyzer.roads import FORMS, Taken, hold_equal, taken
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, segments
from tests.dissectors.zookeeper.messages import WORLD, acl, buffer, connect, connected, reply, request, ustring, vector

__all__ = ["taken"]

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2181))
STAT = struct.Struct(">qqqqiiiqiiq")
Pair = tuple[bytes, bytes]


@pytest.fixture(autouse=True)
def said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that says nothing else, so that these tests do not depend on what ZooKeeper's lines say."""

    def recalls(context: Context) -> frozenset[tuple[str, ...]]:
        return frozenset({("path",), ("watch",)}) if context.role is Role.RESPONSE and context.code else frozenset()

    def info(self: ZooKeeper, body: Body, context: Context) -> str:
        if body.request is None:
            return "?" if context.role is Role.RESPONSE else "asks"
        watch = ", watch" if body.request.get("watch") else ""
        return f"{body.request_code}: {body.request.get('path')}{watch}: {body.values['err']}"

    monkeypatch.setattr(ZooKeeper, "request_fields", staticmethod(recalls))
    monkeypatch.setattr(ZooKeeper, "info", info)


def opened(folder: Path, pairs: Sequence[Pair]) -> Session:
    def writes() -> Iterator[tuple[int, bytes]]:
        yield CLIENT, connect()
        yield SERVER, connected(0x77)
        for requested, answered in pairs:
            yield CLIENT, requested
            yield SERVER, answered

    talk = Talk(tuple(writes()), ENDS)
    return Session([capture(folder / "a.pcap", segments(talk), talk)]).load()


def get(xid: int, path: str | None, watch: bool = False, size: int = 5, err: int = 0) -> Pair:
    stat = STAT.pack(*range(1, 9), size, 0, 9)
    answered = reply(xid, b"" if err else buffer(b"d" * size) + stat, err)
    return request(xid, "getData", ustring(path) + bytes([watch])), answered


def create(xid: int, path: str, scheme: str = "world", size: int = 3) -> Pair:
    acls = WORLD if scheme == "world" else vector(acl(scheme, "ben:secret"))
    requested = ustring(path) + buffer(b"d" * size) + acls + bytes(4)
    return request(xid, "create", requested), reply(xid, ustring(path))


def infos(session: Session) -> list[str]:
    return [row["info"] for row in RowReader(session).read_objects(("info",), np.arange(len(session.rows)))]


def test_the_line_says_what_was_requested(tmp_path: Path) -> None:
    with opened(tmp_path, [get(1, "/a", True), get(2, None, err=-101), create(3, "/c")]) as session:
        assert infos(session)[2:] == ["asks", "4: /a, watch: 0", "asks", "4: None: -101", "asks", "1: /c: 0"]
        assert info_of(session, 3) == "4: /a, watch: 0"
        wanted = compile_filter('info == "1: /c: 0"').select_rows(RowReader(session), range(len(session.rows)))
        assert wanted.tolist() == [7]


def test_a_request_that_has_left_says_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, [get(number, f"/{number}") for number in range(1, 5)]) as session:
        session.eviction.evict(5)
        left = np.arange(5, len(session.rows))
        lines = [row["info"] for row in RowReader(session).read_objects(("info",), left)]
        assert lines[:3] == ["?", "asks", "4: /3: 0"]


def test_answers_are_laid_together_with_their_requests(tmp_path: Path, taken: Taken) -> None:
    chance = Random(11)
    pairs: list[Pair] = []
    for xid in range(1, 200):
        path = "/" + chance.choice("abc") * chance.choice((1, 7, 60)) + chance.choice(("", "/größe", "/\x1b[1m", "/ "))
        if chance.random() < 0.3:
            pairs.append(create(xid, path, chance.choice(("world", "digest", "ip")), chance.choice((0, 3, SHORT))))
        else:
            err = chance.choice((0, 0, -101, -112))
            pairs.append(get(xid, path, chance.random() < 0.5, chance.choice((0, 5, 300)), err))
    with opened(tmp_path, pairs) as session:
        hold_equal(session, FORMS)
        assert taken.rows > 500


def test_requests_that_are_too_many_are_read_one_by_one(
    tmp_path: Path, taken: Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyzer.decode.template_decoder, "REQUEST_BUDGET", 300)
    monkeypatch.setattr(analyzer.decode.request_fields, "SHORT", 30)
    with opened(tmp_path, [get(xid, "/" + "x" * (xid % 50)) for xid in range(1, 100)]) as session:
        hold_equal(session, ("rows", "table"))


def test_no_symbolic_value_of_a_secret_reaches_a_line(tmp_path: Path, taken: Taken) -> None:
    with opened(tmp_path, [create(xid, "/a", "digest") for xid in range(1, 50)]) as session:
        rows = np.arange(len(session.rows))
        text = b"".join(FORMS["fields"]().format_rows(RowReader(session), rows))
        assert b"redacted" in text
        hold_equal(session, ("fields", "everything"))
