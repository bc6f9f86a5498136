"""Capture filters and display filters are told apart, and a capture filter is translated."""

from __future__ import annotations

import pytest

from analyzer.query.filter import compile_filter
from analyzer.query.filter.capture_filter import is_display_filter, translate_capture_filter


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("port 9092", "tcp.port == 9092"),
        ("tcp port 9092 or tcp port 2181", "tcp.port == 9092 or tcp.port == 2181"),
        ("ip6 host ::1 and not src port 22", "ip.addr == ::1 and not tcp.srcport == 22"),
        ("tcp and (dst host 10.0.0.1 or port 9092)", "(ip.dst == 10.0.0.1 or tcp.port == 9092)"),
    ],
)
def test_a_capture_filter_is_translated(text: str, meant: str) -> None:
    assert translate_capture_filter(text) == meant
    assert compile_filter(meant).fields


@pytest.mark.parametrize("text", ["port == 9092", "kafka.host contains x", "client == port", "port in {1 2}", "error"])
def test_a_display_filter_is_not_taken_for_one(text: str) -> None:
    assert translate_capture_filter(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kafka.topic == a", True),
        ("latency > 50ms", True),
        ("operation contains Fetch", True),
        ("operation in {Fetch Produce}", True),
        ("tcp port 9092", False),
        ("host broker-1.example.org and not port 22", False),
        ("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", False),
        ("ip[2:2] > 576", False),
        ("tcp[13] == 2", False),
        ("len > 100", False),
        ("greater 100", False),
        ("ether proto 0x0800 and ip[0] & 0xf != 5", False),
        ("", False),
    ],
)
def test_what_sniff_refuses_as_a_display_filter(text: str, expected: bool) -> None:
    assert is_display_filter(text) is expected
