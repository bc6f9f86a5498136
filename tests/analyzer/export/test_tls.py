"""Exports of decrypted connections: secrets of what is in the output alone, and messages as packets."""

from __future__ import annotations

import re
from pathlib import Path

from tests.program import run

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
CAPTURE, KEYS = str(GOLDEN / "k_java_t13.pcap.zst"), GOLDEN / "k_java_t13.keylog"
LISTED = ("operation", "version", "correlation", "length", "info")


def export(out: Path, *more: str) -> str:
    done = run("export", CAPTURE, "--keylog", str(KEYS), "-o", str(out), *more)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    return done.stderr.decode()


def rows(*arguments: str) -> bytes:
    keys = [word for key in LISTED for word in ("-e", key)]
    return run("list", *arguments, "--format", "csv", *keys).stdout


def test_embedded_keys_decrypt_the_output_and_no_more(tmp_path: Path) -> None:
    out = tmp_path / "a.pcapng"
    text = export(out, "-Y", "stream == 1", "--embed-keys")
    assert ", and " in text
    assert " secrets written to " in text
    assert rows(str(out)) == rows(CAPTURE, "--keylog", str(KEYS), "-Y", "stream == 1")
    written = set(re.findall(rb"[0-9a-f]{64} [0-9a-f]{64,}", out.read_bytes()))
    assert len({line.split()[0] for line in written}) == 1
    assert len(written) < len(re.findall(r"[0-9A-F]{64} [0-9A-F]{64,}", KEYS.read_text()))
    again = tmp_path / "b.pcapng"
    assert run("export", str(out), "-o", str(again)).returncode == 0
    assert not re.search(rb"[0-9a-f]{64} [0-9a-f]{64,}", again.read_bytes())


def test_without_the_option_no_secret_is_written(tmp_path: Path) -> None:
    secrets = [line.split()[-1].lower().encode() for line in KEYS.read_text().splitlines() if line]
    for form in ("pcapng", "pdus", "ndjson", "raw"):
        out = tmp_path / form
        export(out, "--as", form)
        data = out.read_bytes()
        assert not any(secret in data.lower() or bytes.fromhex(secret.decode()) in data for secret in secrets)


def test_embedded_keys_are_for_pcapng(tmp_path: Path) -> None:
    done = run("export", CAPTURE, "-o", str(tmp_path / "a.csv"), "--embed-keys")
    assert done.stderr.decode() == ("wireanalyze: --embed-keys is for pcapng, but the format is csv. Leave it out.\n")


def test_messages_are_packets_with_plaintext(tmp_path: Path) -> None:
    out, raw = tmp_path / "a.pcapng", tmp_path / "a.bin"
    assert export(out, "--as", "pdus").endswith(f"72 messages written to {out}\n")
    export(raw, "--as", "raw")
    data, plain = out.read_bytes(), raw.read_bytes()
    assert data.count(b"\x00\x0c\x00\x08kafka\0\0\0") == 72
    assert plain[:55] in data
    assert data.count((9093).to_bytes(4)) >= 72


def test_the_stream_is_the_plaintext(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    export(out, "--as", "stream", "--stream", "0")
    assert b"apache-kafka-java" in out.read_bytes()
