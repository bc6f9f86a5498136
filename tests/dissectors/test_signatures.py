"""What the registry says of signatures is true of the dissectors, and asking fewer of them changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.hexinput.pasted import recognise_among, recognise_any
from dissectors import registry
from dissectors.kafka.probe import REQUEST
from dissectors.registry import CERTAIN, may_be_surer

KAFKA = bytes.fromhex("0000000e 0012 0000 00000001 0004 61626364")
CONNECT = bytes.fromhex("0000002d 00000000 0000000000000000 00002710 0000000000000000 00000010" + "00" * 17)
EXISTS = bytes.fromhex("00000011 00000001 00000003 00000004 2f612f62 00")
INITIAL = bytes.fromhex("ffffffffffff0000 0000000000000001 0000000c") + b"10.0.0.1:388"
FRAME = bytes.fromhex("00000009 00000005 0812 9201 00")
HEADER = b'{"code":310,"flag":0,"language":"JAVA","opaque":3,"serializeTypeCurrentRPC":"JSON","version":453}'
COMMAND = (4 + len(HEADER)).to_bytes(4) + len(HEADER).to_bytes(4) + HEADER
SAMPLES = {"kafka": KAFKA, "zookeeper": CONNECT, "zookeeper-election": INITIAL, "pulsar": FRAME, "rocketmq": COMMAND}
BUILT_IN = [registry.by_name(name) for name in registry.BUILT_IN]


def near(sample: bytes) -> st.SearchStrategy[bytes]:
    """A message with a few other bytes, perhaps cut."""

    def changed(changes: list[tuple[int, int]], end: int) -> bytes:
        data = bytearray(sample)
        for at, byte in changes:
            data[at % len(data)] = byte
        return bytes(data[:end])

    places = st.tuples(st.integers(0, 40), st.sampled_from([0, 1, 3, 4, 8, 18, 47, 127, 255]))
    return st.builds(changed, st.lists(places, max_size=4), st.integers(0, 2 * len(sample)))


ANY = st.one_of(st.binary(max_size=64), *map(near, (*SAMPLES.values(), EXISTS)))


def test_kafka_is_tried_first() -> None:
    assert next(iter(registry.BUILT_IN)) == "kafka"
    assert REQUEST == CERTAIN
    assert may_be_surer("somebody-elses", b"")


@given(ANY)
def test_nobody_is_surer_without_a_signature(data: bytes) -> None:
    for dissector in BUILT_IN:
        if not may_be_surer(dissector.name, data):
            assert all(dissector.probe(data, side) <= CERTAIN for side in (None, True, False)), dissector.name


@given(ANY, st.booleans())
def test_asking_fewer_changes_nothing(data: bytes, told: bool) -> None:
    assert recognise_any(data, told) == recognise_among(data, registry.dissectors(), told)


@pytest.mark.parametrize(("name", "data"), SAMPLES.items(), ids=SAMPLES)
def test_everybodys_own_is_found(name: str, data: bytes) -> None:
    assert recognise_any(data).dissector.name == name
