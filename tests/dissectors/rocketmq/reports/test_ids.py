"""What messages are called: offset ids, receipt handles, topics of retries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.rocketmq.reports.ids import (
    AckReceipt,
    Place,
    format_offset_id,
    parse_handle,
    parse_offset_id,
    parse_offset_ids,
    read_batch_receipts,
    read_properties,
    read_receipt,
    resolve_real_topic,
    resolve_retry_topic,
)

V4, V6 = "7F00000100002A9F0000000000006DA9", "00000000000000000000000000000001" + "00002A9F0000000000006DA9"


@pytest.mark.parametrize(
    ("id_", "place"),
    [
        (V4, ("127.0.0.1:10911", 0x6DA9, 0)),
        (V6, ("[::1]:10911", 0x6DA9, 0)),
        (V4[:-1] + "g", None),
        (V4[:-2] + "  ", None),
        (V4[:-2], None),
        ("", None),
    ],
)
def test_offset_ids(id_: str, place: Place | None) -> None:
    assert parse_offset_id(id_) == place
    if place is not None:
        assert format_offset_id(place) == id_


def test_ids_of_a_batch() -> None:
    assert [place[1] for place in parse_offset_ids(f"{V4},x,{V6}")] == [0x6DA9, 0x6DA9]
    assert parse_offset_ids(None) == []
    assert len(parse_offset_ids(",".join([V4] * 9999))) == 1024


@pytest.mark.parametrize("host", ["", "a:b", "localhost:1", "1.2.3.4", "1.2.3.4:99999999999"])
def test_hosts_that_are_no_address(host: str) -> None:
    assert format_offset_id((host, 0, 0)) is None


@given(
    st.tuples(
        st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16), st.binary(min_size=12, max_size=12)
    )
)
def test_every_id_comes_back(raw: tuple[bytes, bytes]) -> None:
    id_ = b"".join(raw).hex().upper()
    place = parse_offset_id(id_)
    assert place is not None
    assert format_offset_id(place) == id_


@pytest.mark.parametrize(
    ("topic", "kind", "lies"),
    [
        ("t", "0", "t"),
        ("t", "1", "%RETRY%g_t"),
        ("t", "2", "%RETRY%g+t"),
        ("t", "9", "t"),
        ("%RETRY%g_t", "1", "%RETRY%g_t"),
        (None, "1", None),
    ],
)
def test_topics_of_retries(topic: str | None, kind: str, lies: str | None) -> None:
    assert resolve_retry_topic(topic, "g", kind) == lies
    assert resolve_real_topic(lies, "g", {}) == ("t" if topic else None)


def test_a_topic_of_retries_says_in_its_messages_what_they_were_sent_to() -> None:
    assert resolve_real_topic("%RETRY%g", "g", {"RETRY_TOPIC": "t"}) == "t"
    assert resolve_real_topic("%RETRY%g", "g", {}) == "%RETRY%g"


def test_handles() -> None:
    text = "5 1795270002799 12000 0 1 broker-a 3 8"
    handle = parse_handle(text)
    assert handle == (5, 1795270002799, 12000, 0, "1", "broker-a", 3, 8)
    assert handle is not None
    assert handle.text == text
    for at in range(len(text)):
        cut = parse_handle(text[:at])
        assert cut is None or cut.text == text[:at]


@pytest.mark.parametrize(
    "text", [None, "", "a 1 2 3 0 b 4 5", "0 1 2 3 0 b 4 5 6", "0 1 2 3 0 b 4 -5", f"{'9' * 19} 1 2 3 0 b 4 5"]
)
def test_what_is_no_handle(text: str | None) -> None:
    assert parse_handle(text) is None


def test_an_acknowledgement_without_a_handle_says_no_time() -> None:
    header = {"consumerGroup": "g", "topic": "t", "queueId": 1, "offset": 2}
    assert read_receipt(header) == AckReceipt("g", "t", 1, 2, None)
    assert read_receipt({**header, "extraInfo": "0 9 2 3 2 b 4 5"}) == AckReceipt("g", "%RETRY%g+t", 1, 2, 9)
    assert read_receipt({}) == AckReceipt(None, None, 0, 0, None)


@pytest.mark.parametrize(
    ("bits", "offsets"),
    [("DA==", [7, 8]), ("AAE=", [13]), ("", []), ("=", []), ("DA", []), (None, []), (12, []), ("/" * 8000, [])],
)
def test_bits_of_many_acknowledgements(bits: object, offsets: list[int]) -> None:
    found = list(read_batch_receipts({"acks": [{"c": "g", "t": "t", "q": 1, "so": 5, "pt": 9, "b": bits}, "x"]}))
    assert found == [AckReceipt("g", "t", 1, offset, 9) for offset in offsets]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("a\x01b\x02c\x01\x02", {"a": "b", "c": ""}),
        ("a", {"a": ""}),
        ("\x02\x02", {}),
        ({"a": "b"}, {"a": "b"}),
        (None, {}),
        (b"a\x01b", {}),
    ],
)
def test_properties(raw: object, found: dict[str, str]) -> None:
    assert read_properties(raw) == found
