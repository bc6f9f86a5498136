"""Where TLS records begin in bytes of one direction."""

from __future__ import annotations

import pytest

from analyzer.tls.records import find_first_record

DATA = b"\x17\x03\x03\x00\x04\x17\x03\x03\xff"
"""A record of application data, whose ciphertext looks like the beginning of a record that is too long."""


@pytest.mark.parametrize(
    ("data", "begin"),
    [
        pytest.param(b"", -1, id="nothing"),
        pytest.param(b"\x17\x03\x03\x00", -1, id="less than a header"),
        pytest.param(DATA, 0, id="one"),
        pytest.param(DATA[:7], 0, id="an incomplete one"),
        pytest.param(DATA + b"\x15\x03\x03\x00\x02\x01\x00", 0, id="two"),
        pytest.param(DATA[6:] + DATA, 3, id="the end of another before it"),
        pytest.param(b"\x00" * 40 + b"\x03", -1, id="none"),
        pytest.param(b"\x17\x03\x05\x00\x00", -1, id="no version of TLS"),
    ],
)
def test_the_first_record(data: bytes, begin: int) -> None:
    assert find_first_record(data) == begin
