"""What only several messages show to be wrong: messages, perhaps the end of their connection, and what is said."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.zookeeper.checks.ensemble import Quorum, Reconfigurations, Synchronization
from dissectors.zookeeper.checks.sessions import ClientCheck
from dissectors.zookeeper.quorum.header import code_of
from tests.dissectors.checking import End, Step, end, see, show_anything, texts

CLIENT, SERVER = "10.0.0.1:50000", "10.0.1.1:2181"
PING, CLOSE, EXISTS, RECONFIG = 11, -11, 3, 16


def seen(
    values: dict[str, Any], role: Role, code: int | None, at: int, stream: int = 1, server: str = SERVER,
    protocol: str = "zookeeper",
) -> MessageEvent:  # fmt: skip
    """A message at so many ms."""
    return see(protocol, Context(role, code), values, stream, at, server=server, client=CLIENT)


def asks(code: int | None, at: int, stream: int = 1, server: str = SERVER, **values: Any) -> MessageEvent:
    return seen(values, Role.REQUEST, code, at, stream, server)


def answers(code: int | None, at: int, stream: int = 1, server: str = SERVER, **values: Any) -> MessageEvent:
    return seen(values, Role.RESPONSE, code, at, stream, server)


def connect(at: int, stream: int = 1, server: str = SERVER, session: int = 0x10, asked: int = 0) -> list[Step]:
    return [
        asks(None, at, stream, server, timeOut=9000, sessionId=asked),
        answers(None, at, stream, server, timeOut=6000 if session else 0, sessionId=session),
    ]


def closed(at: int, *, by_client: bool = True, stream: int = 1) -> End:
    return end(stream, at, by_client=by_client, client=CLIENT, server=SERVER)


OTHER = "10.0.1.2:2181"
LOST = "session 0x10: {}, ended the connection without closeSession, {} after the client's last message"
BY_CLIENT, BY_SERVER = "10.0.0.1:50000, its client", "the server, 10.0.1.1:2181"

PROPOSAL, ACK, COMMIT = (code_of(name) for name in ("PROPOSAL", "ACK", "COMMIT"))


def proposal(at: int, stream: int = 1) -> MessageEvent:
    return seen({"zxid": 7}, Role.REQUEST, PROPOSAL, at, stream, protocol="zookeeper-quorum")


def acknowledged(at: int, stream: int = 1) -> MessageEvent:
    return seen({"zxid": 7}, Role.RESPONSE, ACK, at, stream, protocol="zookeeper-quorum")


def committed(at: int) -> MessageEvent:
    return seen({"zxid": 7}, Role.ONEWAY, COMMIT, at, protocol="zookeeper-quorum")


def synchronizes(name: str, at: int = 0) -> MessageEvent:
    return seen({"zxid": 7}, Role.ONEWAY, code_of(name), at, protocol="zookeeper-quorum")


def follows(sid: int) -> MessageEvent:
    values = {"data": {"serverid": sid}}
    return seen(values, Role.ONEWAY, code_of("FOLLOWERINFO"), 0, protocol="zookeeper-quorum")


def has_none() -> MessageEvent:
    return seen({"zxid": 0}, Role.ONEWAY, code_of("ACKEPOCH"), 0, protocol="zookeeper-quorum")


NONE_BEFORE = (
    f"a server ({CLIENT}) gets all data again, because it had none of its own; the connection ended before it was ready"
)
DELETES = "delete its transactions behind 0x7: the ensemble does not have them"
GETS_ALL = "gets all data again, because it was too far behind or had lost its own"
REFUSED = f"{SERVER} does not give session 0x10 to its client: "
NONE = f"{SERVER} gives no session to a client that asks for a new one"
GONE = "its ephemeral nodes are gone"
LIVES = f"and the session lives for 6 s; {GONE}"

OF_CHECKS: dict[type[Check], dict[str, tuple[list[Step], list[str]]]] = {
    ClientCheck: {
        "a ping in time": ([*connect(0), asks(PING, 2000), asks(PING, 6000)], []),
        "a long silence": (
            [*connect(0), asks(PING, 4001)],
            ["the client was silent for 4 s, and its session expires after 6 s"],
        ),
        "a silence in which bytes are missing": ([*connect(0), asks(PING, 4001)._replace(losses=1)], []),
        "a silence after bytes were missing": (
            [*connect(0), asks(PING, 100)._replace(losses=1), asks(PING, 4101)._replace(losses=1)],
            ["the client was silent for 4 s, and its session expires after 6 s"],
        ),
        "a silence of who has no session": ([*connect(0, session=0), asks(PING, 50_000)], [NONE]),
        "a ping that is answered": ([*connect(0), asks(PING, 100), answers(PING, 2100)], []),
        "late": (
            [*connect(0), asks(PING, 100), answers(PING, 2101)],
            ["the ping was answered after 2 s; the session expires after 6 s"],
        ),
        "closed": ([*connect(0), asks(CLOSE, 5), closed(9)], []),
        "lost by the client": ([*connect(0), asks(EXISTS, 5), closed(9)], [LOST.format(BY_CLIENT, "4 ms")]),
        "lost by the server": ([*connect(0), closed(9, by_client=False)], [LOST.format(BY_SERVER, "9 ms")]),
        "it had never a session": ([*connect(0, session=0), closed(9)], [NONE]),
        "a word": ([asks(None, 0, text="ruok"), answers(None, 1, text="imok"), closed(9)], []),
        "it went on later": (
            [*connect(0), *connect(50, 2, OTHER), closed(9)],
            [LOST.format(BY_CLIENT, "9 ms") + "; 10.0.1.2:2181 took it on 41 ms later"],
        ),
        "it had gone on before": (
            [*connect(0), *connect(50, 2, OTHER), closed(90, by_client=False)],
            ["session 0x10 has moved to 10.0.1.2:2181; its old connection to 10.0.1.1:2181 has ended"],
        ),
        "expired": (
            [*connect(0), *connect(7000, 2, session=0, asked=0x10)],
            [f"{REFUSED}it expired, for the client was silent for 7 s, and the session lives for 6 s; {GONE}"],
        ),
        "closed before": (
            [*connect(0), asks(CLOSE, 5), *connect(50, 2, session=0, asked=0x10)],
            [f"{REFUSED}the client itself had closed it 45 ms before"],
        ),
        "expired before the client spoke again": (
            [*connect(0), asks(PING, 7000), *connect(7050, 2, session=0, asked=0x10)],
            [
                "the client was silent for 7 s, and its session expires after 6 s",
                f"{REFUSED}it expired, for the client was silent for 7 s, and the session lives for 6 s; {GONE}",
            ],
        ),
        "it goes on over a new connection": (
            [*connect(0), connect(50, 2)[0], connect(60, 2)[1], closed(55, by_client=False)],
            ["session 0x10 goes on over a new connection to 10.0.1.1:2181, which has ended the old one"],
        ),
        "expired because the server does not answer": (
            [*connect(0), asks(PING, 2000), *connect(8000, 2, session=0, asked=0x10), closed(5000)],
            [
                f"{REFUSED}it expired while the server gave no answer to a ping of 6 s before, {LIVES}",
                LOST.format(BY_CLIENT, "3 s") + ", for its ping had no answer for 3 s",
            ],
        ),
        "a wrong password": (
            [*connect(0), *connect(50, 2, session=0, asked=0x10)],
            [f"{REFUSED}the session was heard of 50 ms before and lives for 6 s, so the password is not its own"],
        ),
        "a refusal after bytes were missing": (
            [*connect(0), asks(PING, 40)._replace(losses=1), *connect(50, 2, session=0, asked=0x10)],
            [f"{REFUSED}it has expired, or its password is wrong"],
        ),
        "nobody knows why": (
            connect(50, 2, session=0, asked=0x10),
            [f"{REFUSED}it has expired, or its password is wrong"],
        ),
    },
    Reconfigurations: {
        "a server joins": (
            [asks(RECONFIG, 0, joiningServers="server.4=h:1:2"), answers(RECONFIG, 5)],
            ["a client changed the servers of the ensemble: joining server.4=h:1:2"],
        ),
        "refused": ([asks(RECONFIG, 0), answers(RECONFIG, 5)._replace(error=(-102, "NOAUTH"))], []),
    },
    Quorum: {
        "confirmed in time": ([proposal(0), acknowledged(1000), committed(1000)], []),
        "confirmed late": (
            [proposal(0), acknowledged(1001)],
            ["10.0.0.1:50000 acknowledged transaction 0x7 1 s after it was proposed"],
        ),
        "committed late, and told to several": (
            [proposal(0), proposal(900, 2), committed(2500), committed(2600)],
            ["10.0.1.1:2181 committed transaction 0x7 2.5 s after it was proposed"],
        ),
        "committed without a proposal": ([committed(5000)], []),
    },
    Synchronization: {
        "transactions are deleted": (
            [follows(3), synchronizes("TRUNC"), synchronizes("UPTODATE", 30)],
            [f"the leader has server 3 ({CLIENT}) {DELETES}; it is ready 30 ms later"],
        ),
        "all data is sent to who had none": ([has_none(), synchronizes("SNAP"), closed(9)], [NONE_BEFORE]),
        "all data is sent": (
            [synchronizes("SNAP"), closed(9)],
            [f"a server ({CLIENT}) {GETS_ALL}; the connection ended before it was ready"],
        ),
    },
}
CASES = {name: (kind, *case) for kind, cases in OF_CHECKS.items() for name, case in cases.items()}


@pytest.mark.parametrize("case", CASES)
def test_what_is_reported(case: str) -> None:
    kind, messages, expected = CASES[case]
    assert texts(kind, messages) == expected


@pytest.mark.parametrize("kind", [ClientCheck, Quorum, Reconfigurations, Synchronization])
def test_nothing_is_raised_where_everything_is_missing(kind: type[Check]) -> None:
    show_anything(kind, [(choice, {}, 0, 0) for choice in range(len(kind.on))])
