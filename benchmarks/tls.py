"""Decrypting TLS 1.3, beside OpenSSL's own AES-GCM over the same records and the same messages in the clear.

Theory. One connection carries Kafka requests and large responses, once in the clear and once in records of 16 KiB that
are sealed here. What decryption may cost is what OpenSSL itself needs for these records; all that is more than that and
plain reading is the price of the layer. CPU time of this process is measured, the least of some runs.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from analyzer.session import Session
from analyzer.tls.key_files import KeyRing
from analyzer.tls.key_schedule import derive_traffic_keys
from analyzer.tls.suites import Suite, find_suite
from benchmarks.comparison import Bench
from benchmarks.table import Line

SEGMENTS = (1448, 32_000)
"""Bytes of a segment: of Ethernet, and of a loopback that leaves segmentation to the card."""

RECORD, RESPONSE, GOAL = 1 << 14, 16_000, "1.3"
AES_128_GCM = 0x1301
PORTS = (40_000, 9093)
_SECRETS = {"CLIENT_HANDSHAKE": 2, "SERVER_HANDSHAKE": 3, "CLIENT": 4, "SERVER": 5}


class Sealed(NamedTuple):
    """One record as AES-GCM takes it."""

    side: int
    nonce: bytes
    data: bytes
    header: bytes


class Sender:
    """Seals records of both directions with AES-128-GCM, and keeps them in `records`."""

    def __init__(self) -> None:
        suite = find_suite(AES_128_GCM)
        assert suite is not None
        self.records: list[Sealed] = []
        self._keys = {name: _Key(suite, bytes((number,)) * 32) for name, number in _SECRETS.items()}

    def seal(self, name: str, kind: int, text: bytes) -> bytes:
        """The next record under a secret."""
        key, side = self._keys[name], int(name.startswith("SERVER"))
        header = b"\x17\3\3" + (len(text) + 17).to_bytes(2)
        nonce = (key.nonce ^ key.number).to_bytes(12)
        key.number += 1
        sealed = Sealed(side, nonce, key.aead.encrypt(nonce, text + bytes((kind,)), header), header)
        self.records.append(sealed)
        return header + sealed.data

    def open_all(self) -> None:
        """What OpenSSL's own decryption of all data costs."""
        keys = (self._keys["CLIENT"].aead, self._keys["SERVER"].aead)
        for record in self.records:
            keys[record.side].decrypt(record.nonce, record.data, record.header)


class _Key:
    def __init__(self, suite: Suite, secret: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        keys = derive_traffic_keys(secret, suite)
        self.aead, self.nonce, self.number = AESGCM(keys.key), int.from_bytes(keys.nonce), 0


def _messages(size: int) -> Iterator[tuple[int, bytes]]:
    """Requests and responses of Kafka, `size` bytes at least."""
    number, sent = 0, 0
    while sent < size:
        number += 1
        request = b"\0\3\0\1" + number.to_bytes(4) + b"\0\2me\0\0\0\0"
        response = number.to_bytes(4) + bytes(RESPONSE)
        sent += len(response)
        yield from ((0, len(request).to_bytes(4) + request), (1, len(response).to_bytes(4) + response))


def _encrypt(sender: Sender, plain: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    def clear(kind: int, body: bytes) -> bytes:
        message = bytes((kind,)) + len(body).to_bytes(3) + body
        return b"\x16\3\3" + len(message).to_bytes(2) + message

    offered, chosen = b"\0\7\0\x2b\0\3\2\3\4", b"\0\6\0\x2b\0\2\3\4"
    suite = AES_128_GCM.to_bytes(2)
    yield 0, clear(1, b"\3\3" + bytes(32) + b"\0\0\2" + suite + b"\1\0" + offered)
    hello = clear(2, b"\3\3" + bytes(32) + b"\0" + suite + b"\0" + chosen)
    yield 1, hello + sender.seal("SERVER_HANDSHAKE", 22, b"\x14\0\0\4done")
    yield 0, sender.seal("CLIENT_HANDSHAKE", 22, b"\x14\0\0\4done")
    sender.records.clear()
    for side, data in plain:
        parts = (data[at : at + RECORD] for at in range(0, len(data), RECORD))
        yield side, b"".join(sender.seal(("CLIENT", "SERVER")[side], 23, part) for part in parts)


def _write(path: Path, writes: Sequence[tuple[int, bytes]], segment: int) -> Path:
    """One connection as a capture of whole segments, without its end."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 101))
        sent, count = [1, 1], 0
        for side, data, flags in ((0, b"", 2), (1, b"", 18), *((side, data, 24) for side, data in writes)):
            for at in range(0, max(len(data), 1), segment):
                part, count = data[at : at + segment], count + 1
                begin = sent[side] - (flags & 2) // 2
                ack = sent[1 - side] if flags & 16 else 0
                tcp = struct.pack(">HHIIBBHHH", PORTS[side], PORTS[1 - side], begin, ack, 80, flags, 65_535, 0, 0)
                ends = bytes((10, 0, 0, 1 + side, 10, 0, 0, 2 - side))
                packet = struct.pack(">BBHHHBBH", 69, 0, 40 + len(part), 0, 0, 64, 6, 0) + ends + tcp + part
                file.write(struct.pack("<IIII", 1_800_000_000, count * 1000, len(packet), len(packet)) + packet)
                sent[side] = (sent[side] + len(part)) & 0xFFFFFFFF
    return path


def _least(work: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def _load(path: Path, *key_logs: Path) -> int:
    secrets = KeyRing([str(each) for each in key_logs]) if key_logs else None
    with Session([path], secrets=secrets) as session:
        return len(session.load().rows)


def decryption(bench: Bench) -> Iterator[Line]:
    """A line for each length of segments."""
    plain, sender = list(_messages(bench.decrypted << 20)), Sender()
    encrypted = list(_encrypt(sender, plain))
    log = bench.scratch / "tls.keys"
    labels = {name: f"{name}_TRAFFIC_SECRET" + ("" if "_" in name else "_0") for name in _SECRETS}
    log.write_text("".join(f"{labels[name]} {'00' * 32} {f'{number:02x}' * 32}\n" for name, number in _SECRETS.items()))
    gcm = _least(sender.open_all, bench.few_times)
    for segment in SEGMENTS:
        clear = _write(bench.scratch / "plain.pcap", plain, segment)
        tls = _write(bench.scratch / "tls.pcap", encrypted, segment)
        assert _load(clear) == _load(tls, log) == len(plain)
        beside = gcm + _least(lambda clear=clear: _load(clear), bench.few_times)  # type: ignore[misc]
        ours = _least(lambda tls=tls: _load(tls, log), bench.few_times)  # type: ignore[misc]
        yield Line(
            "TLS 1.3 decrypted",
            f"{bench.decrypted} MB, segments of {segment:,} bytes",
            f"{ours:.2f} s",
            "AES-GCM of OpenSSL and plain reading",
            f"{beside:.2f} s",
            ours / beside,
            GOAL,
            low=True,
        )
        clear.unlink()
        tls.unlink()
