"""What is wrong in one command, or will be: refusals and why, fields that are missing, messages that are given up.

Facts. A response code says what went wrong, the remark often why: brokers that throw requests away name the reason in
brackets (BrokerFastFailure, NettyRemotingAbstract), pulls have the name of a GetMessageStatus, and before version 5
access control answered SYSTEM_ERROR with the name of its exception. Java refuses a header class whose fields with
CFNotNull are not all there (RemotingCommand.decodeCommandCustomHeader). A consumer gives a message up by sending it
back with a delay level below zero, or by sending it to its retry topic once more than it may (SendMessageProcessor).
tables/notices.json has the sentences.

Values may have holes (dissectors.holes); an answer that something is said of stands for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from dissectors.api import Context, Role
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.codes import operations, wrapped_codes
from dissectors.rocketmq.command import BINARY, SERIALIZE
from dissectors.rocketmq.extfields import required
from dissectors.rocketmq.tables import table

RETRY = "%RETRY%"
"""What topics begin with that a group's messages wait in to be delivered again; the group's name is behind it."""

_UNKNOWN = "?"

Values = Mapping[str, Any]


def of_values(error: tuple[int, str] | None, values: Values, context: Context) -> tuple[Finding, ...]:
    """What there is to say of a command whose header could be read; error: what it reports (Body.error)."""
    if context.role is Role.RESPONSE:
        return (*_missing(values, context, True),) if error is None else (*_refusal(error[1], values),)
    operation = None if context.code is None else operations().get(context.code)
    say = None if operation is None else _SAID.get(operation.name)
    found = (*_wrapped(values, context), *_missing(values, context, False))
    return found if say is None else (*found, *say(values))


def _refusal(name: str, values: Values) -> Iterator[Finding]:
    rows = table("notices")["answers"].get(name, ())
    remark = values.get("remark") if rows else None
    for mark, code, severity, text in rows:
        if not mark or (isinstance(remark, str) and mark in remark):
            place = values["extFields"].get("nextBeginOffset", _UNKNOWN)
            yield Finding(Severity[severity.upper()], code, text.format(next=place))
            return


def _missing(values: Values, context: Context, response: bool) -> Iterator[Finding]:
    """Of an answer that reports an error nothing is missing: such have no header class."""
    wanted, ext = required(context.code, response), values["extFields"]
    if wanted <= ext.keys():
        return
    names = " and ".join(sorted(wanted - ext.keys()))
    owner = "the answer" if response else "the request"
    yield Finding(Severity.WARNING, "missing-field", table("notices")["missing"].format(names=names, owner=owner))


def _wrapped(values: Values, context: Context) -> Iterator[Finding]:
    if context.code in _wide() and values["serialize"] == SERIALIZE[BINARY]:
        text = table("notices")["wrapped"].format(code=context.code, binary=_wide()[context.code])
        yield Finding(Severity.WARNING, "operation-refused", text)


@cache
def _wide() -> Mapping[int | None, int]:
    return {code: binary for binary, code in wrapped_codes().items()}


def _given_up(values: Values) -> Iterator[Finding]:
    header = values.get("header") or {}
    level = header.get("delayLevel")
    if isinstance(level, int) and level < 0:
        text = table("notices")["given"].format(group=header.get("group", _UNKNOWN))
        yield Finding(Severity.NOTE, "given-up", text)


def _spent(values: Values) -> Iterator[Finding]:
    header = values.get("header") or {}
    topic, times, most = (header.get(name) for name in ("topic", "reconsumeTimes", "maxReconsumeTimes"))
    if not (isinstance(times, int) and isinstance(most, int)) or times <= 0:
        return
    if times > most and isinstance(topic, str) and topic.startswith(RETRY):
        text = table("notices")["spent"].format(times=times, most=most, group=topic[len(RETRY) :])
        yield Finding(Severity.NOTE, "given-up", text)


_SAID: Mapping[str, Callable[[Values], Iterator[Finding]]] = {
    "SEND_MESSAGE": _spent,
    "SEND_MESSAGE_V2": _spent,
    "CONSUMER_SEND_MSG_BACK": _given_up,
}
