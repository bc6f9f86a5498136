"""What is said of one command: refusals and why, missing fields, wide codes, given-up messages; alike by both ways."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.finding import CODES, Severity
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.codes import find_header_class, find_required, find_response_name, operations
from dissectors.rocketmq.message import fold_tree
from dissectors.rocketmq.tables import table
from tests.dissectors.rocketmq.frames import binary, command, frame, pair
from tests.dissectors.trees import assert_tiles

ROCKETMQ = RocketMQ()
NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR
SENT, PULLED, ASKED = Context(Role.RESPONSE, 310), Context(Role.RESPONSE, 11), Context(Role.RESPONSE, None)
GIVEN: Any = dict.fromkeys(find_required(310, True), "1")
SEND, BACK, POP = Context(Role.REQUEST, 310), Context(Role.REQUEST, 36), Context(Role.REQUEST, 200050)


def answer(code: int, remark: str | None = None, version: int = 513, **ext: str) -> bytes:
    members = {"code": code, "extFields": ext, "flag": 1, "language": "JAVA", "opaque": 7, "remark": remark}
    return frame(json.dumps(members | {"version": version}).encode())


def all_of(code: int) -> dict[str, Any]:
    """A value for each field that a request must have."""
    return dict.fromkeys(find_required(code, False), "1")


def sent(topic: str, times: str | None, most: str | None) -> bytes:
    reported: dict[str, Any] = {"b": topic, "j": times, "l": most}
    return command(310, **(all_of(310) | {name: value for name, value in reported.items() if value is not None}))


def wide(code: int) -> bytes:
    return binary(code, b"".join(pair(name.encode(), b"1") for name in find_required(200050, False)))


@dataclass(frozen=True)
class Case:
    """A message, and of each of its findings severity, code and part of the text."""

    name: str
    message: bytes
    context: Context
    found: tuple[tuple[Severity, str, str], ...] = ()

    def __str__(self) -> str:
        return self.name


CASES = [
    *(Case(f"busy, {mark}", answer(2, f"[{mark}]broker busy, start flow control for a while"), SENT,
           ((WARNING, "system-busy", said),))
      for mark, said in (("TIMEOUT_CLEAN_QUEUE", "waited too long for a thread"),
                         ("PCBUSY_CLEAN_QUEUE", "dropped waiting requests"), ("PC_SYNCHRONIZED", "refuses to store"),
                         ("REJECTREQUEST", "buffers in memory"), ("OVERLOAD", "queue of requests is full"),
                         ("NEWS", "must send it again later"))),
    Case("busy, no reason", answer(2), SENT, ((WARNING, "system-busy", "must send it again later"),)),
    Case("busy, a remark that is no text",
         frame(b'{"code":2,"flag":1,"language":"GO","opaque":1,"remark":[1],"version":1}'), SENT,
         ((WARNING, "system-busy", "must send it again later"),)),
    Case("not on the disk", answer(10), SENT, ((WARNING, "weakly-stored", "SYNC_FLUSH"),)),
    Case("no slave", answer(11), SENT, ((WARNING, "weakly-stored", "no slave is there"),)),
    Case("slave too slow", answer(12), SENT, ((WARNING, "weakly-stored", "no slave had copied it"),)),
    Case("illegal", answer(13, "too big"), SENT, ((WARNING, "message-refused", "accept it later: too big"),)),
    Case("too large", answer(13, "the message is illegal, msg body length limit 4B"), SENT,
         ((WARNING, "message-refused", "larger than the broker takes"),)),
    Case("full", answer(14), SENT, ((WARNING, "storage-failed", "its disk is full"),)),
    Case("forbidden", answer(16), SENT, ((WARNING, "access-refused", "an access rule"),)),
    Case("forbidden before version 5", answer(1, "org.apache.rocketmq.acl.common.AclException: No accessKey", 401),
         SENT, ((ERROR, "access-refused", "access control refuses"),)),
    Case("another error", answer(1, "java.lang.NullPointerException"), SENT),
    Case("not known", answer(3), SENT, ((WARNING, "operation-refused", "did not fit into a binary header"),)),
    Case("deleted", answer(21, "OFFSET_TOO_SMALL", nextBeginOffset="40"), PULLED,
         ((WARNING, "offset-moved", "deleted before the group read them"),)),
    Case("beyond", answer(21, "OFFSET_OVERFLOW_BADLY", nextBeginOffset="7"), PULLED,
         ((WARNING, "offset-moved", "beyond the end of the queue"),)),
    Case("reset", answer(21, "OFFSET_RESET"), ASKED,
         ((NOTE, "offset-moved", "was reset at the broker"),)),
    Case("moved, no reason", answer(21, nextBeginOffset="0"), PULLED, ((NOTE, "offset-moved", "has no such offset"),)),
    Case("nothing there", answer(19, "OFFSET_OVERFLOW_ONE"), PULLED),
    Case("again", answer(20), PULLED),
    Case("no such topic", answer(17), SENT),
    Case("not subscribed", answer(24), PULLED, ((WARNING, "stale-subscription", "no heartbeat has brought it"),)),
    Case("subscribed before", answer(25), PULLED, ((NOTE, "stale-subscription", "an older subscription"),)),
    Case("flow control", answer(215), SENT, ((WARNING, "throttled", "must wait before it asks again"),)),
    Case("polls", answer(209), Context(Role.RESPONSE, 200050), ((NOTE, "throttled", "maxPopPollingSize"),)),
    Case("the same number before version 5", answer(209, version=401), Context(Role.RESPONSE, 50)),
    Case("no longer waiting", answer(210), Context(Role.RESPONSE, 200050)),
    Case("an error of no name", answer(4711), SENT),
    Case("done", answer(0, **GIVEN), SENT),
    Case("done, but not said where", answer(0, msgId="1"), SENT,
         ((WARNING, "missing-field", "no queueId and queueOffset, without which the answer is refused"),)),
    Case("a header without its fields", command(38), Context(Role.REQUEST, 38),
         ((WARNING, "missing-field", "no consumerGroup, without which the request is refused"),)),
    Case("null is no field",
         frame(b'{"code":38,"extFields":{"consumerGroup":null},"flag":0,"language":"GO","opaque":1,"version":1}'),
         Context(Role.REQUEST, 38), ((WARNING, "missing-field", "no consumerGroup"),)),
    Case("one of an unknown class", command(13), Context(Role.REQUEST, 13)),
    Case("a wide code in 16 bits", wide(3442), POP,
         ((WARNING, "operation-refused", "200050 does not fit into the 16 bits"),)),
    Case("a wide code in JSON", command(200050, **all_of(200050)), POP),
    Case("given up", command(36, **(all_of(36) | {"delayLevel": "-1", "group": "g"})), BACK,
         ((NOTE, "given-up", "into the dead-letter queue of g"),)),
    Case("back for later", command(36, **(all_of(36) | {"delayLevel": "0"})), BACK),
    Case("a level that is none", command(36, **(all_of(36) | {"delayLevel": "x"})), BACK,
         ((WARNING, "malformed-body", "delayLevel is no int"),)),
    Case("once too often", sent("%RETRY%g", "17", "16"), SEND,
         ((NOTE, "given-up", "again 17 times, more than the 16 that its group allows: the broker puts"),)),
    Case("the last time", sent("%RETRY%g", "16", "16"), SEND),
    Case("for the first time", sent("%RETRY%g", "0", "-1"), SEND),
    Case("not to a retry topic", sent("orders", "17", "16"), SEND),
    Case("no bound", sent("%RETRY%g", "17", None), SEND),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_findings(case: Case) -> None:
    body, tree = ROCKETMQ.values(case.message, case.context), ROCKETMQ.tree(case.message, case.context)
    assert_tiles(tree)
    assert fold_tree(tree, case.context) == body
    assert [(each.severity, each.code) for each in body.findings] == [found[:2] for found in case.found]
    for each, (_, _, text) in zip(body.findings, case.found, strict=True):
        assert text in each.text


def test_of_a_header_that_is_not_all_there_nothing_is_missing() -> None:
    whole = command(38)
    for end in range(len(whole)):
        assert "missing-field" not in {
            each.code for each in ROCKETMQ.values(whole[:end], Context(Role.REQUEST, 38)).findings
        }


def test_an_answer_with_a_broken_body_is_explained_too() -> None:
    refused = answer(2)
    longer = (len(refused) - 3).to_bytes(4) + refused[4:] + b"{"
    found = ROCKETMQ.values(longer, Context(Role.RESPONSE, 106)).findings
    assert [each.code for each in found] == ["system-busy", "malformed-body"]


def test_tables() -> None:
    names = {find_response_name(code, 513) for code in range(-2000, 5000)}
    for name, rows in table("expert_info")["answers"].items():
        assert name in names
        conditions = [row.get("when") for row in rows]
        assert len(set(conditions)) == len(conditions)
        assert None not in conditions[:-1], "what is behind a row without a condition is never said"
        assert all(row["code"] in CODES for row in rows)
    for code in operations():
        for response in (False, True):
            assert find_required(code, response) <= (find_header_class(code, response) or {}).keys()
    assert find_required(310, False) == set("abcdefgh")
