"""tshark's names mean here what they mean there: the same expression keeps the same frames of real captures.

Frames are left out in which tshark says itself that it does not read a message: an API version that it does not know,
an answer to one, or old message sets, on which it fails. A null text is `[ Null ]` to tshark and nothing to us, so no
expression here asks whether a text that may be null is there.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import zstandard

from analyzer.columns.values import IntegerColumn
from analyzer.decode.content import find_dissector, read_cell
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.kafka.catalog.field_aliases import aliases
from dissectors.kafka.schemas import apis

ROOT = Path(__file__).parents[4]
UNREAD = "kafka.unsupported_api_version or kafka.unknown_api_key or kafka.request_missing or _ws.malformed"
FEW = 1
"""Frames that an expression must keep, or it would show nothing."""

OLD, BROKERS, SWEEP = (
    "captures/kafka-0.10.pcap.zst",
    "captures/kafka-3.9-zookeeper.pcap.zst",
    "tests/golden/kafka/k28_sweep.pcap.zst",
)
CASES = [
    (OLD, "kafka.api_key == 1"),
    (OLD, "kafka.request_key == 3"),
    (OLD, "kafka.response_key == 3"),
    (OLD, "kafka.request.version == 1"),
    (OLD, "kafka.response.version == 1"),
    (OLD, "kafka.len > 200"),
    (OLD, 'kafka.client_id contains "0.8"'),
    (OLD, "kafka.error == 0 and kafka.partition_id == 0"),
    (OLD, "kafka.message_magic == 0"),
    (OLD, "kafka.message_crc"),
    (OLD, "kafka.message_codec == 1"),
    (OLD, "kafka.offset_time"),
    (OLD, "kafka.retention_time"),
    (OLD, "kafka.consumer_group"),
    (OLD, 'kafka.topic_name contains "0.10"'),
    (BROKERS, "kafka.replica_id == -1"),
    (BROKERS, "kafka.isr_id == 2"),
    (BROKERS, "kafka.leader_id == 1"),
    (BROKERS, "kafka.controller_epoch"),
    (BROKERS, "kafka.zk_version"),
    (BROKERS, "kafka.fetch_session_id"),
    (BROKERS, "kafka.isolation_level == 0"),
    (BROKERS, "kafka.batch_crc"),
    (BROKERS, "kafka.batch_codec == 0"),
    (BROKERS, "kafka.node_id == 1 and kafka.host"),
    (BROKERS, "kafka.max_wait_time >= 500 and kafka.min_bytes == 1"),
    (SWEEP, "kafka.api_version >= 3"),
    (SWEEP, "kafka.len == 26"),
    (SWEEP, "kafka.correlation_id == 21000"),
    (SWEEP, "kafka.error > 20"),
    (SWEEP, "kafka.throttle_time == 0 and !(kafka.error == 0)"),
    (SWEEP, "kafka.offset > 0"),
    (SWEEP, "kafka.member_id"),
    (SWEEP, "kafka.required_acks == 1"),
    (SWEEP, "kafka.producer_id >= 0"),
    (SWEEP, "kafka.generation_id >= 1"),
    (SWEEP, 'kafka.protocol_type == "consumer"'),
    (SWEEP, "kafka.coordinator_type == 0"),
    (SWEEP, "kafka.leader_epoch >= 0"),
    (SWEEP, "kafka.timeout in {1500, 30000}"),
    (SWEEP, "kafka.config_key"),
    (SWEEP, "kafka.num_partitions"),
    (SWEEP, "kafka.batch_size > 1 and kafka.batch_control_batch == 0"),
    (SWEEP, "kafka.client_software_name"),
    (SWEEP, "kafka.group_state"),
]


class Capture:
    """A capture as both programs read it."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = folder / path.stem
        with path.open("rb") as packed, self.path.open("wb") as plain:
            zstandard.ZstdDecompressor().copy_stream(packed, plain)
        self.session = Session([self.path]).load()
        self.reader = RowReader(self.session)
        self.rows = np.arange(len(self.session.rows))
        ports = {
            name_endpoint(self.session, read_cell(self.session, "stream", row) or 0, 1).rpartition(":")[2]
            for row in self.rows.tolist()
            if (dissector := find_dissector(self.session, row)) is not None and dissector.name == "kafka"
        }
        self.decode_as = [word for port in sorted(ports) for word in ("-d", f"tcp.port=={port},kafka")]
        self.unread = self.tshark(UNREAD)

    def tshark(self, expression: str) -> set[int]:
        """The frames that tshark keeps."""
        command = ["tshark", "-n", "-r", str(self.path), *self.decode_as, "-Y", expression]
        text = subprocess.run([*command, "-T", "fields", "-e", "frame.number"], capture_output=True, check=True)
        return set(map(int, text.stdout.split()))

    def ours(self, expression: str) -> set[int]:
        """The frames that complete the messages which we keep."""
        remaining = compile_filter(expression).select_rows(self.reader, self.rows)
        column = self.reader.read_column("last_packet", remaining)
        assert isinstance(column, IntegerColumn)
        return set(column.numbers.tolist())


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Capture]:
    folder = tmp_path_factory.mktemp("captures")
    return cache(lambda name: Capture(ROOT / name, folder))


@pytest.mark.sampled(3)
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize(("name", "expression"), CASES, ids=lambda text: text)
def test_an_expression_keeps_the_same_frames(name: str, expression: str, captures: Callable[[str], Capture]) -> None:
    capture = captures(name)
    theirs = capture.tshark(expression) - capture.unread
    assert len(theirs) >= FEW
    assert capture.ours(expression) - capture.unread == theirs


def test_every_alias_is_a_key_or_stands_somewhere() -> None:
    """A row of the table whose fields no schema has would never say anything."""
    requested = [
        Context(role, api.key, version)
        for api in apis().values()
        for version in range(api.versions.low, api.versions.high + 1)
        for role in (Role.REQUEST, Role.RESPONSE)
    ]
    for name, alias in aliases().items():
        assert (alias.key is None) is not (alias.paths is None), name
        assert alias.paths is None or any(alias.paths(context) for context in requested), name
