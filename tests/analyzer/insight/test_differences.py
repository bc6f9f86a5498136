"""Differences between profiles: of captures with one thing changed, and of real ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.difference import CHANCE, Difference
from analyzer.insight.differences import find_differences
from analyzer.insight.metrics import METRIC_NAMES
from analyzer.insight.profile import NetworkProfile, OperationProfile, Profile, Setting, SettingValue, make_profile
from analyzer.query.fields import FieldKind, find_field
from analyzer.query.filter import compile_filter
from analyzer.render.differences_text import format_difference, make_difference_objects
from analyzer.session import Session
from dissectors import registry

CAPTURES = Path(__file__).parents[3] / "captures"
KAFKA = "kafka-4.4.pcap.zst"


@cache
def profile(name: str, text: str | None = None) -> Profile:
    with Session([CAPTURES / name]).load() as session:
        reader = RowReader(session)
        rows = None if text is None else compile_filter(text).select_rows(reader, np.arange(len(session.rows)))
        return make_profile(reader, rows)


def changed(**changes: object) -> Profile:
    """The capture with one operation, Fetch, changed."""
    whole = profile(KAFKA)
    key = ("kafka", "Fetch")
    was = whole.operations[key]
    values = {name: changes.get(name, getattr(was, name)) for name in OperationProfile.__annotations__}
    return replace(whole, operations={**whole.operations, key: OperationProfile(**values)})


def say(before: Profile, after: Profile) -> list[str]:
    return [format_difference(each) for each in find_differences(before, after)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.name)
def test_a_capture_does_not_differ_from_itself(path: Path) -> None:
    if path.suffix in (".pcap", ".pcapng", ".zst"):
        assert not find_differences(profile(path.name), profile(path.name))


def test_latencies() -> None:
    latencies = np.arange(1000, 2000) * 10_000
    before, after = changed(latencies=latencies), changed(latencies=2 * latencies)
    (slower,), (faster,) = find_differences(before, after), find_differences(after, before)
    assert (slower.kind, faster.kind) == ("slower", "faster")
    assert slower.weight > faster.weight
    assert {change.name for change in slower.changes} == {"p50", "p90", "p99"}
    assert format_difference(slower) == (
        "Fetch takes longer: p50 15ms before, 30ms now, p90 19ms before, 38ms now, p99 19.9ms before, 39.8ms now,"
        " p < 0.001."
    )
    objects = list(make_difference_objects(slower))
    assert [each["operation"] for each in objects] == ["Fetch"] * 3
    assert all(0 <= each["significance"] < CHANCE for each in objects)


def test_what_is_small_or_chance_is_not_reported() -> None:
    latencies = np.arange(1000, 2000) * 10_000
    assert not say(changed(latencies=latencies), changed(latencies=latencies * 11 // 10))
    assert not say(changed(latencies=latencies[:3]), changed(latencies=latencies[:3] * 9))


def test_errors() -> None:
    assert not profile(KAFKA).operations["kafka", "Fetch"].errors
    (new,) = find_differences(profile(KAFKA), changed(errors={"NOT_LEADER_OR_FOLLOWER": 1}))
    assert new.kind == "new-error"
    assert "Fetch answers with NOT_LEADER_OR_FOLLOWER: 1 of " in format_difference(new)
    assert format_difference(new).endswith(", which may be chance.")
    was = profile(KAFKA).operations["kafka", "Fetch"].metrics
    metrics = type(was)(**{name: 500 if name == "answers" else getattr(was, name) for name in METRIC_NAMES})
    none, few, many = (changed(errors=errors, metrics=metrics) for errors in ({}, {"X": 1}, {"X": 400}))
    assert [each.kind for each in find_differences(few, many)] == ["error"]
    assert [each.kind for each in find_differences(many, few)] == ["fewer-errors"]
    assert [each.kind for each in find_differences(many, none)] == ["fewer-errors"]
    assert not find_differences(few, none)


def with_network(**metrics: object) -> Profile:
    was = profile(KAFKA).network
    values = {name: metrics.get(name, getattr(was, name)) for name in NetworkProfile.__annotations__}
    return replace(profile(KAFKA), network=NetworkProfile(**values))


def test_the_network() -> None:
    trips = np.arange(100) * 100_000
    quiet = {"retransmissions": 1, "zero_windows": 0, "resets": 0, "round_trips": trips}
    before, lossy, far = (
        with_network(**quiet | more) for more in ({}, {"retransmissions": 60}, {"round_trips": 9 * trips})
    )
    assert not say(before, before)
    (worse,), (better,), (slower,) = (
        find_differences(*each) for each in ((before, lossy), (lossy, before), (before, far))
    )
    assert (worse.kind, better.kind, slower.kind) == ("network", "network", "slower")
    assert worse.weight > better.weight
    assert format_difference(worse).startswith("There are more TCP retransmissions: 1 of 560 (0.179%) before, 60 of ")
    assert format_difference(better).startswith("There are fewer TCP retransmissions: 60 of ")
    assert format_difference(slower).startswith("A TCP round trip takes longer: p50 ")


def test_versions_and_operations() -> None:
    versions = profile(KAFKA).operations["kafka", "Fetch"].versions
    found = say(profile(KAFKA), changed(versions={**versions, 99: 1}))
    assert found == [f"Versions of kafka: Fetch is also v99 (still {', '.join(f'v{each}' for each in versions)})."]
    whole = profile(KAFKA)
    less = replace(whole, operations={key: each for key, each in whole.operations.items() if key[1] != "Fetch"})
    count = whole.operations["kafka", "Fetch"].metrics.messages
    assert say(whole, less) == [f"Missing operations of kafka, and how many messages: Fetch {count}."]
    assert say(less, whole) == [f"New operations of kafka, and how many messages: Fetch {count}."]


def with_acks(complete: bool, **counts: int) -> Profile:
    values = {name: SettingValue(count, ("app",)) for name, count in counts.items()}
    setting = Setting(values, sum(counts.values()), complete)
    return replace(profile(KAFKA), settings={("kafka", "Produce.request.acks"): setting})


def test_settings() -> None:
    assert say(with_acks(True, all=9), with_acks(True, leader=1)) == ["Produce acks was all and is leader (app)."]
    assert say(with_acks(True, all=9), with_acks(True, leader=1, all=8)) == [
        "Produce acks is also leader (still all) (app)."
    ]
    assert not say(with_acks(False, all=9), with_acks(False, leader=1, all=8))
    assert say(with_acks(False, all=900), with_acks(False, leader=800, all=100))


def test_software_and_clients() -> None:
    before, after = (
        replace(profile(KAFKA), software={"kafka": {name: 1}}, clients={"kafka": {name: 1, "same": 8}})
        for name in ("java 3.9", "java 4.1")
    )
    assert say(before, after) == [
        "Client software: new java 4.1; gone java 3.9.",
        "Client ids: new java 4.1; gone java 3.9.",
    ]


def test_protocols_and_order() -> None:
    found = find_differences(profile("kafka.pcap"), profile("mixed.pcapng"))
    assert [each.weight for each in found] == sorted((each.weight for each in found), reverse=True)
    assert {each.protocol for each in found if each.kind == "protocol"} >= {"pulsar", "zookeeper"}


def test_an_empty_side() -> None:
    nothing = profile(KAFKA, "length == 0")
    found: list[Difference] = find_differences(nothing, profile(KAFKA))
    assert [each.kind for each in found if each.kind != "new-error"] == ["protocol"]
    assert [each.kind for each in find_differences(profile(KAFKA), nothing)] == ["protocol"]
    assert not find_differences(nothing, nothing)


def test_profiles_read_what_clients_set() -> None:
    settings = profile(KAFKA).settings
    assert settings["kafka", "Produce.request.acks"].values
    assert all(
        0 < value.messages <= setting.messages for setting in settings.values() for value in setting.values.values()
    )
    assert profile(KAFKA).software["kafka"]


@pytest.mark.parametrize("dissector", registry.dissectors(), ids=lambda each: each.name)
def test_settings_are_fields(dissector: object) -> None:
    name, settings, software = (getattr(dissector, each) for each in ("name", "settings", "software"))
    for field in (*settings, *software):
        assert find_field(f"{name}.{field}").kind not in (FieldKind.STRUCT, FieldKind.PRESENCE)
