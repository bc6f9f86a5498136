"""What a client says that it sent and got, and the records that all clients send.

A client is a program of its own, given the broker's address, that prints a Journal as JSON: bytes as hexadecimal,
nothing that it did not learn from its library. A client in any language can take part.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

ROOT = Path(__file__).parents[3]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST = 1_700_000_000_000
"""The timestamp of the first record, in milliseconds, where a client lets its user choose."""


class Sent(NamedTuple):
    """A record as an application gives it to its client."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


RECORDS = (
    Sent(b"key", b"value"),
    Sent(None, b"no key", (("name", b"content"),)),
    Sent(b"", b"", (("", b""),)),
    Sent(b"no value", None, (("nothing", None),)),
    Sent(b"\x00\xff\xfe", bytes(range(256)), (("twice", b"1"), ("twice", b"2"), ("\u00e4\u4e16", b"\xff"))),
    Sent(b"long", b"0123456789abcdef" * 5_000),
)
"""What is awkward in records: null, empty, not text, many bytes, headers that repeat."""


class Said(NamedTuple):
    """A record as a client reports it. Bytes as hexadecimal; headers as [name, value] pairs."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: tuple[tuple[str, str | None], ...]


def said(at: tuple[str, int, int], timestamp: int, record: Sent) -> Said:
    """A record at (topic, partition, offset), as it stands in a journal."""
    headers = tuple((name, _hex(value)) for name, value in record.headers)
    return Said(*at, timestamp, _hex(record.key), _hex(record.value), headers)


def _hex(content: bytes | None) -> str | None:
    return None if content is None else content.hex()


@dataclass(slots=True)
class Journal:
    """What one client did, as it tells it.

    client: its client id. created: topics with their number of partitions. members: those of its group, by id, as
    the broker describes them. committed: topic and partition, offset.
    """

    client: str
    created: dict[str, int] = field(default_factory=dict)
    produced: list[Said] = field(default_factory=list)
    consumed: list[Said] = field(default_factory=list)
    group: str = ""
    members: list[str] = field(default_factory=list)
    committed: list[tuple[str, int, int]] = field(default_factory=list)

    def printed(self) -> str:
        """As the last line that a client prints."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, line: str) -> Self:
        """The inverse of `printed`."""
        found: dict[str, Any] = json.loads(line)
        for name in ("produced", "consumed"):
            found[name] = [Said(*each[:-1], tuple(map(tuple, each[-1]))) for each in found[name]]
        found["committed"] = [tuple(each) for each in found["committed"]]
        return cls(**found)


def of_python(client: str, address: str, timeout: float = 90) -> Journal:
    """Runs one of the clients beside this module to its end: apart, for its threads and warnings are not ours."""
    command = [sys.executable, "-m", f"tests.brokers.kafka.{client}", address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{client}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return Journal.read(done.stdout.splitlines()[-1])
