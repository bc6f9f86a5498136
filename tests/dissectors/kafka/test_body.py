"""What becomes of frames that no table describes, and the lines for people."""

from __future__ import annotations

import pytest

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.wire import Secret
from tests.dissectors.trees import assert_tiles

KAFKA = Kafka()
TOKEN = "00000019 616c69636500616c69636500616c6963652d6d6164652d7570"


@pytest.mark.parametrize(
    ("frame", "context", "values", "codes"),
    [
        (TOKEN, Context(Role.RAW), {"payload": Secret(bytes.fromhex(TOKEN)[4:])}, []),
        ("00000000", Context(Role.RAW), {}, []),
        ("0000000d 00c8 0000 00000004 0003 6c6162", Context(Role.REQUEST, 200, 0), {},
         ["unknown-operation"]),
        ("0000000d 0012 ffff 00000004 0003 6c6162", Context(Role.REQUEST, 18, -1), {},
         ["unsupported-version"]),
        ("00000006 00000004 abcd", Context(Role.RESPONSE), {"payload": Secret(b"\xab\xcd")}, []),
        ("0000000f 0012 0008 00000001 ffff 00 02 61 02 62", Context(Role.REQUEST, 18, 8),
         {"clientSoftwareName": "a", "clientSoftwareVersion": "b"}, ["unsupported-version", "unsupported-version"]),
        ("00000015 000c 0006 00000001 ffff 00 02 67 00000003 02 6d 00 00", Context(Role.REQUEST, 12, 6),
         {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None}, ["unsupported-version"]),
        ("00000016 000c 0006 00000001 ffff 00 02 67 00000003 02 6d 00 00 ff", Context(Role.REQUEST, 12, 6),
         {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None, "_rest": b"\xff"},
         ["unsupported-version", "trailing-bytes"]),
        *(("00000010 0000002a 0023 00000001 0012 0000 0003", Context(Role.RESPONSE, 18, version),
           {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]}, ["version-refused"])
          for version in (0, 3, 4, 99)),
        ("000000", Context(Role.RAW), {}, ["malformed-body"]),
        ("", Context(Role.REQUEST, 3, 1), {}, ["malformed-body"]),
    ],
)  # fmt: skip
def test_without_a_layout(frame: str, context: Context, values: dict[str, object], codes: list[str]) -> None:
    data = bytes.fromhex(frame)
    body = KAFKA.values(data, context)
    assert body.values == values
    assert [finding.code for finding in body.findings] == codes
    assert_tiles(KAFKA.tree(data, context))


def test_a_token_is_in_no_line() -> None:
    body = KAFKA.values(bytes.fromhex(TOKEN), Context(Role.RAW))
    assert "made-up" not in KAFKA.info(body, Context(Role.RAW))
    assert "made-up" not in repr(body)


@pytest.mark.parametrize(
    ("code", "version", "role", "frame", "line"),
    [
        (3, 1, Role.REQUEST, "00000012 0003 0001 00000001 ffff 00000001 0002 6162", "ab"),
        (3, 1, Role.REQUEST, "0000000e 0003 0001 00000001 ffff ffffffff", "all topics"),
        (10, 0, Role.RESPONSE, "00000014 00000001 0000 00000001 0004 686f7374 00002384", "node 1, host:9092"),
        (12, 0, Role.RESPONSE, "00000006 00000001 001b", "REBALANCE_IN_PROGRESS"),
        (12, 0, Role.REQUEST, "00000014 000c 0000 00000001 ffff 0001 67 00000003 0001 6d",
         "group g, generation 3, member m"),
        (0, 0, Role.RESPONSE, "0000001d 00000001 00000001 0001 74 00000001 00000000 0003 ffffffffffffffff",
         "t[0 UNKNOWN_TOPIC_OR_PARTITION]"),
        (18, 3, Role.REQUEST, "00000010 0012 0003 00000001 ffff 00 02 61 02 62 00", "a b"),
        (19, 0, Role.REQUEST, "00000012 0013 0000 00000001 ffff 00000000 000003e8", "timeout 1 s"),
    ],
)  # fmt: skip
def test_lines(code: int, version: int, role: Role, frame: str, line: str) -> None:
    context = Context(role, code, version)
    body = KAFKA.values(bytes.fromhex(frame), context)
    assert "malformed-body" not in [finding.code for finding in body.findings]
    assert KAFKA.info(body, context) == line
