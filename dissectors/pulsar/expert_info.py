"""Expert info of one message: refused or closed producers and consumers, frames that are too large.

Facts. A broker accepts frames up to maxMessageSize (5 MiB by default, Commands.DEFAULT_MAX_MESSAGE_SIZE) plus 10 KiB
for the parts around the message (MESSAGE_SIZE_FRAME_PADDING), length prefix included. CONNECTED tells clients another
limit, which they apply too. Both sides close the connection instead of reading a larger frame. CLOSE_PRODUCER and
CLOSE_CONSUMER come from brokers that unload, delete or terminate a topic, or that reject a client; newer ones name the
broker that has the topic now. A SEEK closes the subscription's consumers, too (PersistentSubscription, resetCursor). An
ACK with a validation_error is for a message that the client library dropped. tables/expert_info.json has the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any

from dissectors.api import Context, Role, Values
from dissectors.field import Tree
from dissectors.finding import Finding, Severity
from dissectors.pulsar.commands import Command, commands
from dissectors.pulsar.summaries import SUMMARIES
from dissectors.pulsar.tables import table
from dissectors.values import shorten, text
from dissectors.wire.expert_info import ExpertInfo, ExpertInfoTable, compile_expert_info, compile_first
from dissectors.wire.specs import members
from dissectors.wire.summary import Summaries

MAX_MESSAGE = 5 * 1024 * 1024
PADDING = 10 * 1024
LIMIT = MAX_MESSAGE + PADDING
"""Bytes of a frame, its first size among them, that are taken by default."""

SIZE = 4
"""Bytes of that size, which does not count itself."""


def collect_findings(command: Command | None, values: Values, context: Context, size: Any) -> tuple[Finding, ...]:
    """Returns the findings of a message; `size`: its frame's first number. Values may be symbolic."""
    found = _report_oversized(size) if size > LIMIT - SIZE else ()
    table = None if command is None else _compile_table(command.code, context.role)
    return found if table is None else (*found, *table(values))


def collect_tree_findings(command: Command | None, tree: Tree, context: Context) -> tuple[Finding, ...]:
    """Collects the findings of a tree whose first nodes are the frame's size, the command's size and the command."""
    if not tree.fields or not isinstance(tree.fields[0].value, int):
        return ()
    has_table = command is not None and _compile_table(command.code, context.role) is not None
    return collect_findings(command, members(tree.fields[2:3]) if has_table else {}, context, tree.fields[0].value)


def _report_oversized(size: int) -> tuple[Finding, ...]:
    text = table("expert_info")["large"].format(size=size + SIZE, limit=LIMIT)
    return (Finding(Severity.NOTE, "oversized-frame", text),)


@lru_cache(maxsize=512)
def _compile_table(code: int, role: Role) -> ExpertInfoTable | None:
    """What to look for in a command of one role; None where there is nothing."""
    found = tuple(_compile_rows(commands()[code], role))
    return ExpertInfoTable(found) if found else None


def _compile_rows(command: Command, role: Role) -> Iterator[ExpertInfo]:
    if command.error is not None:
        yield ExpertInfo(f'{command.error} starts ""', partial(_explain_refusal, command.error), sentence=True)
    rows = table("expert_info")["commands"]
    for row in (*rows.get(command.name, ()), *rows.get(f"{role.name} {command.name}", ())):
        yield (
            compile_first(_make_summaries(), row)
            if isinstance(row, list)
            else compile_expert_info(_make_summaries(), row)
        )


def _explain_refusal(field: str, values: Values) -> Iterable[Finding]:
    found = _compile_error_info(values[field])
    return () if found is None else found(values)


@lru_cache(maxsize=128)
def _compile_error_info(name: str) -> ExpertInfo | None:
    """What there is to say of an error that has more to it than its name."""
    rows = table("expert_info")["errors"].get(name)
    return None if rows is None else compile_first(_make_summaries(), rows)


@cache
def _make_summaries() -> Summaries:
    return Summaries(
        formatters={**SUMMARIES.formatters, "why": _explain_error}, phrases=table("expert_info")["phrases"]
    )


def _explain_error(error: Any, _: str) -> str:
    text: str = table("expert_info")["why"].get(error, f"error {error}")
    return text


_TELLING = frozenset({"MetadataError", "NotAllowedError", "UnknownError", "InvalidTopicName", "TransactionConflict"})
"""Errors of which the message in the answer tells more than their names do."""

_REPHRASED = "Encryption is required", "Exceed maximum message size"
"""Beginnings of messages that a finding tells in other words."""


def describe_error(error: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """Returns what the broker says, and of a login how the client tried to prove who it is; None for other errors."""
    reason = text(answer, "message") or ""
    statement = f"the broker says: {shorten(reason)}" if reason else ""
    if error == "AuthenticationError":
        method = text(request, "auth_method_name")
        how = "The client gave no credentials" if method in (None, "none") else f"The client used the method {method}"
        return f"{how}; {statement}" if statement else how
    return statement if reason and error in _TELLING and not reason.startswith(_REPHRASED) else None
