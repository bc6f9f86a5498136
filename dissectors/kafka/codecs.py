"""The codecs of record batches, and of telemetry, by number: the names by which dissectors.wire.codecs knows them."""

from __future__ import annotations

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
