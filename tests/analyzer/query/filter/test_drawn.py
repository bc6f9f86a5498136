"""What can be asked is drawn: a new operator or field that no random filter has would be tested by nobody."""

from __future__ import annotations

import pytest

from analyzer.query.fields.keys import FIELDS
from analyzer.query.filter.operators import IN, OPERATORS, SYMBOLS
from tests.analyzer.query.filter import drawing
from tests.fuzz import test_filters as fuzz

pytestmark = pytest.mark.xdist_group("filters")

SAID_BY_OTHERS = {"comment", "name", "source.name", "destination.name"}
"""Fields of pcapng blocks that no bundled capture has: tests/analyzer/messages has tests of them."""

SAID_BY_STREAMS = {
    *("retransmissions", "packets", "tcp.rtt_ns", "tcp.client_rtt_ns", "tcp.server_rtt_ns", "tcp.ack_rtt_ns"),
    *("tcp.retransmissions", "tcp.retransmission_time_ns", "tcp.zero_window", "tcp.zero_window_time_ns", "tcp.reset"),
    *("tls.version", "tls.cipher", "tls.sni", "tls.alpn", "tls.ja4"),
    *("client.process", "client.pid", "server.process", "server.pid", "slow"),
}
"""What no printed row has, so that the oracle cannot know it.

tests/analyzer/decode/test_packets.py, and test_network.py, test_slow.py and test_tls.py of tests/analyzer/query/fields,
and tests/analyzer/live/test_processes.py test them.
"""

DRAWN_BY_NAME = {"contains", IN, f"not_{IN}"}


def test_every_operator_is_drawn() -> None:
    spellings = {each for some in drawing._SPELLINGS.values() for each in some} | {"<", "<=", ">", ">="}
    assert {*OPERATORS, *SYMBOLS, IN} - spellings - DRAWN_BY_NAME == set()


def test_every_operator_is_in_the_texts_of_the_fuzz_tests() -> None:
    assert {*OPERATORS, *SYMBOLS, IN} - set(fuzz.OPERATORS) - {"all_eq", "any_ne"} == set()


def test_every_field_of_rows_is_drawn() -> None:
    assert set(FIELDS) - set(drawing.KEYS) == SAID_BY_OTHERS | SAID_BY_STREAMS
