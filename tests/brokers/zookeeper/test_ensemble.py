"""Real ensembles, whole: the clients', the quorum's and the election's ports in one recording, while a leader dies.

What each client says that it did and saw is compared with what wireanalyze reads from the packets; every message with
what ZooKeeper's own classes read from it; and the bytes of all messages with those that TCP carried.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.kafka.decoded import Row, rows_of
from tests.brokers.lab.missing import Missing
from tests.brokers.zookeeper import decoded, recipe, scenario, vendor
from tests.brokers.zookeeper.journal import Step
from tests.brokers.zookeeper.recipe import NEW, OLD, Release
from tests.brokers.zookeeper.scenario import Recording
from tests.golden.truth import differing

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]

OBSERVERS = {NEW: 1, OLD: 0}
PASSWORDS = (recipe.PASSWORD, recipe.SUPER_PASSWORD, recipe.OWNER_PASSWORD)
TELLING = {
    "zookeeper": {"connect", "notification", "multi", "auth", "closeSession", "getACL", "sync"},
    "zookeeper-quorum": {
        "FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "NEWLEADER", "UPTODATE", "DIFF", "SNAP", "SNAPSHOT", "PROPOSAL",
        "ACK", "COMMIT", "PING",
    },
    "zookeeper-election": {"InitialMessage", "Notification"},
}  # fmt: skip
"""What a recording must have, of all releases; and of each, in `ONLY`.

Who leads next is chance: a session that is renewed there needs no REVALIDATE, nor its requests a REQUEST.
"""

ONLY = {
    NEW: {
        "create2", "createTTL", "createContainer", "multiRead", "addWatch", "removeWatches", "setWatches2", "whoAmI",
        "getEphemerals", "getAllChildrenNumber", "reconfig", "sasl", "OBSERVERINFO", "REQUEST", "INFORM",
        "COMMITANDACTIVATE", "INFORMANDACTIVATE",
    },
    OLD: {"QuorumAuthPacket"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording and its rows; in `shown` nothing is masked."""

    release: Release
    run: Recording
    rows: list[Row]
    shown: list[Row]


@pytest.fixture(scope="module", params=[NEW, OLD], ids=lambda release: release.name)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """From before the first server starts until the last one has left; its logs stay in the folder."""
    release: Release = request.param
    try:
        run = scenario.record(tmp_path_factory.mktemp("ensemble"), release, OBSERVERS[release])
    except Missing as missing:
        pytest.skip(str(missing))
    shown = rows_of(run.capture, "--show-secrets")
    return Recorded(release, run, rows_of(run.capture), shown)


def test_everything_is_read(recorded: Recorded) -> None:
    rows = recorded.rows
    assert {(row["protocol"], row["state"]) for row in rows if not _cut_off(row)} == {
        (protocol, "complete") for protocol in TELLING
    }
    found = {row["operation"] for row in rows}
    wanted = set().union(*TELLING.values(), ONLY[recorded.release], scenario.WORDS)
    if "kazoo" in recorded.run.journals:
        assert wanted - found == set()
    severe = {"warning", "error"}
    assert [
        (row["number"], row["findings"])
        for row in rows
        if not _cut_off(row) and any(finding["severity"] in severe for finding in row["findings"])
    ] == []


def _cut_off(row: Row) -> bool:
    """A server closes an election's connection where it likes, also between a length and what it is of."""
    return bool(row["protocol"] == "zookeeper-election" and row["state"] == "partial")


def test_every_byte_belongs_to_a_message(recorded: Recorded) -> None:
    carried = decoded.bytes_in_segments(recorded.run.capture)
    assert sum(carried.values()) > 100_000
    assert {way: size for way, size in carried.items() if size} == decoded.bytes_in_rows(recorded.rows)


def test_what_clients_did(recorded: Recorded) -> None:
    journals = recorded.run.journals
    if not journals:
        pytest.skip("kazoo is not installed: requirements/brokers.lock has it")
    for name, journal in journals.items():
        found = decoded.steps(recorded.shown, journal.session)
        assert [step.operation for step in found] == [step.operation for step in journal.steps], name
        assert [each for pair in zip(found, journal.steps, strict=True) for each in _differences(*pair)] == [], name


def _differences(ours: Step, told: Step) -> list[tuple[str, str]]:
    """What a client said otherwise than we; it says less, and never of times that it cannot know."""
    return [(f"{told.operation} {path}", sample) for path, sample in differing(ours._asdict(), told._asdict())]


def test_events_of_watches(recorded: Recorded) -> None:
    journals = recorded.run.journals
    for name, journal in journals.items():
        assert journal.events or name == "sasl"
        assert decoded.events(recorded.rows, journal.session) == journal.events, name


def test_sessions_outlive_their_leader(recorded: Recorded) -> None:
    """A session that held is on a connection to the first leader or a follower, and then on another one."""
    before, after = recorded.run.leaders
    assert before != after
    for name in recorded.run.journals.keys() & {"kazoo", "java"}:
        session = recorded.run.journals[name].session
        streams = {row["stream_id"] for row in recorded.rows if row["client"] == session}
        assert len(streams) >= 2, name


def test_words(recorded: Recorded) -> None:
    for word, answer in recorded.run.words.items():
        assert answer
        assert answer in decoded.said(recorded.rows, word)


def test_no_password_and_no_token_is_printed(recorded: Recorded) -> None:
    printed = repr(recorded.rows)
    assert [password for password in PASSWORDS if password in printed or password.encode().hex() in printed] == []
    secrets: list[Any] = [row["fields"]["passwd"] for row in recorded.rows if row["operation"] == "connect"]
    secrets += [row["fields"]["token"] for row in recorded.rows if row["operation"] in ("sasl", "QuorumAuthPacket")]
    assert len(secrets) > 4
    assert [secret for secret in secrets if secret is not None and "redacted" not in secret] == []


def test_every_message_next_to_what_the_servers_own_classes_read(recorded: Recorded, tmp_path: Path) -> None:
    rows, messages = vendor.decoded(recorded.run.capture)
    try:
        reader = vendor.reader(recorded.run.server, tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    truth = vendor.expected(rows, messages, reader)
    found, values = vendor.compare(rows, truth)
    print(found.report(), f"{values} values", sep="\n")
    unread = {
        row["operation"] for row, reported in zip(rows, truth, strict=True) if reported is None and not _cut_off(row)
    }
    assert unread <= set(scenario.WORDS)
    assert values > 2_000
    assert found.causes == {}, found.report()
    # The comparison sees what it is for: each number changed by one is a difference.
    changed = [{**row, "fields": _other(row["fields"])} for row in rows]
    assert sum(vendor.compare(changed, truth)[0].causes.values()) > values / 4


def _other(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _other(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_other(each) for each in value]
    return value + 1 if type(value) is int else value
