"""The RESP plug-in on messages written from the specification: rows, pairing, cuts, noise, gaps, secrets, names."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from dissectors.api import Context, Dissector, Role
from tests.analyzer.wire import CLIENT, SERVER, Talk, byte_by_byte, capture, in_parts, rows, segments, whole
from tests.dissectors.trees import assert_tiles, node
from tests.effort import within
from tests.examples.plugins import installed
from tests.program import run

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 6379))
ASKED, TOLD = Context(Role.REQUEST), Context(Role.RESPONSE)
KEYS = ("operation", "role", "partner", "state", "info", "error")


@pytest.fixture(autouse=True)
def resp(tmp_path: Path) -> Iterator[Dissector]:
    with installed("resp", "tests.examples.resp.dissector:Resp", tmp_path) as dissector:
        yield dissector


def ask(*words: str | bytes) -> bytes:
    parts = [word.encode() if isinstance(word, str) else word for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


OLD = [
    (CLIENT, ask("GET", "user:1") + ask("SET", "user:1", "alice", "EX", "60") + ask("LPUSH", "list", "a\r\nb")),
    (SERVER, b"$-1\r\n+OK\r\n:1\r\n"),
    (CLIENT, ask("MSET", "a", "1", "b", b"\xff\x00")),
    (SERVER, b"+OK\r\n"),
    (CLIENT, ask("FOO", "bar")),
    (SERVER, b"-ERR unknown command 'FOO'\r\n"),
    (CLIENT, b"get user:1\r\n"),
    (SERVER, b"$5\r\nalice\r\n"),
    (CLIENT, ask("MULTI") + ask("INCR", "list") + ask("EXEC")),
    (SERVER, b"+OK\r\n+QUEUED\r\n*1\r\n-WRONGTYPE Operation against a key\r\n"),
    (CLIENT, ask("AUTH", "hunter2") + ask("AUTH", "bob", "hunter2")),
    (SERVER, b"-WRONGPASS invalid\r\n+OK\r\n"),
    (CLIENT, ask("SUBSCRIBE", "x", "y")),
    (SERVER, b"*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\ny\r\n:2\r\n"),
    (SERVER, b"*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$2\r\nhi\r\n"),
    (CLIENT, ask("PING")),
    (SERVER, b"*2\r\n$4\r\npong\r\n$0\r\n\r\n"),
]
NEW = [
    (CLIENT, ask("HELLO", "3", "AUTH", "bob", "hunter2", "SETNAME", "worker")),
    (SERVER, b"%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n"),
    (CLIENT, ask("HGETALL", "h") + ask("SMEMBERS", "s")),
    (SERVER, b"|1\r\n+ttl\r\n:3600\r\n%1\r\n$1\r\na\r\n,1.5\r\n"),
    (SERVER, b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nh\r\n"),
    (SERVER, b"~4\r\n#t\r\n_\r\n(3492890328409238509324850943850943825024385\r\n=7\r\ntxt:abc\r\n"),
    (CLIENT, ask("SUBSCRIBE", "x") + ask("GET", "k")),
    (SERVER, b">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n!12\r\nSYNTAX wrong\r\n"),
    (CLIENT, ask("INCR", "m")),
    (SERVER, b":2\r\n"),
]
TALK, LATER = Talk(tuple(OLD), ENDS), Talk(tuple(NEW), ENDS)


def read(path: Path, talk: Talk, keys: tuple[str, ...] = KEYS, **how: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in rows(capture(path, segments(talk), talk), keys, **how)]  # type: ignore[arg-type]


def test_rows_of_version_2(tmp_path: Path) -> None:
    found = read(tmp_path / "old.pcap", TALK)
    assert [(row[0], row[2], row[4]) for row in found] == [
        ("GET", 4, "GET user:1"), ("SET", 5, "SET user:1 alice EX 60"), ("LPUSH", 6, r"LPUSH list a\r\nb"),
        ("GET", 1, "(nil)"), ("SET", 2, "OK"), ("LPUSH", 3, "1"),
        ("MSET", 8, "MSET a 1 b 2 bytes"), ("MSET", 7, "OK"),
        ("FOO", 10, "FOO bar"), ("FOO", 9, "ERR unknown command 'FOO'"),
        ("GET", 12, "GET user:1"), ("GET", 11, "alice"),
        ("MULTI", 16, "MULTI"), ("INCR", 17, "INCR list"), ("EXEC", 18, "EXEC"),
        ("MULTI", 13, "OK"), ("INCR", 14, "QUEUED"), ("EXEC", 15, "1 items"),
        ("AUTH", 21, "AUTH ***"), ("AUTH", 22, "AUTH bob ***"), ("AUTH", 19, "WRONGPASS invalid"), ("AUTH", 20, "OK"),
        ("SUBSCRIBE", 24, "SUBSCRIBE x y"), ("SUBSCRIBE", 23, "3 items"), ("SUBSCRIBE", None, "subscribe y 2"),
        ("MESSAGE", None, "message x hi"), ("PING", 28, "PING"), ("PING", 27, "2 items"),
    ]  # fmt: skip
    assert [row[5]["name"] for row in found if row[5]] == ["ERR", "WRONGTYPE", "WRONGPASS"]  # type: ignore[index]
    assert {row[3] for row in found} == {"complete"}


def test_rows_of_version_3(tmp_path: Path) -> None:
    found = read(tmp_path / "new.pcap", LATER)
    assert [(row[0], row[1], row[2]) for row in found] == [
        ("HELLO", "request", 2), ("HELLO", "response", 1), ("HGETALL", "request", 5), ("SMEMBERS", "request", 7),
        ("HGETALL", "response", 3), ("INVALIDATE", "push", None), ("SMEMBERS", "response", 4),
        ("SUBSCRIBE", "request", 10), ("GET", "request", 11), ("SUBSCRIBE", "response", 8), ("GET", "response", 9),
        ("INCR", "request", 13), ("INCR", "response", 12),
    ]  # fmt: skip


@pytest.mark.parametrize("talk", [TALK, LATER], ids=["2", "3"])
@pytest.mark.parametrize("use_fast_path", [False, True])
@pytest.mark.parametrize("cut", [whole, byte_by_byte, in_parts(Random(1), 9)], ids=["whole", "bytes", "parts"])
def test_neither_segments_nor_the_path_matter(tmp_path: Path, talk: Talk, cut: object, use_fast_path: bool) -> None:
    expected = rows(capture(tmp_path / "whole.pcap", segments(talk), talk), KEYS, use_fast_path=False)
    path = capture(tmp_path / "cut.pcap", segments(talk, cut), talk)  # type: ignore[arg-type]
    assert rows(path, KEYS, use_fast_path=use_fast_path, block=7) == expected


def test_it_is_recognised_on_any_port(tmp_path: Path) -> None:
    for talk in (TALK, LATER):
        other = Talk(talk.writes, (ENDS[0], ("10.0.0.2", 7000)))
        assert read(tmp_path / "any.pcap", other, ("protocol",)) == read(tmp_path / "own.pcap", talk, ("protocol",))
    inline = Talk(((CLIENT, b"PING\r\n"), (SERVER, b"+PONG\r\n")), ENDS)
    assert [row[0] for row in read(tmp_path / "inline.pcap", inline, ("protocol",))] == ["resp", "resp"]


def messages() -> list[tuple[Context, bytes]]:
    parts = [(side, data) for side, data in OLD + NEW if data.count(b"\r\n*") < 1 or side == SERVER]
    return [(ASKED if side == CLIENT else TOLD, data) for side, data in parts]


def test_values_and_tree(resp: Dissector) -> None:
    body = resp.values(ask("MSET", "a", "1", "b", b"\xff"), ASKED)
    assert body.values == {"command": "MSET", "keys": ["a", "b"], "arguments": ["a", "1", "b", b"\xff"]}
    assert body.findings == ()
    tree = resp.tree(ask("GET", "user:1"), ASKED)
    key = node(tree, "value", "[1]")
    assert (key.value, key.offset, key.head, key.length) == ("user:1", 13, 4, 12)
    assert resp.values(NEW[3][1], TOLD).values == {"value": {"a": 1.5}}
    assert resp.values(NEW[5][1], TOLD).values["value"] == [
        True, None, "3492890328409238509324850943850943825024385", "abc",
    ]  # fmt: skip
    assert resp.values(b"*2\r\n|1\r\n+a\r\n*1\r\n:1\r\n:7\r\n%1\r\n*1\r\n:1\r\n+x\r\n", TOLD).values == {
        "value": [7, {"[0]": "x"}]
    }
    assert resp.values(ask("EVAL", "s", "2", "a", "b", "c"), ASKED).values["keys"] == ["a", "b"]
    assert resp.values(ask("XREAD", "COUNT", "2", "STREAMS", "a", "b", "0", "1"), ASKED).values["keys"] == ["a", "b"]
    assert resp.values(b"SET k \"a b\" 'c'\r\n", ASKED).values["arguments"] == ["k", '"a b"', "'c'"]


SECRET = {
    "alone": ask("AUTH", "hunter2"), "with a name": ask("AUTH", "bob", "hunter2"), "inline": b"auth hunter2\r\n",
    "hello": ask("HELLO", "3", "AUTH", "bob", "hunter2"), "setting": ask("CONFIG", "SET", "requirepass", "hunter2"),
    "user": ask("ACL", "SETUSER", "bob", ">hunter2"),
    "migrate": ask("MIGRATE", "h", "1", "", "0", "9", "AUTH", "hunter2"),
    "too many": ask("AUTH", "a", "b", "hunter2"), "broken": ask("AUTH", "hunter2")[:-3],
    "short": b"*2\r\n$4\r\nAUTH\r\n$3\r\nhunter2\r\n", "long": b"*2\r\n$4\r\nAUTH\r\n$30\r\nhunter2\r\n",
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", SECRET)
def test_passwords_are_hidden(resp: Dissector, tmp_path: Path, case: str) -> None:
    assert "hunter2" not in repr(resp.values(SECRET[case], ASKED).values)
    assert "hunter2" not in resp.info(resp.values(SECRET[case], ASKED), ASKED)
    talk = Talk(((CLIENT, ask("PING") + SECRET[case]),), ENDS)
    path = str(capture(tmp_path / "secret.pcap", segments(talk), talk))
    if case != "short":  # raw bytes of which nobody knows what they are
        for how in (("list", path, "--format", "ndjson", "--fields"), ("show", path, "2"), ("follow", path, "0")):
            text = run(*how).stdout
            assert text
            assert b"hunter2" not in text
            assert b"hunter2".hex().encode() not in text


def test_a_secret_is_as_long_as_it_is(resp: Dissector) -> None:
    for data in (ask("AUTH", "hunter2"), b"AUTH hunter2\r\n"):
        assert len(resp.values(data, ASKED).values["arguments"][0]) == 7


def test_an_answer_with_a_password(resp: Dissector) -> None:
    for data in (b"*2\r\n$11\r\nrequirepass\r\n$7\r\nhunter2\r\n", b"%1\r\n$11\r\nrequirepass\r\n$7\r\nhunter2\r\n"):
        assert "hunter2" not in repr(resp.values(data, TOLD).values)


def test_every_cut_is_one_finding(resp: Dissector) -> None:
    for context, data in messages():
        framer = resp.make_framer(context is ASKED, True)
        assert framer is not None
        size = framer.length(Window(data), False)
        assert size is not None
        for end in range(1, size + 1):
            tree = resp.tree(data[:end], context)
            assert_tiles(tree)
            assert len(tree.findings) == (end < size), data[:end]
            body = resp.values(data[:end], context)
            assert body.findings == tuple(tree.findings)
            resp.info(body, context)
            resp.header(data[:end], context is ASKED)
            assert resp.make_framer(context is ASKED, True).length(Window(data[:end]), False) in (
                size,
                *range(-size, 0),
            )


class Window:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def read_bytes(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def test_noise(resp: Dissector) -> None:
    random, known = Random(3), messages()
    for _ in range(2_000):
        context, clean = random.choice(known)
        data = bytearray(clean)
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.choice(b"0123456789*$%>|~+-:\r\n\xff\0A")
        tree, body = resp.tree(bytes(data), context), resp.values(bytes(data), context)
        assert_tiles(tree)
        assert body.findings == tuple(tree.findings)
        resp.info(body, context)
        for side in (True, False):
            resp.probe(bytes(data), side)
            talk = pickle.loads(pickle.dumps(resp.conversation()))
            talk.step(0, bytes(data), side)
            framer = resp.make_framer(side, True)
            assert framer is not None
            framer.length(Window(bytes(data)), True)


def test_random_bytes_come_to_an_end(resp: Dissector) -> None:
    random = Random(2)
    with within(10):
        for _ in range(500):
            data = bytes(random.choice(b"*$%>|~+-:(#,=!_019\r\n\r\nAt") for _ in range(random.randint(0, 300)))
            for context in (ASKED, TOLD, Context(Role.PUSH), Context(Role.RAW), Context(Role.ONEWAY)):
                assert_tiles(resp.tree(data, context))


def test_deep_and_large(resp: Dissector, tmp_path: Path) -> None:
    deep = b"*1\r\n" * 5000 + b":1\r\n"
    tree = resp.tree(deep, TOLD)
    assert_tiles(tree)
    assert [finding.code for finding in tree.findings] == ["limit-exceeded"]
    attributes = resp.tree(b"|0\r\n" * 5000 + b":1\r\n", TOLD)
    assert [finding.code for finding in attributes.findings] == ["limit-exceeded"]
    talk = Talk(((CLIENT, ask("GET", "a")), (SERVER, deep), (CLIENT, ask("GET", "b")), (SERVER, b":2\r\n")), ENDS)
    assert [row[2] for row in read(tmp_path / "deep.pcap", talk)] == [2, 1, 4, 3]
    assert resp.make_framer(False, True).length(Window(b"$999999999\r\n"), False) == 0
    with within(20):
        many = resp.values(ask("XREAD", *["k"] * 20_000), ASKED)
    assert len(many.values["arguments"]) == 20_000


def test_a_gap_inside_a_string_and_behind_messages(tmp_path: Path) -> None:
    big = b"$3000\r\n" + b"x" * 3000 + b"\r\n"
    writes = [(CLIENT, ask("GET", "big"))] + [(SERVER, big[at : at + 1000]) for at in range(0, len(big), 1000)]
    for number in range(10):
        writes += [(CLIENT, ask("GET", f"k{number}")), (SERVER, b"+v%d\r\n" % number)]
    talk = Talk(tuple(writes), ENDS)
    packets = segments(talk)
    del packets[5]
    found = rows(capture(tmp_path / "gap.pcap", packets, talk), ("role", "state", "length", "partner"))
    assert {"role": "response", "state": "partial", "length": len(big), "partner": 1} in found
    assert {row["state"] for row in found[2:] if row["role"] == "response"} <= {"partial", "guessed"}
    assert not [row for row in found if row["role"] == "raw"]
    packets = segments(talk)
    del packets[4:7]
    found = rows(capture(tmp_path / "front.pcap", packets, talk), ("role", "info", "partner"))
    assert [row["info"] for row in found if row["role"] == "response"][-3:] == ["v7", "v8", "v9"]


def test_names_columns_and_pages(tmp_path: Path) -> None:
    path = str(capture(tmp_path / "resp.pcap", segments(TALK), TALK))

    def numbers(text: str) -> list[str]:
        output = run("list", path, "-Y", text, "--format", "csv")
        return [line.split(",")[0] for line in output.stdout.decode().splitlines()[1:]] or [output.stderr.decode()]

    assert numbers("resp.key == user:1") == ["1", "2", "4", "5", "11", "12"]
    assert numbers("resp.command == SET") == ["2", "5"]
    assert numbers("resp.GET.request.keys contains user") == ["1", "11"]
    assert numbers("resp.GET.response.value == alice") == ["12"]
    assert numbers("error == WRONGTYPE") == ["18"]
    assert numbers("resp.SET.request.arguments == EX") == ["2"]
    assert "0 of 28" in numbers("resp.COMMAND")[0]
    assert b"user:1" in run("list", path, "--columns", "resp", "-w").stdout
    assert b"resp.key" in run("fields", "resp.key").stdout
    assert b"GET" in run("protocols", "resp", "commands").stdout
    assert b"attributes" in run("protocols", "resp", "types").stdout
    assert b"types" in run("protocols", "resp").stdout + run("protocols", "resp").stderr


def test_hex_is_read_by_the_plugin_although_the_protocol_is_known_as_foreign() -> None:
    shown = run("decode", ask("GET", "user:1").hex())
    assert shown.returncode == 0
    assert b"resp GET request" in shown.stdout
