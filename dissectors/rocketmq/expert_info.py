"""Expert info of one command: refusals and their cause, missing fields, messages that are given up.

Facts. A response code tells what went wrong, the remark often why. Brokers that drop requests give the reason in
brackets (BrokerFastFailure, NettyRemotingAbstract), pulls have the name of a GetMessageStatus, and before version 5
access control answered SYSTEM_ERROR with the name of its exception. Java refuses a header class if one of its fields
with CFNotNull is missing (RemotingCommand.decodeCommandCustomHeader). A consumer gives a message up by sending it back
with a delay level below zero, or by sending it to its retry topic once too often (SendMessageProcessor).
tables/expert_info.json has the conditions and sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.codes import find_required, map_binary_codes, operations
from dissectors.rocketmq.labels import RETRY
from dissectors.rocketmq.tables import table
from dissectors.wire.expert_info import ExpertInfo, ExpertInfoTable, compile_expert_info, compile_first
from dissectors.wire.summary import Summaries, of_plain

_SUMMARIES = Summaries(formatters={"group": of_plain(str, lambda topic: topic.removeprefix(RETRY))})


@lru_cache(maxsize=1024)
def find_expert_info(role: Role, code: int | None, error: str | None) -> ExpertInfoTable:
    """Returns the conditions to check in commands of an operation; error: the name of a reported error."""
    return ExpertInfoTable(
        tuple(_list_answer_infos(code, error) if role is Role.RESPONSE else _list_request_infos(code))
    )


def _list_answer_infos(code: int | None, error: str | None) -> Iterator[ExpertInfo]:
    """Of one that reports an error nothing is missing: such have no header class."""
    if error is None:
        yield _make_missing_field_info(code, True)
    else:
        yield compile_first(_SUMMARIES, table("expert_info")["answers"].get(error, ()))


def _list_request_infos(code: int | None) -> Iterator[ExpertInfo]:
    content = table("expert_info")
    if code in _map_wide_codes():
        row = content["wrapped"]
        yield compile_expert_info(
            _SUMMARIES, row | {"text": row["text"].format(code=code, binary=_map_wide_codes()[code])}
        )
    yield _make_missing_field_info(code, False)
    operation = None if code is None else operations().get(code)
    for row in content["requests"].get(operation.name, ()) if operation is not None else ():
        yield compile_expert_info(_SUMMARIES, row)


@cache
def _map_wide_codes() -> Mapping[int | None, int]:
    return {code: binary for binary, code in map_binary_codes().items()}


def _make_missing_field_info(code: int | None, response: bool) -> ExpertInfo:
    wanted = find_required(code, response)

    def find_missing(values: Mapping[str, Any]) -> Iterator[Finding]:
        missing = wanted - values["extFields"].keys()
        if missing:
            owner = "the answer" if response else "the request"
            text = table("expert_info")["missing"].format(names=" and ".join(sorted(missing)), owner=owner)
            yield Finding(Severity.WARNING, "missing-field", text)

    return ExpertInfo("", find_missing, sentence=True)
