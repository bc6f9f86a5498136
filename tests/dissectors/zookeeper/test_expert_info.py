"""Findings of one message: sessions that are gone, packets too large, words that are refused."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.finding import Severity
from dissectors.wire.message import fold_tree
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.labels import error_name, load_numbers
from dissectors.zookeeper.recipes import MAXBUFFER, NEAR
from tests.dissectors.trees import assert_tiles
from tests.dissectors.zookeeper.messages import buffer, connect, connected, get_data, reply, request, ustring

ZOOKEEPER = ZooKeeper()
NOBODY = Context(Role.RESPONSE)


def set_data(size: int) -> tuple[bytes, Context]:
    """A request whose frame says that it has so many bytes."""
    empty = request(1, "setData", ustring("/big") + buffer(b"") + bytes(4))
    message = request(1, "setData", ustring("/big") + buffer(bytes(size - len(empty) + 4)) + bytes(4))
    return message, Context(Role.REQUEST, load_numbers("operation")["setData"])


def said(message: bytes, context: Context) -> list[tuple[Severity, str, str]]:
    body, tree = ZOOKEEPER.values(message, context), ZOOKEEPER.tree(message, context)
    assert_tiles(tree)
    assert fold_tree(tree, error_name if body.error else None).findings == body.findings
    return [(each.severity, each.code, each.text) for each in body.findings]


@pytest.mark.parametrize(
    ("message", "expired"),
    [
        (connected(5), False),
        (connected(5, 0), True),
        (connected(0, 0, bytes(16)), True),
        (connected(0, 0, None, b""), True),
    ],
)
def test_a_session_that_has_ended(message: bytes, expired: bool) -> None:
    found = said(message, NOBODY)
    assert [each[:2] for each in found] == [(Severity.WARNING, "session-expired")] * expired


def test_who_asks_for_a_session_has_none_yet() -> None:
    assert said(connect(), Context(Role.REQUEST)) == []


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (NEAR, None),
        (NEAR + 1, (Severity.NOTE, "943,718 bytes for /big are 90 % of the default")),
        (MAXBUFFER, (Severity.NOTE, "1,048,575 bytes for /big are 100 % of the default")),
        (MAXBUFFER + 1, (Severity.WARNING, "1,048,576 bytes for /big are more than the default")),
    ],
)
def test_large_requests(size: int, expected: tuple[Severity, str] | None) -> None:
    found = said(*set_data(size))
    if expected is None:
        assert found == []
        return
    ((severity, code, text),) = found
    assert (severity, code) == (expected[0], "oversized-packet")
    assert text.startswith(expected[1])


@pytest.mark.slow
def test_large_answers_and_multis_have_no_path() -> None:
    context = Context(Role.RESPONSE, load_numbers("operation")["getChildren"])
    ((_, code, text),) = said(reply(1, (MAXBUFFER // 4).to_bytes(4) + bytes(MAXBUFFER // 4 * 4)), context)
    assert (code, text.partition(" are ")[0]) == ("oversized-packet", "1,048,592 bytes")
    assert "a client closes" in text.replace("such a", "a")
    multi = request(1, "multi", b"?" * NEAR)
    assert [each[1] for each in said(multi, Context(Role.REQUEST, 14))] == ["oversized-packet", "trailing-bytes"]


def test_a_cut_packet_is_as_large_as_it_says() -> None:
    message, context = set_data(NEAR + 1)
    for end in (3, 4, 11):
        assert "oversized-packet" not in [each.code for each in ZOOKEEPER.values(message[:end], context).findings]
    for end in (12, 17, 18, 22, 5000):
        found = [each.text for each in ZOOKEEPER.values(message[:end], context).findings]
        path = "/big"[: max(end - 16, 0)]
        assert found[0].startswith(f"943,718 bytes{f' for {path}' if path else ''} are 90 %")


def test_a_large_packet_is_no_example_for_small_ones() -> None:
    """Alike rows are printed together, findings and all, so a large one is alike to none."""
    message, context = set_data(NEAR + 1)
    assert ZOOKEEPER.template(message, context, None) is None
    small = ZOOKEEPER.template(get_data(1), Context(Role.REQUEST, load_numbers("operation")["getData"]), None)
    assert small is not None
    assert any(each.name == "gt" and each.other == NEAR and not each.outcome for each in small.builder.conditions)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (b"mntr is not executed because it is not in the whitelist.\n", ["word-refused"]),
        (b"This ZooKeeper instance is not currently serving requests\n", []),
        (b"zk_version\t3.9\nzk_x\t1 is not executed because it is not in the whitelist." + b"." * 80, []),
    ],
)
def test_words_that_are_refused(text: bytes, codes: list[str]) -> None:
    if len(text) > 100:
        text = b"#" * 80 + text
    assert [each[1] for each in said(text, NOBODY)] == codes
