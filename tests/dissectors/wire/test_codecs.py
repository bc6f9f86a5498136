"""Every codec: whole, cut, too large, broken."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import cramjam
import lz4.block
import lz4.frame
import pytest
import zstandard

from dissectors.errors import MalformedField, TooLarge
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress

TEXT = b"hello world, " * 1000


def xerial(data: bytes) -> bytes:
    """As snappy-java frames it: a header of sixteen bytes, then blocks behind their sizes."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[at : at + 5000])) for at in range(0, len(data), 5000)]
    header = b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2
    return header + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)


def lz4_with_a_wrong_header(data: bytes) -> bytes:
    """As Kafka's first clients wrote it (KAFKA-3160): the checksum of the header is not right."""
    frame = bytearray(lz4.frame.compress(data))
    end = 6 + (8 if frame[4] & 8 else 0)
    frame[end] ^= 0x5A
    return bytes(frame)


COMPRESS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("zlib", zlib.compress),
    "snappy, raw": ("snappy", lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy, xerial": ("snappy", xerial),
    "lz4": ("lz4", lz4.frame.compress),
    "lz4-legacy": ("lz4-legacy", lz4_with_a_wrong_header),
    "lz4-legacy, right header": ("lz4-legacy", lz4.frame.compress),
    "zstd": ("zstd", zstandard.compress),
}


@pytest.fixture(params=COMPRESS, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[str, bytes]:
    codec, compress = COMPRESS[request.param]
    return codec, compress(TEXT)


def test_whole(case: tuple[str, bytes]) -> None:
    codec, data = case
    budget = Budget(20_000)
    assert decompress(codec, data, budget, "records", 0) == TEXT
    assert budget.left == 20_000 - len(TEXT)


def test_cut_at_every_byte(case: tuple[str, bytes]) -> None:
    codec, data = case
    for cut in range(len(data)):
        if codec == "snappy" and data.startswith(b"\x82") and ends_a_block(data, cut):
            assert TEXT.startswith(decompress(codec, data[:cut], Budget(), "records", 7))
        else:
            with pytest.raises(MalformedField) as caught:
                decompress(codec, data[:cut], Budget(), "records", 7)
            assert caught.value.offset == 7


def ends_a_block(data: bytes, cut: int) -> bool:
    """Whether a cut of xerial's frame falls between two of its blocks, where nothing shows that more was there."""
    at = 16
    while at < cut:
        at += 4 + int.from_bytes(data[at : at + 4], "big")
    return at == cut


@pytest.mark.parametrize("left", [0, 1, 100, len(TEXT) - 1])
def test_over_budget(case: tuple[str, bytes], left: int) -> None:
    codec, data = case
    with pytest.raises(TooLarge, match=f"more than the {left} bytes"):
        decompress(codec, data, Budget(left), "records", 0)


def test_garbage(case: tuple[str, bytes]) -> None:
    with pytest.raises(MalformedField, match="records at offset 3 is not "):
        decompress(case[0], b"\xffno such format, whatever it is", Budget(), "records", 3)


def test_members_in_a_row_are_one_content() -> None:
    for codec in ("gzip", "lz4", "zstd"):
        data = COMPRESS[codec][1](TEXT)
        assert decompress(codec, data + data, Budget(), "records", 0) == TEXT * 2


def test_a_bomb_is_stopped_long_before_it_is_unpacked() -> None:
    bomb = zstandard.compress(bytes(1 << 28), 19)
    with pytest.raises(TooLarge):
        decompress("zstd", bomb, Budget(1 << 20), "records", 0)


def test_a_snappy_block_is_not_believed_what_it_cannot_hold() -> None:
    with pytest.raises(MalformedField, match="cannot hold"):
        decompress("snappy", bytes.fromhex("ffffff1f00"), Budget(), "records", 0)


def flushed(data: bytes) -> bytes:
    """A zlib stream without its end, as Pulsar's Java client writes it."""
    stream = zlib.compressobj()
    return stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


OF_KNOWN_SIZE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "lz4-block": ("lz4-block", lambda data: bytes(lz4.block.compress(data, store_size=False))),
    "snappy-block": ("snappy-block", lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "zlib": ("zlib", zlib.compress),
    "zlib, not ended": ("zlib", flushed),
    "zstd": ("zstd", zstandard.compress),
}


@pytest.mark.parametrize("name", OF_KNOWN_SIZE)
def test_content_of_a_known_size(name: str) -> None:
    codec, compress = OF_KNOWN_SIZE[name]
    budget = Budget(len(TEXT))
    assert decompress(codec, compress(TEXT), budget, "payload", 0, len(TEXT)) == TEXT
    assert budget.left == 0


@pytest.mark.parametrize("size", [0, 1, len(TEXT) - 1, len(TEXT) + 1, 2 * len(TEXT)])
@pytest.mark.parametrize("name", OF_KNOWN_SIZE)
def test_content_of_another_size(name: str, size: int) -> None:
    codec, compress = OF_KNOWN_SIZE[name]
    with pytest.raises(MalformedField, match="payload at offset 3 "):
        decompress(codec, compress(TEXT), Budget(), "payload", 3, size)


def test_a_size_beyond_the_budget() -> None:
    with pytest.raises(TooLarge, match="is said to hold 101 bytes, 100 may be decompressed"):
        decompress("lz4-block", b"", Budget(100), "payload", 0, 101)
