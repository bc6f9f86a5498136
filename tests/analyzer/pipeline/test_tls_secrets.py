"""Key logs that stand in captures, wherever in them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("cryptography", reason="the extra wireanalyze[tls] is not installed")

import zstandard

from analyzer.capture.pcapng_format import encode_secrets
from analyzer.pipeline import tls_secrets
from analyzer.pipeline.local_export import build_all_tables
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import find_captures
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


@pytest.mark.parametrize("at_end", [False, True])
def test_a_pipeline_decrypts_by_secrets_in_a_capture(tmp_path: Path, at_end: bool) -> None:
    path = write_with_secrets(tmp_path / "a.pcapng", at_end=at_end)
    found = build_all_tables(find_captures([str(path)]).files, Options())
    (messages,) = (batch for table, batch in found if table == "messages")
    assert messages.column("protocol").to_pylist() == ["kafka"] * 50


@pytest.mark.parametrize("part", [7, 16, 1 << 20])
def test_all_blocks_are_found_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(tls_secrets, "PART", part)
    logs = [b"CLIENT_RANDOM %b %b\n" % (bytes((each,)).hex().encode() * 32, b"00" * 48) for each in (1, 2)]
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
