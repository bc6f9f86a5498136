"""Key logs that stand in captures, wherever in them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("cryptography", reason="the extra wireanalyze[tls] is not installed")

import lz4.frame
import zstandard

from analyzer.capture.pcapng_format import MAGIC, encode_secrets
from analyzer.pipeline import tls_secrets
from analyzer.pipeline.sources import find_captures
from analyzer.tables.options import Options
from tests.analyzer.pipeline.house import build_all_tables
from tests.golden.truth import GOLDEN

TLS = GOLDEN / "tls"
NAME = "k_t13_g256"


def write_with_secrets(path: Path, *, at_end: bool) -> Path:
    """A capture whose Decryption Secrets Block is its second block, or its last."""
    source = TLS / f"{NAME}_dsb.pcapng.zst"
    data = zstandard.ZstdDecompressor().stream_reader(source.read_bytes()).read()
    first = int.from_bytes(data[4:8], "little")
    second = first + int.from_bytes(data[first + 4 : first + 8], "little")
    assert data[first] == 10
    path.write_bytes(data[:first] + data[second:] + data[first:second] if at_end else data)
    return path


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lz4.frame.compress, zstandard.compress])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_pipeline_decrypts_by_secrets_in_a_capture(
    tmp_path: Path, at_end: bool, compress: Callable[[bytes], bytes]
) -> None:
    path = write_with_secrets(tmp_path / "a.pcapng", at_end=at_end)
    path.write_bytes(compress(path.read_bytes()))
    found = build_all_tables(find_captures([str(path)]).files, Options())
    (messages,) = (batch for table, batch in found if table == "messages")
    assert messages.column("protocol").to_pylist() == ["kafka"] * 50


def line(number: int) -> bytes:
    """A line of a key log."""
    return b"CLIENT_RANDOM %b %b\n" % (bytes((number,)).hex().encode() * 32, b"00" * 48)


@pytest.mark.parametrize("part", [7, 16, 1 << 20])
def test_all_blocks_are_found_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(tls_secrets, "PART", part)
    logs = [line(each) for each in (1, 2)]
    decoy = encode_secrets(logs[0])[:-4] + b"\xff" * 4
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"\n\r\r\n" + encode_secrets(logs[0]) + b"xKSLTTLSK" + decoy + encode_secrets(logs[1]) + b"KSLT")
    assert tls_secrets._EmbeddedSecrets().read_secrets(str(path)) == b"".join(logs)


def test_a_block_within_a_block_is_no_block(tmp_path: Path) -> None:
    text = b"x" * 16 + encode_secrets(b"y" * 16)
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"\n\r\r\n" + encode_secrets(text))
    assert tls_secrets._EmbeddedSecrets().read_secrets(str(path)) == text


def test_what_is_remembered_is_bounded_and_of_the_file_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_secrets, "MOST_BYTES", 300)
    known, path = tls_secrets._EmbeddedSecrets(), tmp_path / "0.pcapng"
    for number in range(9):
        path.write_bytes(b"\n\r\r\n" + encode_secrets(b"%d" % number * (number + 90)))
        assert known.read_secrets(str(path)) == b"%d" % number * (number + 90)
        assert known.size <= 300
    assert known.read_secrets(str(tmp_path / "gone")) == b""


def test_a_capture_s_secrets_go_with_it(tmp_path: Path) -> None:
    """Those of the key log stay, also what it gets later."""
    common = tmp_path / "keys.log"
    common.write_bytes(line(0))
    options = Options(key_logs=(str(common),))
    for number in range(1, 5):
        path = tmp_path / f"{number}.pcapng"
        path.write_bytes(MAGIC + encode_secrets(line(number)))
        ring = tls_secrets.find_secrets(options, [str(path)])
        assert ring is not None
        assert [each for each in range(5) if ring.find("CLIENT_RANDOM", bytes([each]) * 32)] == [0, number]
    with common.open("ab") as file:
        file.write(line(9))
    assert ring.find("CLIENT_RANDOM", bytes([9]) * 32)
    alone = tls_secrets.find_secrets(options, [])
    assert alone is not None
    assert [each for each in range(10) if alone.find("CLIENT_RANDOM", bytes([each]) * 32)] == [0, 9]
