"""Texts that act on terminals, readers or markup parsers, and a capture of Kafka requests that carry them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.analyzer.wire import CLIENT, SERVER, Talk, capture, segments

TEXTS = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x9b31m and \x90 and \x9d",
    "\x00\x01\x07\x08\x0b\x0c\x0e\x7f",
    "line\nbreak\rreturn\ttab",
    "\u202eright to left\u202c \u2066isolate\u2069",
    "zero\u200bwidth\u200djoiner\ufeff\u2060",
    "漢字テスト日本語のトピック名前" * 4,
    "👩‍👩‍👧‍👦 family \U0001f1e9\U0001f1ea flag",
    "a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309 zalgo",
    "[/red][bold]markup[/] [@click=app.quit]click[/]",
    "[link=http://example.com]x[/link] [red on blue",
    "\\[escaped] {braces} %s $(sh) `x`",
    "\u2028separators\u2029 \u00ad\u034f\u115f\u3164\U000e0041",
    "tail\u0000" + "x" * 3000,
)


def random_texts(count: int, longest: int, seed: int = 1) -> list[str]:
    random = Random(seed)
    pools = [range(0x20), range(0x7F, 0xA0), range(0x2000, 0x2070), range(0x20, 0x7F), range(0x4E00, 0x4E80)]
    pools += [range(0x300, 0x370), range(0xE0000, 0xE0080), range(0x1F300, 0x1F400), range(0xFE00, 0xFE10)]
    alphabet = [chr(code) for pool in pools for code in random.choices(pool, k=100)]
    return ["".join(random.choices(alphabet, k=random.randint(1, longest))) for _ in range(count)]


def string(text: str) -> bytes:
    data = text.encode()[:32_767]
    return struct.pack(">h", len(data)) + data


def metadata(number: int, client: str, topics: Sequence[str]) -> bytes:
    """A request Metadata v1."""
    body = struct.pack(">hhi", 3, 1, number) + string(client)
    body += struct.pack(">i", len(topics)) + b"".join(map(string, topics))
    return struct.pack(">i", len(body)) + body


def answer(number: int, host: str, topic: str) -> bytes:
    """Its answer, with one broker and one topic that has an error."""
    body = struct.pack(">ii", number, 1) + struct.pack(">i", 1) + string(host) + struct.pack(">i", 9092) + string(host)
    body += struct.pack(">i", 1) + struct.pack(">ih", 1, 3) + string(topic) + b"\0" + struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


def write(path: Path, texts: Sequence[str]) -> Path:
    """A capture of one exchange for each text."""
    writes = []
    for number, text in enumerate(texts):
        writes.append((CLIENT, metadata(number, text, [text, text])))
        writes.append((SERVER, answer(number, text, text)))
    return capture(path, segments(Talk(tuple(writes))))


def acts(text: str) -> set[str]:
    """The characters of a painted text that a terminal could act on, or that hide."""
    return {character for character in text if not character.isprintable()}
