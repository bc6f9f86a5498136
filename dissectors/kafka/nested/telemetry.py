"""Metrics of clients in PushTelemetry (KIP-714).

Facts. `metrics` is OpenTelemetry's MetricsData in Protocol Buffers, compressed as a whole by the codec in
`compressionType`. Its layout is a table (telemetry.json) with the proto's own names. Bytes that cannot be decompressed,
or that do not parse to the last one, stay bytes. So do those that far exceed a broker's limit (telemetry.max.bytes,
1 MiB), because two bytes can be a whole message.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.kafka.codecs import CODECS
from dissectors.kafka.nested.payload_detection import DetectedPayload, detect
from dissectors.kafka.tables import table
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget, get_allowance
from dissectors.wire.codecs import decompress
from dissectors.wire.emit import FAILURES
from dissectors.wire.protobuf import Library, MessageType
from dissectors.wire.protobuf_fields import read_fields
from dissectors.wire.protobuf_values import decode
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LayoutSpec
from dissectors.wire.times import timestamp

_COMPRESSED = LayoutSpec("compressed", "bytes")
_NANO = 1_000_000
_SHARE = 16
"""Of what may be decompressed for a message, metrics may take one part in so many."""


def detect_metrics(_: str, data: bytes, hints: Mapping[str, object]) -> DetectedPayload | None:
    """Decodes the client metrics in these bytes (KIP-714); None if they do not fit."""
    compression = hints.get("compression")
    if not data or not isinstance(compression, int) or not 0 <= compression < len(CODECS):
        return None
    return detect(_metrics(CODECS[compression]), data)


@make_slotted(eq=False)
class Metrics:
    """A NestedDecoder for MetricsData after decompression (KIP-714)."""

    codec: str
    name: str = "opentelemetry.proto.metrics.v1.MetricsData"

    @property
    def inflates(self) -> bool:
        """Whether the metrics are compressed, so that their nodes are in a source of their own."""
        return self.codec != CODECS[0]

    def values(self, data: bytes) -> dict[str, Any] | None:
        """Decompresses and decodes the metrics; None for bytes that break or are too many."""
        most = get_allowance() // _SHARE
        if len(data) > most:
            return None
        try:
            plain = self._plain(data, Budget(most))
            return decode(plain, 0, len(plain), metrics_message())
        except FAILURES:
            return None

    def unfold(self, reader: Reader) -> None:
        """Adds the metrics as nodes, below a node for the compressed bytes."""
        if self.inflates:
            content = reader.data[reader.at : reader.end]
            plain = self._plain(content, reader.budget)
            node = reader.leaf(_COMPRESSED, content, reader.end)
            reader = reader.read_decoded(node, f"metrics, {self.codec}", plain)
        read_fields(reader, metrics_message(), whole=True)

    def _plain(self, data: bytes, budget: Budget) -> bytes:
        return decompress(self.codec, data, budget, "metrics", 0) if self.inflates else data


@lru_cache(maxsize=len(CODECS))
def _metrics(codec: str) -> Metrics:
    return Metrics(codec)


@cache
def metrics_message() -> MessageType:
    """Returns the Protocol Buffers layout of MetricsData (KIP-714)."""
    rows = table("telemetry")
    return Library(rows["messages"], rows["enums"], {"nanoseconds": nanoseconds}.get).message("MetricsData")


def nanoseconds(value: int) -> str | None:
    """Nanoseconds since 1970 as ISO 8601 in UTC; None for 0, which is no time."""
    text = timestamp(value // _NANO) if value else None
    return None if text is None else f"{text[:-1]}{value % _NANO:06}Z"
