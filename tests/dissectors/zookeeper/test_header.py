"""The first bytes of messages: what the list needs, and how sure they make us."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dissectors import registry
from dissectors.api import SURE, WEAK, MessageHeader, Role, State
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.election import ZooKeeperElection
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from tests.dissectors.zookeeper.messages import (
    buffer,
    connect,
    connected,
    event,
    get_data,
    initial,
    notification,
    packet,
    proposal,
    reply,
    request,
    sasl,
    ustring,
    vector,
)

CLIENT, QUORUM, ELECTION = ZooKeeper(), ZooKeeperQuorum(), ZooKeeperElection()
GOLDEN = Path(__file__).parents[2] / "golden"
REQUEST, RESPONSE, ONEWAY, PUSH, RAW = Role.REQUEST, Role.RESPONSE, Role.ONEWAY, Role.PUSH, Role.RAW


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    dissector: ZooKeeper | ZooKeeperQuorum | ZooKeeperElection
    data: bytes
    from_client: bool
    header: MessageHeader
    sure: range
    """What probe may say."""

    def __str__(self) -> str:
        return self.name


def known(role: Role, operation: str | None = None, code: int | None = None, xid: int | None = None) -> MessageHeader:
    return MessageHeader(role, operation, code, None, xid)


def connection(session: int) -> MessageHeader:
    return MessageHeader(RESPONSE, "connect", client=hex(session))


BELIEVED, WEAKLY, ON_PORT, NO = range(SURE, 101), range(WEAK, SURE), range(1, WEAK), range(1)
ZEROTH = MessageHeader(RESPONSE, correlation=0, state=State.GUESSED)
GUESS = MessageHeader(RESPONSE, correlation=3, state=State.GUESSED)
HEADLESS = MessageHeader(RAW, state=State.UNDECODED)

CASES = [
    Case("connect", CLIENT, connect(), True, known(REQUEST, "connect"), BELIEVED),
    Case("connect, 3.3", CLIENT, connect(tail=b""), True, known(REQUEST, "connect"), BELIEVED),
    Case("connect, null password", CLIENT, connect(password=None), True, known(REQUEST, "connect"), BELIEVED),
    Case("connected", CLIENT, connected(0), False, known(RESPONSE, "connect"), BELIEVED),
    Case("connected, 3.3", CLIENT, connected(5, tail=b""), False, connection(5), BELIEVED),
    Case("connected, read-only", CLIENT, connected(5, tail=b"\1"), False, connection(5), BELIEVED),
    Case("connected, null password", CLIENT, connected(5, password=None, tail=b""), False, connection(5), BELIEVED),
    Case("connected, empty password", CLIENT, connected(5, password=b""), False, connection(5), BELIEVED),
    Case("connected, server 1", CLIENT, connected(0x100001234560000), False, connection(0x100001234560000), BELIEVED),
    Case("connected, a password with a slash", CLIENT, connected(0x100001234560000, password=b"/" * 16), False,
         connection(0x100001234560000), BELIEVED),
    Case("connected, a number that ends in zeros", CLIENT, connected(1 << 56), False, connection(1 << 56), BELIEVED),
    Case("xid 0, three bytes", CLIENT, reply(0, ustring("/ab")), False, ZEROTH, WEAKLY),
    Case("xid 0, three bytes, another epoch", CLIENT, reply(0, ustring("/ab"), zxid=9 << 32 | 1), False, ZEROTH,
         WEAKLY),
    Case("xid 0, sixteen bytes", CLIENT, reply(0, ustring("/a0000000000007a")), False, ZEROTH, WEAKLY),
    Case("xid 0, no children", CLIENT, reply(0, vector()), False, ZEROTH, WEAKLY),
    Case("xid 0, null children", CLIENT, reply(0, buffer(None)), False, ZEROTH, WEAKLY),
    Case("a path", CLIENT, get_data(3), True, known(REQUEST, "getData", 4, 3), BELIEVED),
    Case("no path", CLIENT, get_data(3, "a"), True, known(REQUEST, "getData", 4, 3), NO),
    Case("a long path", CLIENT, get_data(3, "/" + 600 * "a")[:512], True, known(REQUEST, "getData", 4, 3), WEAKLY),
    Case("a ping", CLIENT, request(-2, "ping"), True, known(REQUEST, "ping", 11, -2), BELIEVED),
    Case("close", CLIENT, request(3, "closeSession"), True, known(REQUEST, "closeSession", -11, 3), BELIEVED),
    Case("a token", CLIENT, request(3, "sasl", ustring("x")), True, known(REQUEST, "sasl", 102, 3), WEAKLY),
    Case("trailing bytes", CLIENT, request(3, "sync", ustring("/") + b"?"), True, known(REQUEST, "sync", 9, 3), NO),
    Case("an unknown opcode", CLIENT, request(3, 999), True,
         MessageHeader(REQUEST, None, 999, None, 3, None, State.UNDECODED), NO),
    Case("an empty frame", CLIENT, bytes(4), True, HEADLESS, NO),
    Case("a frame of six bytes", CLIENT, b"\0\0\0\6abcdef", True, HEADLESS, NO),
    Case("a reply", CLIENT, reply(3), False, GUESS, WEAKLY),
    Case("a reply with an error", CLIENT, reply(3, err=-101), False, GUESS, WEAKLY),
    Case("a reply with an error that there is not", CLIENT, reply(3, err=-77), False, GUESS, NO),
    Case("an event", CLIENT, event(), False, known(PUSH, "notification", 0, -1), BELIEVED),
    Case("a word", CLIENT, b"ruok", True, known(REQUEST, "ruok"), BELIEVED),
    Case("a word and a line's end", CLIENT, b"stat\n", True, known(REQUEST, "stat"), BELIEVED),
    Case("memcached", CLIENT, b"stats\r\n", True, known(REQUEST, "stat"), ON_PORT),
    Case("stmk", CLIENT, b"stmk" + bytes(8), True, known(REQUEST, "stmk"), BELIEVED),
    Case("telnet hangs up", CLIENT, b"\xff\xf4\xff\xfd", True, known(REQUEST, "telnetClose"), BELIEVED),
    Case("a follower", QUORUM, packet("FOLLOWERINFO", data=bytes(20)), True,
         known(ONEWAY, "FOLLOWERINFO", 11), BELIEVED),
    Case("connect, an odd password", CLIENT, connect(password=b"x"), True, known(REQUEST, "connect"), WEAKLY),
    Case("a follower from the leader", QUORUM, packet("FOLLOWERINFO", data=bytes(20)), False,
         known(ONEWAY, "FOLLOWERINFO", 11), NO),
    Case("a proposal", QUORUM, proposal("delete", ustring("/a")), False, known(REQUEST, "PROPOSAL", 2), BELIEVED),
    Case("a proposal that breaks", QUORUM, proposal("delete", b"\0\0\0\x09"), False, known(REQUEST, "PROPOSAL", 2), NO),
    Case("an ack", QUORUM, packet("ACK"), True, known(ONEWAY, "ACK", 3), BELIEVED),
    Case("an ack with data", QUORUM, packet("ACK", data=b"x"), True, known(ONEWAY, "ACK", 3), NO),
    Case("a leader's ping", QUORUM, packet("PING"), False, known(REQUEST, "PING", 5), BELIEVED),
    Case("a learner's ping", QUORUM, packet("PING", data=bytes(24)), True, known(RESPONSE, "PING", 5), BELIEVED),
    Case("an unknown type", QUORUM, packet(77), True, MessageHeader(ONEWAY, None, 77, state=State.UNDECODED), NO),
    Case("SASL first", QUORUM, sasl(), True, known(ONEWAY, "QuorumAuthPacket"), BELIEVED),
    Case("SASL in an election", ELECTION, sasl(), False, known(ONEWAY, "QuorumAuthPacket"), BELIEVED),
    Case("an initial message", ELECTION, initial(), True, known(ONEWAY, "InitialMessage"), BELIEVED),
    Case("many addresses", ELECTION, initial(version=-65535), True, known(ONEWAY, "InitialMessage"), BELIEVED),
    Case("a sid alone", ELECTION, (4).to_bytes(8), True, known(ONEWAY, "InitialMessage"), WEAKLY),
    Case("a vote", ELECTION, notification(config="server.1=a"), True, known(ONEWAY, "Notification"), BELIEVED),
    Case("a vote of 3.3", ELECTION, notification(28), False, known(ONEWAY, "Notification"), BELIEVED),
    Case("a vote in no state", ELECTION, notification(state=9), False, known(ONEWAY, "Notification"), NO),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_first_look(case: Case) -> None:
    assert case.dissector.header(case.data, case.from_client) == case.header
    assert case.dissector.probe(case.data, case.from_client) in case.sure
    assert (
        case.dissector.probe(case.data, None) >= case.dissector.probe(case.data, case.from_client)
        or case.sure == ON_PORT
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_other_protocol_says_more(case: Case) -> None:
    """Servers prove who they are in the same packets on both of their ports: there the port decides."""
    own = case.dissector.probe(case.data, case.from_client)
    others = [each for each in registry.dissectors() if each.name != case.dissector.name]
    if own >= SURE:
        assert max(each.probe(case.data, case.from_client) for each in others) < own + (case.data == sasl())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_beginnings_never_raise(case: Case) -> None:
    for end in range(len(case.data)):
        for from_client in (True, False):
            case.dissector.header(case.data[:end], from_client)
            assert 0 <= case.dissector.probe(case.data[:end], from_client) <= 100
            case.dissector.plausible(case.data[:end], from_client)
            case.dissector.conversation().step(0, case.data[:end], from_client)
