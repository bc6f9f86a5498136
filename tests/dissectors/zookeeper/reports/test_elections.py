"""The story of elections, made by hand: three voters and an observer, told by their connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dissectors.api import Role
from dissectors.zookeeper.reports.elections import Elections
from dissectors.zookeeper.reports.polls import FOLLOWING, LEADING, LOOKING
from tests.dissectors.telling import MS
from tests.dissectors.zookeeper.reports.told import ELECTION, Book

Way = Callable[["Ensemble"], object]
CONFIG = "\n".join(
    [*(f"server.{sid}=10.0.1.{sid}:2888:3888:participant;2181" for sid in (1, 2, 3)), "server.4=h:1:2:observer"]
)
NOBODY = -(1 << 63)


def ends(stream: int) -> tuple[str, str]:
    """Connection 31 is opened by server 3 to server 1, 131 by another ensemble's; 909 is a client of both."""
    if stream == 909:
        return "10.0.1.1:5000", "10.0.2.1:2181"
    if stream > 100:
        return f"10.0.2.{stream // 10 - 10}:5{stream}", f"10.0.2.{stream % 10}:3888"
    return f"10.0.1.{stream // 10}:50{stream}", f"10.0.1.{stream % 10}:3888"


class Ensemble(Book):
    """Servers that talk on connections of their numbers."""

    def __init__(self) -> None:
        super().__init__(Elections, ends)

    def say(self, values: Mapping[str, Any], stream: int, *, from_client: bool = True, after: int = 1) -> int:
        """A message of an election."""
        return self.tell(
            values,
            operation=None,
            role=Role.ONEWAY,
            protocol=ELECTION,
            stream=stream,
            from_client=from_client,
            session=None,
            after=after,
        )

    def opens(self, stream: int, address: str | None = None) -> int:
        """Who connects says its number."""
        return self.say({"sid": stream % 100 // 10, **({} if address is None else {"addr": address})}, stream)

    def vote(
        self,
        stream: int,
        leader: int,
        state: int = LOOKING,
        turn: int = 1,
        *,
        back: bool = False,
        after: int = 1,
        zxid: int = 5,
    ) -> int:
        """A notification of who opened the connection; back: of the other one."""
        values = {
            "state": state,
            "leader": leader,
            "zxid": zxid,
            "electionEpoch": turn,
            "peerEpoch": 0,
            "config": CONFIG,
        }
        return self.say(values, stream, from_client=not back, after=after)


def boot(them: Ensemble) -> None:
    """Two of three agree."""
    them.opens(21)
    them.vote(21, 2)
    them.vote(21, 1, back=True)
    them.vote(21, 2, back=True)


def follow(them: Ensemble) -> None:
    boot(them)
    them.packet("FOLLOWERINFO", {"serverid": 1}, stream=12)
    them.packet("LEADERINFO", zxid=3 << 32, stream=12)


def join(them: Ensemble) -> None:
    follow(them)
    them.opens(31)
    them.opens(32)
    them.vote(31, 3)
    them.vote(32, 3)
    them.vote(32, 2, LEADING, back=True)
    them.packet("FOLLOWERINFO", {"serverid": 3}, stream=32)


def old_news(them: Ensemble) -> None:
    """On its new connection the joining one is sent the last vote of before, too."""
    follow(them)
    them.opens(31)
    them.vote(31, 2, back=True)


def second(them: Ensemble) -> None:
    follow(them)
    them.opens(31)
    them.vote(31, 3, turn=2, after=9000)
    them.vote(31, 3, turn=2, back=True)


def observer(them: Ensemble) -> None:
    """It is answered with the vote of before, which counts for nobody."""
    them.opens(41)
    them.vote(41, NOBODY)
    them.vote(41, 3, back=True)
    boot(them)


def alone(them: Ensemble) -> None:
    them.opens(21)
    them.vote(21, 2)
    them.vote(21, 2, after=60_000)


def dropped(them: Ensemble) -> None:
    them.opens(12)
    them.end(12, by_client=False)
    boot(them)
    them.opens(13)
    them.end(13, by_client=False)


def not_dropped(them: Ensemble) -> None:
    boot(them)
    them.end(21, by_client=False)
    them.opens(31)
    them.end(31, by_client=True)


def without_openings(them: Ensemble) -> None:
    """The capture begins behind them: 3 is who is left, for only a larger number opens a connection."""
    them.vote(31, 3)
    them.vote(31, 1, back=True)
    them.opens(21)
    them.vote(21, 2)


CASES: dict[str, tuple[Way, list[tuple[object, ...]]]] = {
    "a majority": (boot, [("election", "2", ["2", "1"], ["2 for 2", "1 for 1, then 2"], 2 * MS)]),
    "a leader": (follow, [("election", "2", ["2", "1"], ["2 for 2", "1 for 1, then 2"], 2 * MS)]),
    "one comes later": (
        join,
        [
            ("election", "2", ["2", "1"], ["2 for 2", "1 for 1, then 2"], 2 * MS),
            ("joining", "2", ["3"], ["3 for 3"], 2 * MS),
        ],
    ),
    "what is sent again": (old_news, [("election", "2", ["2", "1"], ["2 for 2", "1 for 1, then 2"], 2 * MS)]),
    "the next one": (
        second,
        [
            ("election", "2", ["2", "1"], ["2 for 2", "1 for 1, then 2"], 2 * MS),
            ("election", "3", ["3", "1"], ["3 for 3", "1 for 3"], 1 * MS),
        ],
    ),
    "an observer": (observer, [("election", "2", ["4", "1", "2"], ["1 for 1, then 2", "2 for 2"], 5 * MS)]),
    "nobody else": (alone, [("election", None, ["2"], ["2 for 2"], None)]),
    "who opened a connection is not known": (
        without_openings,
        [("election", None, ["3", "1", "2"], ["3 for 3", "1 for 1", "2 for 2"], None)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_who_won(case: str) -> None:
    way, expected = CASES[case]
    them = Ensemble()
    way(them)
    assert them.only("kind", "winner", "servers", "votes", "decided_ns") == expected


def test_connections_of_the_smaller_number() -> None:
    them = Ensemble()
    dropped(them)
    assert them.only("dropped") == [(["1 by 3"],)]  # the first one was before there was an election
    them = Ensemble()
    not_dropped(them)
    assert them.only("dropped") == [([],)]


def test_the_epoch_that_a_leader_begins() -> None:
    them = Ensemble()
    follow(them)
    assert them.only("epoch", "zxid", "round") == [(3, "0x5", 1)]


def test_two_ensembles_at_one_time() -> None:
    """Their servers have the same numbers; who is a client of the one and runs the other is no server of both."""
    them = Ensemble()
    them.opens(21)
    them.opens(132)
    them.opens(121)
    them.end(909)
    them.vote(21, 2)
    them.vote(132, 3)
    them.vote(21, 1, back=True)
    them.vote(132, 2, back=True)
    them.vote(21, 2, back=True)
    them.vote(132, 3, back=True)
    assert them.only("kind", "winner", "servers", "votes") == [
        ("election", "2", ["2", "1"], ["2 for 2", "1 for 1, then 2"]),
        ("election", "3", ["3", "2"], ["3 for 3", "2 for 2, then 3"]),
    ]


def test_an_ensemble_that_shows_in_parts() -> None:
    """Two pairs of servers are of one when a fifth connection joins them; what was told before is kept."""
    them = Ensemble()
    them.opens(21)
    them.vote(21, 2)
    them.vote(21, 1, back=True)
    them.opens(43)
    them.opens(42)
    them.vote(21, 2, back=True)
    assert them.only("winner", "servers", "votes") == [("2", ["2", "1"], ["2 for 2", "1 for 1, then 2"])]


def test_notifications_alone_tell_a_leader() -> None:
    them = Ensemble()
    them.vote(31, 3)
    them.vote(31, 3, FOLLOWING, back=True)
    them.vote(31, 3, LEADING)
    ((winner, kind),) = them.only("winner", "kind")
    assert (winner, kind) == ("3", "election")


def test_what_is_reported_of_a_vote() -> None:
    them = Ensemble()
    join(them)
    them.finish()
    first, later = them.entries
    assert Elections.describe(first, first.rows[0][1]) == (
        "vote in the election of round 1: 2 won in 2 ms; 2 for 2; 1 for 1, then 2"
    )
    assert Elections.describe(later, later.rows[0][1]) == "vote in the joining of round 1: 3 joined 2 in 2 ms; 3 for 3"
