"""The password of a session is shown in no output: connects at every place of a conversation, cut and damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from analyzer.cli.program import run
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_header
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.limits import Limits
from analyzer.render.lines import strip_styles
from analyzer.render.shown import format_row
from analyzer.render.tree_json import make_node_object
from analyzer.session import Session
from dissectors.api import Role
from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, segments, snapped, without_handshake
from tests.dissectors.zookeeper.messages import connect, connected, event, get_data, reply, request, ustring

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 2181))
PASSWORD = b"s3cr3t-Pa55w0rd!"
STAT = bytes(68)

Writes = list[tuple[int, bytes]]
Damage = Callable[[bytes, Random], bytes]

CONNECTS: Writes = [
    (CLIENT, connect(session=0x1000_1234, password=PASSWORD)),
    (CLIENT, connect(zxid=1 << 32 | 24, session=0x1000_1234, password=PASSWORD, tail=b"")),
    (CLIENT, connect(zxid=99 << 32 | 7, session=0x1000_1234, password=PASSWORD)),
    (SERVER, connected(0x1000_1234, password=PASSWORD)),
    (SERVER, connected(0x1000_1234, password=PASSWORD, tail=b"")),
]
TALK: Writes = [
    (CLIENT, connect()),
    (SERVER, connected(0x1234)),
    (CLIENT, request(0, "delete", ustring("/a") + bytes(4))),
    (SERVER, reply(0)),
    (CLIENT, get_data(1, "/sixteen-letters")),
    (SERVER, event()),
    (SERVER, reply(1, b"\0\0\0\4data" + STAT)),
    (CLIENT, request(-2, "ping")),
    (CLIENT, request(3, 999, b"unknown")),
    (SERVER, reply(-2)),
    (SERVER, reply(3, b"unknown")),
    (CLIENT, request(4, "closeSession")),
    (SERVER, reply(4)),
]


def intact(data: bytes, random: Random) -> bytes:
    return data


def flipped(data: bytes, random: Random) -> bytes:
    """One to three bytes other than the password's are different."""
    found, at = bytearray(data), data.index(PASSWORD)
    for _ in range(random.randint(1, 3)):
        place = random.choice([*range(at), *range(at + len(PASSWORD), len(data))])
        found[place] = random.randrange(256)
    return bytes(found)


def other_field(data: bytes, random: Random) -> bytes:
    """One of the numbers is another small one."""
    place = random.randrange(0, data.index(PASSWORD), 4)
    return data[:place] + random.choice([0, 1, 2, 12, 16, 40, 45, 60, 200]).to_bytes(4) + data[place + 4 :]


def longer(data: bytes, random: Random) -> bytes:
    """The length takes in what follows."""
    return (int.from_bytes(data[:4]) + random.randint(1, 60)).to_bytes(4) + data[4:]


def with_more(data: bytes, random: Random) -> bytes:
    """A field that a later version may have added."""
    more = random.randbytes(random.randint(1, 12))
    return (int.from_bytes(data[:4]) + len(more)).to_bytes(4) + data[4:] + more


def behind_another(data: bytes, random: Random) -> bytes:
    """The length of the message before takes it in."""
    before = get_data(5, "/" + "a" * random.randint(0, 20))
    return (len(before) + len(data) - 4).to_bytes(4) + before[4:] + data


DAMAGES: Sequence[Damage] = (intact, flipped, other_field, longer, with_more, behind_another)


def leaks(printed: bytes) -> list[bytes]:
    """The parts of the password that stand there, as text or as hexadecimal numbers."""
    parts = [PASSWORD[at : at + 4] for at in range(0, len(PASSWORD), 4)]
    return [part for part in parts for form in (part, part.hex().encode(), part.hex(" ").encode()) if form in printed]


def in_trees(path: Path) -> dict[int, list[bytes]]:
    """What `show` and `show --json` print of messages that are no raw runs: leaks by row."""
    found = {}
    limits = Limits(None, None)
    with Session([path]).load() as session:
        for row in range(len(session.rows)):
            if read_header(session, row).role is Role.RAW:
                continue
            text = "\n".join(map(strip_styles, format_row(session, row, limits))).encode()
            tree = b"".join(
                JsonWriter(limits).format_line(make_node_object(node)) for node in decode_tree(session, row).fields
            )
            if leak := leaks(text + tree):
                found[row] = leak
    return found


FORMATS = (
    ("--format", "ndjson", "--fields", "--bytes-limit", "all"),
    ("--format", "ndjson", "-e", "bytes,info,findings", "--bytes-limit", "all"),
    ("--format", "tsv", "-e", "info,zookeeper.path,zookeeper.getData.path,zookeeper.create.data,bytes"),
    (),
)


def in_lists(path: Path, printed: Callable[..., bytes]) -> list[bytes]:
    return [leak for options in FORMATS for leak in leaks(printed(str(path), "-Y", "role != raw", *options))]


@pytest.fixture
def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., bytes]:
    def call(*arguments: str) -> bytes:
        status = run(["list", *arguments])
        out = capsysbinary.readouterr()
        assert status == 0, out.err
        return out.out

    return call


def written(path: Path, random: Random, place: int, damage: Damage) -> Path:
    """A conversation with a connect at a place, whole or with packets cut, perhaps without its handshake."""
    side, data = random.choice(CONNECTS)
    talk = Talk((*TALK[:place], (side, damage(data, random)), *TALK[place:]), ENDS)
    sent = segments(talk)
    if random.randrange(3) == 0:
        sent = snapped(sent, random.randint(30, 60))
    if random.randrange(4) == 0:
        sent = without_handshake(sent)
    return capture(path, sent, talk)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("place", range(len(TALK) + 1))
@pytest.mark.parametrize("seed", range(8))
def test_no_output_shows_it(
    seed: int, place: int, damage: Damage, tmp_path: Path, printed: Callable[..., bytes]
) -> None:
    path = written(tmp_path / "a.pcap", Random(f"{seed} {place} {damage.__name__}"), place, damage)
    assert in_trees(path) == {}
    assert in_lists(path, printed) == []


def test_the_fuzz_sees_what_is_shown(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    talk = Talk((*TALK, CONNECTS[0]), ENDS)
    path = capture(tmp_path / "a.pcap", segments(talk), talk)
    assert run(["list", str(path), "--format", "ndjson", "--fields", "--show-secrets"]) == 0
    assert len(leaks(capsysbinary.readouterr().out)) == 4
