"""Decrypted captures of real servers: length, SHA-256 and number of frames, as tshark gives them."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path

import pytest

from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from analyzer.tls.key_files import KeyRing

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
SHARED = Path(__file__).parents[4] / "shared" / "tls"
CAPTURES = (
    "k_java_t13",
    "k_ossl_t12_etm_sha256",
    "k_plain_on_tls",
    "k_t12_cbc_sha256",
    "k_t12_chacha",
    "k_t12_gcm128",
    "k_t13_g256",
    "k_t13_keyupdate_g128",
    "k_t13_resume",
    "k_wrongca",
    "p_go_t12",
    "rmq_t13",
    "zk_t13",
)


def capture(name: str) -> Path:
    """The folder of a capture: here, or beside the checkout."""
    for folder in (GOLDEN, SHARED):
        if (folder / f"{name}.keylog").exists():
            return folder
    pytest.skip("the captures of ../shared/tls are absent")


def read(
    name: str, *, block: int = 32_768, form: str = "pcap.zst", logs: bool = True
) -> dict[tuple[int, int], list[bytes]]:
    """The rows of each direction of each stream, by the number of the stream and 0 for the client."""
    folder = capture(name)
    secrets = KeyRing([str(folder / f"{name}.keylog")] if logs else [])
    found = defaultdict(list)
    with Session([folder / f"{name}.{form}"], block=block, secrets=secrets) as session:
        session.load()
        pieces, rows = session.engine.pieces, session.rows
        for row in range(len(rows)):
            first, count = rows.cell("pieces", row), rows.cell("count", row)
            places = [(pieces.cell("at", each), pieces.cell("length", each)) for each in range(first, first + count)]
            side = int(rows.cell("side", row) != FROM_CLIENT)
            data = b"".join(session.source.store.read_bytes(*place) for place in places)
            found[rows.cell("stream", row), side].append(data)
    return found


@pytest.mark.parametrize("block", [32_768, 7])
@pytest.mark.parametrize("name", CAPTURES)
def test_plaintext_is_that_of_tshark(name: str, block: int) -> None:
    found = read(name, block=block)
    for stream in json.loads((capture(name) / f"{name}.streams.json").read_text())["streams"]:
        for side, expected in enumerate(stream["directions"]):
            rows = found[stream["tcp_stream"], side]
            if not expected["length"]:
                continue  # raw rows, or plaintext from the beginning
            text = b"".join(rows)
            assert (len(text), hashlib.sha256(text).hexdigest()) == (expected["length"], expected["sha256"])
            assert len(rows) == expected["frames"]
