"""An HA frame to values, to a tree, and to its information line.

Facts. The first report of a slave tells the end of its log (0: it has none); the master continues from there, or from
the beginning of its last file.

Theory. A greeting and its answer are the only exchange. A report tells the length of the slave's log, independent of
single transfers, so it answers none. Only both directions together tell whether a master continues at another offset,
and whether a slave is far behind; so these facts are stored with the frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dissectors.api import Body, Context, Conversation, Outcome, Role
from dissectors.errors import MalformedField, TruncatedField
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.ha.frames import (
    ENTRY,
    ENTRY_SIZE,
    HANDSHAKE,
    HEADERS,
    KIND,
    SLAVE_OFFSET,
    HAFrame,
    HAProtocol,
    find_frame,
    find_protocol,
    is_from_slave,
    read_head,
)
from dissectors.rocketmq.ha.log import read_log
from dissectors.wire import read_leaves
from dissectors.wire.amounts import count_text
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many, element

_EPOCHS = Many("epochs", "array")
_ADDRESS = FieldSpec("address", "string")


def read_frame(reader: Reader, found: HAFrame, from_slave: bool) -> None:
    """Reads a frame that begins at the reader's place, as far as it was captured. Raises a DecodeError."""
    begin = reader.at
    read_leaves(reader, found.form.head)
    stop = begin + found.size
    if found.operation == HANDSHAKE:
        reader.need(found.data, reader.at, "data")
        if from_slave and found.data:
            reader.leaf(_ADDRESS, reader.data[reader.at : stop].decode("utf-8", "replace"), stop)
        elif not from_slave:
            _read_epochs(reader, found.data // ENTRY_SIZE)
        return
    if not found.data:
        return
    there = min(stop, reader.end)
    before, reader.end = reader.end, there
    read_log(reader, found.offset)
    reader.end = before
    if there < stop:
        raise TruncatedField(reader.path("data"), reader.at, stop - there, 0)


def _read_epochs(reader: Reader, count: int) -> None:
    reader.enter(_EPOCHS)
    for index in range(count):
        reader.enter(element(index, "struct"))
        read_leaves(reader, ENTRY)
        reader.leave()
    reader.leave()


_NAMED = 3


def format_info(body: Body, context: Context) -> str:
    """Formats the summary line of an HA frame: place in the log, size, messages."""
    return ", ".join(_iterate_parts(body.values))


def _iterate_parts(values: Mapping[str, Any]) -> Iterator[str]:
    offset, size, messages = values.get("offset"), values.get("size"), values.get("messages")
    if "epochs" in values:
        yield from (
            f"log ends at {offset:,}",
            f"epoch {values.get('epoch')}",
            count_text(len(values["epochs"]), ",epoch"),
        )
        return
    if "brokerId" in values or "address" in values:
        yield f"broker {values['brokerId']}" if "brokerId" in values else f"slave {values['address']}"
    if values.get("syncFromLastFile"):
        yield "sync from last file"
    if values.get("asyncLearner"):
        yield "async learner"
    if isinstance(size, int) and size:
        yield count_text(size, ",byte")
    if isinstance(offset, int):
        yield f"at {offset:,}" if offset >= 0 else "no log yet"
    if isinstance(messages, list):
        yield format_topics(Counter(each.get("topic") for each in messages if isinstance(each, dict)))
    elif "blank" in values:
        yield "the end of a file"
    elif "continued" in values or "continues" in values:
        yield "part of a message"


def format_topics(topics: Mapping[str | bytes | None, int], at_least: bool = False) -> str:
    """Formats as `12 messages of orders and 3 more topics`, the largest first; what is no UTF-8 has no name."""
    named = [name for name, _ in sorted(topics.items(), key=lambda item: -item[1]) if name and isinstance(name, str)]
    more = f" and {count_text(len(named) - _NAMED, ',more topic')}" if len(named) > _NAMED else ""
    of = f" of {', '.join(named[:_NAMED])}{more}" if named else ""
    return f"{'at least ' if at_least else ''}{count_text(sum(topics.values()), ',message')}{of}"


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the values of a frame."""
    return fold_tree(decode_tree(message, context))


def decode_tree(message: bytes, context: Context) -> Tree:
    """Returns head and data with their places."""
    return read_unframed(message, partial(_read_message, context=context), _find_doubts(message, context))


def _read_message(reader: Reader, context: Context) -> None:
    found = read_head(reader.data, is_from_slave(context), find_protocol(context), ended=True)
    if found == 0:
        raise MalformedField("frame", 0, "begins like none")
    if not isinstance(found, HAFrame):
        raise TruncatedField("frame", 0, -found, len(reader.data))
    read_frame(reader, found, is_from_slave(context))


def _find_doubts(message: bytes, context: Context) -> Iterator[Finding]:
    extra = context.extra or {}
    if EXPECTED in extra:
        found = read_head(message, False, find_protocol(context), ended=True)
        where = f"{found.offset:,}" if isinstance(found, HAFrame) else "another place"
        text = f"the log goes on at {where}; what was sent before ends at {int(extra[EXPECTED]):,}"
        yield Finding(Severity.WARNING, "replication-jump", text)
    if BEHIND in extra:
        text = f"the slave has not confirmed the last {int(extra[BEHIND]):,} bytes of the log that were sent to it"
        yield Finding(Severity.NOTE, "slow-replica", text)


EXPECTED, BEHIND = "expected", "behind"
"""Keys of Context.extra: where the log was to go on, and how many bytes the slave had not reported."""

FAR = 256 * 1024 * 1024
"""Bytes behind which a slave counts as fallen behind (haSlaveFallbehindMax, later haMaxGapNotInSync)."""

_MOST_GREETINGS = 16


@dataclass(slots=True)
class HAConversation(Conversation):
    """`reached`: where the master's next transfer begins; None before the first, and behind lost bytes."""

    kind: HAProtocol | None = None
    reached: int | None = None
    is_reported: bool = False
    greetings: list[int] = field(default_factory=list)

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Notes a frame; the slave is the client of the connection."""
        seen = find_frame(prefix, from_client, self.kind)
        if seen is None:
            return Outcome(HEADERS[None])
        self.kind = seen.kind
        found, extra = seen.frame, {} if seen.kind is HAProtocol.CLASSIC else {KIND: seen.kind.name}
        header = HEADERS[found.operation, from_client]
        if found.operation == HANDSHAKE:
            return Outcome(header, self._pair_greeting(handle, header.role), extra or None)
        extra |= self._check_behind(found) if from_client else self._check_jump(found)
        return Outcome(header, None, extra or None)

    def _pair_greeting(self, handle: int, role: Role) -> int | None:
        if role is Role.RESPONSE:
            return self.greetings.pop(0) if self.greetings else None
        if len(self.greetings) < _MOST_GREETINGS:
            self.greetings.append(handle)
        return None

    def _check_jump(self, found: HAFrame) -> dict[str, str]:
        before, self.reached = self.reached, found.offset + found.data if found.offset >= 0 else None
        return {EXPECTED: str(before)} if before is not None and found.offset not in (before, -1) else {}

    def _check_behind(self, found: HAFrame) -> dict[str, str]:
        """Told once, until the slave is near again."""
        if found.operation != SLAVE_OFFSET or self.reached is None:
            return {}
        behind, before = self.reached - found.offset, self.is_reported
        self.is_reported = behind > FAR
        return {BEHIND: str(behind)} if self.is_reported and not before else {}

    def note_loss(self, from_client: bool) -> None:
        """Forgets how far the master has sent, because bytes are lost."""
        if not from_client:
            self.reached = None

    def handles(self) -> Iterable[int]:
        """Lists the handles of greetings that wait for their answer."""
        return list(self.greetings)

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replaces the handles of waiting requests after rows were renumbered."""
        self.greetings = [numbers[handle] for handle in self.greetings]
