"""Filters are the kernel's, and what is wrong with one is a sentence."""

from __future__ import annotations

import pytest

from analyzer.errors import CaptureError
from analyzer.live.classic_filter import (
    ASK_KIND,
    ASK_PROTOCOL,
    COOKED,
    ETHERNET,
    LOADS,
    LONGEST,
    RAW,
    RETURN,
    compile_expression,
    encode_program,
    make_program,
)
from tests.needs import LIBPCAP


@pytest.mark.parametrize("expression", ["", "tcp port 9092", "arp or ip6"])
@pytest.mark.parametrize("link", [ETHERNET, RAW, COOKED])
@pytest.mark.parametrize("snaplen", [0, 96])
@LIBPCAP
def test_it_keeps_as_much_as_is_requested(expression: str, link: int, snaplen: int) -> None:
    found = make_program(expression, link, snaplen)
    assert {each.operand for each in found if each.code == RETURN} == {0, snaplen or LONGEST}
    assert len(encode_program(found)) == 8 * len(found)


@LIBPCAP
def test_a_cooked_one_asks_for_what_stands_before_the_packet() -> None:
    plain, found = compile_expression("tcp port 9092", COOKED), make_program("tcp port 9092", COOKED, 0)
    before = [each.operand for each in plain if each.code in LOADS]
    after = [each.operand for each in found[-len(plain) :] if each.code in LOADS]
    assert after == [ASK_PROTOCOL if place == 14 else place - 16 for place in before]
    assert ASK_KIND in {each.operand for each in make_program("inbound", COOKED, 0)[5:]}


@pytest.mark.parametrize(
    ("expression", "link", "text"),
    [
        ("tcp prt 1", ETHERNET, "-f tcp prt 1: can't parse filter expression: syntax error"),
        ("ether host 00:11:22:33:44:55", COOKED, "-f ether host 00:11:22:33:44:55: ethernet addresses supported only"),
        ("link[6:2] = 5", COOKED, "-f link[6:2] = 5: The filter has link-layer addresses"),
        ("vlan 5", COOKED, "-f vlan 5: VLANs can be filtered on a single interface only"),
        ("port 99999999", RAW, "-f port 99999999: "),
    ],
)
@LIBPCAP
def test_what_is_wrong_is_reported(expression: str, link: int, text: str) -> None:
    with pytest.raises(CaptureError) as raised:
        make_program(expression, link, 0)
    assert str(raised.value).startswith(text)
    assert "\n" not in str(raised.value)
