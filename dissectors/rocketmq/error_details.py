"""Details of refused requests: offsets that queues do not have, the access key, and what the server says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.rocketmq.summaries import format_reason
from dissectors.values import number, shorten, struct, text

_TELLING = frozenset(
    {
        *("SYSTEM_ERROR", "ILLEGAL_OPERATION", "INVALID_PARAMETER", "CONTROLLER_INVALID_REQUEST", "TRANSACTION_FAILED"),
        *("FLOW_CONTROL", "SERVICE_NOT_AVAILABLE", "SUBSCRIPTION_PARSE_FAILED"),
    }
)
"""Errors of which the remark in the answer tells more than their names do."""


def describe_error(error: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Describes what was asked for; None where there is nothing to tell."""
    header, fields = struct(request, "header"), struct(request, "extFields")
    if error == "PULL_OFFSET_MOVED" and "queueOffset" in header:
        answer_header, group = struct(answer, "header"), text(header, "consumerGroup")
        queue = f"{text(header, 'topic')}[{number(header, 'queueId')}]"
        sentence = f"Group {group} asked for offset {number(header, 'queueOffset'):,} of {queue}"
        if "maxOffset" in answer_header:
            sentence += (
                f"; the queue has {number(answer_header, 'minOffset'):,} to {number(answer_header, 'maxOffset'):,}"
            )
        if "nextBeginOffset" in answer_header:
            sentence += f"; the client goes on at {number(answer_header, 'nextBeginOffset'):,}"
        return f"{sentence}."
    remark = text(answer, "remark") or ""
    if error == "NO_PERMISSION" or "AclException" in remark:
        user = text(fields, "AccessKey")
        who = "The request names no access key" if user is None else f"The request has the access key {user}"
        why = remark.partition("AclException:")[2].partition(", org.apache")[0].strip() or remark.partition("\n")[0]
        return f"{who}; the server says: {shorten(why)}" if why else f"{who}."
    reason = format_reason(remark) if error in _TELLING else None
    return None if reason is None else f"the server says: {reason}"
