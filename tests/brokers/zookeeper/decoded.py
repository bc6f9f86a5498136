"""What wireanalyze reads from a recording, in the words of a client's journal; and how many bytes there were to read.

Everything comes from the rows that `list --format ndjson --fields` prints, but for the bytes: those another program
counts (scapy), by the numbers of segments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scapy.layers.inet import IP, TCP
from scapy.utils import PcapReader

from tests.brokers.kafka.decoded import Row
from tests.brokers.zookeeper.journal import Event, Step

UNASKED = {"connect", "ping", "auth", "sasl", "setWatches", "setWatches2"}
"""What clients send by themselves."""


def steps(rows: Sequence[Row], session: str) -> list[Step]:
    """What was asked in a session and answered, in the order of asking."""
    answers = {row["partner"]: row for row in rows if row["role"] == "response"}
    return [
        Step(row["operation"], row["fields"], answer["fields"]["err"], answer["fields"])
        for row in rows
        if row["protocol"] == "zookeeper" and row["client"] == session and row["role"] == "request"
        if row["operation"] not in UNASKED and (answer := answers.get(row["number"])) is not None
    ]


def events(rows: Sequence[Row], session: str) -> list[Event]:
    """What the watches of a session told it."""
    return [
        Event(*(row["fields"][name] for name in Event._fields))
        for row in rows
        if row["operation"] == "notification" and row["client"] == session
    ]


def said(rows: Sequence[Row], word: str) -> list[str]:
    """All answers to a four-letter word."""
    return [row["fields"]["text"] for row in rows if row["operation"] == word and row["role"] == "response"]


def bytes_in_rows(rows: Sequence[Row]) -> Counter[tuple[str, str]]:
    """The bytes of all messages from one address to another."""
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        found[row["source"], row["destination"]] += row["length"]
    return found


def bytes_in_segments(capture: Path) -> Counter[tuple[str, str]]:
    """The bytes that TCP carried from one address to another, each once, however often it was sent."""
    found: Counter[tuple[str, str]] = Counter()
    begun: dict[tuple[str, str], tuple[int, int]] = {}
    with PcapReader(str(capture)) as packets:
        for packet in packets:
            if TCP not in packet:
                continue
            ip, tcp = packet[IP], packet[TCP]
            way = f"{ip.src}:{tcp.sport}", f"{ip.dst}:{tcp.dport}"
            if tcp.flags.S:
                # A connection of these addresses that came before is over.
                _, carried = begun.get(way, (0, 0))
                found[way] += carried
                begun[way] = tcp.seq + 1, 0
            size = ip.len - 4 * ip.ihl - 4 * tcp.dataofs
            if size:
                first, carried = begun[way]
                begun[way] = first, max(carried, (tcp.seq - first) % 2**32 + size)
    for way, (_, carried) in begun.items():
        found[way] += carried
    return found
