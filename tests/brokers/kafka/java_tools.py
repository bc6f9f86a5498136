"""The command line tools of a Kafka distribution, on its own client in Java: what they print tells what they got."""

from __future__ import annotations

import re

from tests.brokers.kafka.journal import FIRST, Journal, Sent, said
from tests.brokers.lab.java import Java

TOPIC, GROUP, CLIENT = "from-java", "java-group", "console-producer"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LINES = (
    (Sent(b"key", b"value", (("name", b"content"),)), "name:content\tkey\tvalue"),
    (Sent(b"two", b"headers", (("one", b"1"), ("two", b"2"))), "one:1,two:2\ttwo\theaders"),
    (Sent(b"long", b"0123456789abcdef" * 500, (("h", b""),)), f"h:\tlong\t{'0123456789abcdef' * 500}"),
)
"""Records, and the lines of the console producer that mean them."""


def main(tools: Java, address: str) -> Journal:
    """Does it all. What the producer does not say (offsets, timestamps) is what the consumer says."""
    journal = Journal(CLIENT, group=GROUP)
    at = ("--bootstrap-server", address)
    tools.run("org.apache.kafka.tools.TopicCommand", *at, "--create", "--topic", TOPIC, "--partitions", "1")
    journal.created[TOPIC] = 1
    for codec in CODECS:
        options = ("--topic", TOPIC, "--compression-codec", codec, *_each("--reader-property", "key", "headers"))
        text = "".join(f"{line}\n" for _, line in LINES)
        tools.run("org.apache.kafka.tools.ConsoleProducer", *at, *options, text=text)
    _consume(journal, tools, at)
    _describe(journal, tools, at)
    return journal


def _each(option: str, *names: str) -> tuple[str, ...]:
    """The console's way to say that a line has, or shall have, these parts."""
    verb = "parse" if option == "--reader-property" else "print"
    return tuple(part for name in names for part in (option, f"{verb}.{name}=true"))


def _consume(journal: Journal, tools: Java, at: tuple[str, str]) -> None:
    count = len(LINES) * len(CODECS)
    options = ("--topic", TOPIC, "--group", GROUP, "--from-beginning", "--max-messages", str(count))
    shown = _each("--formatter-property", "timestamp", "partition", "offset", "headers", "key")
    printed = tools.run(
        "org.apache.kafka.tools.consumer.ConsoleConsumer", *at, *options, "--timeout-ms", "30000", *shown, timeout=60
    )
    for line in printed.splitlines():
        if not line.startswith("CreateTime:"):
            continue
        time_of, partition, offset, headers, key, value = line.split("\t")
        pairs = tuple((name, content.encode()) for name, content in (each.split(":") for each in headers.split(",")))
        place = (TOPIC, _number(partition), _number(offset))
        journal.consumed.append(said(place, _number(time_of), Sent(key.encode(), value.encode(), pairs)))
    sent = [record for _ in CODECS for record, _ in LINES]
    for got, record in zip(sorted(journal.consumed, key=lambda each: each.offset), sent, strict=True):
        journal.produced.append(said((TOPIC, got.partition, got.offset), got.timestamp, record))
    assert all(each.timestamp > FIRST for each in journal.consumed)


def _number(text: str) -> int:
    return int(text.partition(":")[2])


def _describe(journal: Journal, tools: Java, at: tuple[str, str]) -> None:
    printed = tools.run(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *at, "--describe", "--group", GROUP
    )
    for topic, partition, offset in re.findall(rf"^{GROUP}\s+(\S+)\s+(\d+)\s+(\d+)\s", printed, re.MULTILINE):
        journal.committed.append((topic, int(partition), int(offset)))
