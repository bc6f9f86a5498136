"""Names learned from captures: who told what, whatever the portions in which they are read."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from analyzer.decode import binding_sources
from analyzer.decode import name_resolver as module
from analyzer.decode.content import find_dissector
from analyzer.decode.name_resolver import EVERYWHERE, NameResolver, ResolvedName
from analyzer.session import Session
from dissectors.name_binding import NameBinding
from dissectors.slotted import replace
from tests.analyzer.roads import answer, opened, request, string

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka"
IDS = ("SgIQxGBmQrarNAyoMjdEOw", "Ou22fpvAT_SRRbLpCdUKlQ")

TOLD = [
    ("k4_java_produce", "topic", "SgIQxGBmQrarNAyoMjdEOw", 16, "jp-lat"),
    ("k4_java_produce", "broker", "2", 4, "127.0.0.1:29192"),
    ("k4_java_kip848", "topic", "RgIfh2OXQliviPj8qGdWew", 8, "jn"),
    ("k4_java_kip848", "member", "OH7G2X6FQlWk4OKUsMkuPA", 47, "n-0 at 127.0.0.1"),
    ("k4_go_franz", "producer", "27", 72, "franz-tx"),
    ("k4_java_txn", "producer", "1000", 34, "jtx-1"),
    ("k4_java_classic", "member", "static-0-97f38d1b-6281-4adf-976f-07b087596ea1", 32, "RangeAssignor-0 at 127.0.0.1"),
    ("k010_py_old", "broker", "0", 4, "127.0.0.1:27092"),
    ("k28_sweep", "topic", "akVYGdt-QI6-zS0kVvMXgA", 134, "__consumer_offsets"),
    ("k4_election", "topic", "IzCq5qLoQbmL044Kie8trg", 685, "__consumer_offsets"),
    ("zk39_ibp_3.9", "topic", "PErWk0e_TI6U-a9XXAcaMg", 14, "z"),
]
"""Capture, kind, id, the message that is the first to tell it, and the name."""


@pytest.mark.parametrize(("name", "kind", "key", "message", "told"), TOLD)
def test_of_real_captures(name: str, kind: str, key: str, message: int, told: str) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        resolver = NameResolver(session)
        assert resolver.find(kind, key, 0) is None
        assert kind in resolver.learn(len(session.rows))
        assert resolver.learn(len(session.rows)) == set()
        assert resolver.find_first(kind, key) == (message - 1, told)
        for row in (0, message - 1):
            assert resolver.find(kind, key, row) == (message - 1, told)
        some = NameResolver(session, [kind])
        assert some.learn(len(session.rows)) == {kind}
        assert some.find_first(kind, key) == resolver.find_first(kind, key)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("step", [1, 7, 100])
@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("name", ["k4_java_classic", "zk39_ibp_3.9", "k4_java_admin"])
def test_in_any_parts(name: str, step: int, most: int | None) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        whole, parts = NameResolver(session), NameResolver(session)
        whole.learn(len(session.rows))
        for rows in range(1, len(session.rows) + step, step):
            while parts.read < min(rows, len(session.rows)):
                parts.learn(min(rows, len(session.rows)), most)
        assert parts._known == whole._known


# ---- what is told of a broker, by hand


def brokers(*found: tuple[int, bytes, int]) -> bytes:
    """The answer to Metadata 0."""
    rows = [struct.pack(">i", number) + string(host) + struct.pack(">i", port) for number, host, port in found]
    return answer(struct.pack(">i", len(rows)) + b"".join(rows) + bytes(4))


ASKED = request(3, 0, bytes(4))


def test_a_name_that_changes_and_comes_back(tmp_path: Path) -> None:
    text = [brokers((1, b"a", 9)), brokers((1, b"a", 9)), brokers((1, b"b", 9)), brokers((1, b"a", 9), (2, b"c", 9))]
    with opened(tmp_path, [(ASKED, each) for each in text]) as session:
        resolver = NameResolver(session)
        resolver.learn(len(session.rows))
        found = [resolver.find("broker", "1", row) for row in range(len(session.rows))]
        assert found == [(1, "a:9")] * 5 + [(5, "b:9")] * 2 + [(7, "a:9")]
        assert resolver.find("broker", "2", 0) == (7, "c:9")
        assert resolver.find("broker", "3", 0) is resolver.find("topic", "1", 0) is None
        assert resolver.find("topic", "AAAAAAAAAAAAAAAAAAAAAQ", 0) == (EVERYWHERE, "__cluster_metadata")


def test_what_comes_again_is_not_decoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    values = module.defects.decode_values
    monkeypatch.setattr(module.defects, "decode_values", lambda *given: decoded.append(given) or values(*given))
    with opened(tmp_path, [(ASKED, brokers((1, b"a", 9)))] * 50) as session:
        NameResolver(session).learn(len(session.rows))
        assert len(decoded) == 1
        decoded.clear()
        monkeypatch.setattr(binding_sources, "MOST_REMEMBERED", 0)
        NameResolver(session).learn(len(session.rows))
        assert len(decoded) == 50


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "MOST_NAMES", 3)
    monkeypatch.setattr(module, "LONGEST", 10)
    text = [brokers((1, b"%d" % n, 9)) for n in range(9)]
    text += [brokers((2, b"x" * 20, 9)), brokers((3, b"c", 9), (4, b"d", 9)), brokers((4, b"d", 9))]
    with opened(tmp_path, [(ASKED, each) for each in text]) as session:
        resolver = NameResolver(session)
        resolver.learn(len(session.rows))
        assert [resolver.find_first("broker", str(n)) for n in (1, 2, 3, 4)] == [(1, "0:9"), None, (21, "c:9"), None]
        assert resolver._known["broker", "1"] == [(1, "0:9"), (15, "7:9"), (17, "8:9")]


def test_a_dissector_that_fails_teaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> list[NameBinding]:
        raise ValueError

    monkeypatch.delenv("WIREANALYZE_DEBUG", raising=False)
    with opened(tmp_path, [(ASKED, brokers((1, b"a", 9)))]) as session:
        kafka = find_dissector(session, 0)
        for name in ("name_bindings", "binding_sources", "constants"):
            with monkeypatch.context() as patch:
                patch.setattr(type(kafka), "names", replace(kafka.names, **{name: fails}))
                resolver = NameResolver(session)
                resolver.learn(len(session.rows))
                assert resolver.find("broker", "1", 0) == (ResolvedName(1, "a:9") if name == "constants" else None)
