"""The interface of a protocol's fast path: headers as columns, and the rules of its Conversation as data.

Theory. Most conversations do one thing: a request waits, and an answer takes the request that has waited longest in its
queue. Protocols differ in the key of a queue, and in the data that an answer takes from its request. So a fast path
reads headers and declares only these, and analyzer.messages.pairing pairs for all protocols. Everything else stays
with the Conversation: a connection with a row that is `stepped` goes through it message by message.

Only modules named fast_path import NumPy in this package, and only the analyzer loads them. The reference
implementation is the dissector's header() and its Conversation; tests compare the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dissectors.api import Context, Conversation, Dissector, MessageHeader, Role
from dissectors.pairing import Key, UnansweredRequests, Waiting
from dissectors.slotted import make_slotted
from dissectors.wire.plan import Leaf, Step
from dissectors.wire.primitive import FixedWidth

Column: TypeAlias = npt.NDArray[Any]
Carried: TypeAlias = tuple[Key, Waiting]
"""A request that was not answered yet, and where it waits: asking side (True: the client), kind, key."""

NULL = -(2**31)
"""Stands for null in integer columns that may be null; no protocol's code, version or name number is this."""

LADEN = 16
"""Bytes that FastPath.laden looks at."""

NULL64 = -(2**63)
"""The same in 64-bit columns. Unsigned 64-bit numbers wrap."""


class Wire(NamedTuple):
    """n messages: `view` (uint8, n x WIDTH, contiguous) are first bytes, of which `available` (int64, n) are theirs.

    from_client: bool, n. gather(rows, offset, width): more of them, `width` bytes from byte `offset` (int64) of each of
    the messages `rows` on; only those before `available` are that message's.
    """

    view: Column
    available: Column
    from_client: Column
    gather: Callable[[Column, Column, int], Column]


@make_slotted(frozen=False)
class NameColumn:
    """A column of names: `number` (int32, n) is a place in `names`, or NULL."""

    number: Column
    names: Sequence[str] = ()


@make_slotted(frozen=False)
class HeaderColumns:
    """n rows: role and state (int8), code and version (int32, NULL), correlation (int64, NULL64), and names.

    scope: None where no row has one. key: under what a row waits or answers (int64, NULL64 where it takes no part);
    None where this is the correlation. kind: what that number counts in; None where this is the scope. What role a row
    has says whether it asks or answers.

    `unsure` rows must be read by look(); a connection with a `stepped` row must go through its Conversation.
    """

    role: Column
    state: Column
    operation: NameColumn
    code: Column
    version: Column
    correlation: Column
    client: NameColumn
    unsure: Column
    stepped: Column
    scope: NameColumn | None = None
    key: Column | None = None
    kind: NameColumn | None = None


class HeaderView(NamedTuple):
    """The header of one message as the slow path reads it, in the form of HeaderColumns."""

    header: MessageHeader
    key: int | None = None
    kind: str | None = None
    stepped: bool = False


class AnsweredRequests(NamedTuple):
    """Requests of one connection that were answered in a round: code (NULL) and handle, in columns."""

    code: Column
    handle: Column


@make_slotted
class Rules:
    """How a protocol's answers find their requests.

    in_order: answers come in the order of the requests of their connection, and the key is only a check; else a queue
    is a side, a kind and a key. overtaken: where several requests wait under one key, the Conversation may give up the
    first once a later request of the connection is answered; this is left to it. taken: what an answer takes over from
    its request (dissectors.api.with_request's, by default). volunteers: codes of what answers only where something
    waits for it, and is else a message that nobody asked for, and no guess.
    """

    in_order: bool = False
    overtaken: bool = False
    taken: Sequence[str] = ("operation", "code", "version", "client", "state")
    volunteers: Sequence[int] = ()


@make_slotted
class HeaderLayout:
    """How messages of one context are laid out: `start` bytes, the steps of a header, and those of a body.

    length: of the prefix, at their first byte; None where the steps tell it. whole: the steps take the
    message to its end. What the steps of the body
    read must be what values() gives, also where what is in other fields breaks.
    """

    length: FixedWidth | None
    start: int
    head: Sequence[Step]
    steps: Sequence[Step]
    whole: bool = True


@make_slotted
class Reporting:
    """Where messages of one context say whether they report an error: in the fields of `layout` that have the `enum`.

    begin: where which bytes must stand; a message that has others there is not meant. That all fields of the enum are 0
    must mean that Body.error is None, also where what is in other fields breaks. quiet: where the code has no place in
    a layout, tells of n messages, by their source, places and lengths (int64), which certainly report no error.
    """

    layout: HeaderLayout
    enum: str = "error"
    begin: tuple[int, bytes] = (0, b"")
    quiet: Callable[[Gathering, Column, Column], Column] | None = None


class LogFields(NamedTuple):
    """Fields of n messages that hold records of logs, in the order of their places in `data`; 64 bytes follow the last.

    message (int64): whose each is, at, size (int64): where it lies. length (int64, n): bytes of each message.
    """

    data: bytes
    message: Column
    at: Column
    size: Column
    length: Column


@make_slotted(eq=False)
class LogRecords:
    """The records of messages `first` to before `stop`, in their order.

    left (bool): which of these messages the dissector's own decoder must read; none of theirs are here. field (int64):
    which of the fields each record is in. offset, time (int64): in the log, and in ms since 1970. key, key_length,
    value_length (int64): where in `data` its key is, and bytes; a length of -1 is null.
    """

    first: int
    stop: int
    left: Column
    data: bytes
    field: Column
    offset: Column
    time: Column
    key: Column
    key_length: Column
    value_length: Column


@make_slotted(eq=False)
class Logs:
    """Where messages of one context have records of logs, for those that fit `layout` from begin to end.

    topic, partition, records: fields of it; of the first two the last ones before some records are theirs. name: the
    topic of its bytes; None where the message is left to its decoder. explained: whether this is an id that other
    messages explain. A message in which some text is no UTF-8 is left to its decoder, too.
    """

    layout: HeaderLayout
    topic: Leaf
    partition: Leaf
    records: Leaf
    name: Callable[[bytes], str | None]
    explained: bool


class Gathering(Protocol):
    """Where bytes of messages are read."""

    def gather(self, locations: Column, width: int, /) -> Column:
        """Returns `width` bytes at each of n positions (uint8, n x width)."""


class InnerColumns(NamedTuple):
    """What is in n bytes fields: how many structures (counts, int64), and columns of all of these, field by field.

    odd (bool): fields that hold anything else, of which nothing is in the columns.
    """

    counts: Column
    odd: Column
    columns: Mapping[str, Column]


class InnerReader(NamedTuple):
    """Reads structures in bytes fields: `read` gets a source, places and sizes (below zero: null).

    ignored: names that stand in the values of such a structure, and that are in no column.
    """

    read: Callable[[Gathering, Column, Column], InnerColumns]
    ignored: frozenset[str] = frozenset()


def load_fast_path(dissector: Dissector) -> FastPath | None:
    """Loads the fast path of a protocol; None if it has none."""
    if dissector.fast_path is None:
        return None
    found: FastPath = import_module(dissector.fast_path).FAST_PATH
    return found


class FastPath(ABC):
    """The module that Dissector.fast_path names has one of these, FAST_PATH.

    WIDTH: how many first bytes headers() gets. NOTED: codes of operations that notes() wants to see.
    """

    WIDTH: int
    NOTED: Sequence[int] = ()
    RULES = Rules()

    @abstractmethod
    def headers(self, wire: Wire) -> HeaderColumns:
        """Returns the headers of many messages, as step() of a steady conversation reads them."""

    @abstractmethod
    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """Reads one message that headers() could not decide; prefix: as Conversation.step gets it."""

    def lengths(self, wire: Wire) -> Column:
        """Returns how long messages are (int64), where only a framer says it: the same as a new one would say.

        `available` bytes of each are at hand, WIDTH or more; it may go on behind them. 0: no message begins so, or one
        that leaves the framer something to remember. Negative: what is at hand is not enough.
        """
        raise NotImplementedError

    def steady(self, conversation: Conversation) -> bool:
        """Returns whether from here on the conversation does what RULES say, until a row is `stepped`.

        Requests that came by the fast path are not in the conversation until a row is `stepped`.
        """
        return True

    def may_answer(self, request: Column, answer: Column) -> Column | None:
        """Returns which requests (codes) these responses (codes of their own, before they take over any) may answer.

        None where they all may. A connection where one may not is stepped.
        """
        return None

    def notes(
        self, conversation: Conversation, messages: Sequence[tuple[int, int, int]], prefix: Callable[[int], bytes]
    ) -> dict[int, Mapping[str, str]]:
        """Requests and responses of NOTED codes of one connection in order, as (row, role, code): extras by row."""
        return {}

    def layout(self, context: Context) -> HeaderLayout | None:
        """Returns the layout of complete messages of a context; None if only decoding can tell."""
        return None

    def reporting(self, context: Context) -> Reporting | None:
        """Returns where messages of such a context report errors, for complete ones; None where only decoding tells.

        Of those that never do the layout has no field with the enum.
        """
        return None

    def logs(self, context: Context) -> Logs | None:
        """Returns where complete messages of a context have records; None if only decoding can tell."""
        return None

    def inner(self, leaf: Leaf) -> InnerReader | None:
        """Returns what reads the structures in a bytes field, as projections do; None if only decoding can."""
        return None

    def laden(self, prefix: Column, length: Column) -> Column:
        """Returns which complete messages may carry records, by their first LADEN bytes (uint8) and lengths."""
        return np.ones(len(length), bool)

    def read_log_records(self, fields: LogFields) -> Iterator[LogRecords]:
        """Yields the records in fields of logs(), as Payloads.extract returns them."""
        raise NotImplementedError

    def guess_hints(self, messages: Sequence[bytes]) -> Sequence[Mapping[str, str]]:
        """For n answers whose requests nobody saw: the Context.extra with which each is read as without, but sooner.

        Empty where a protocol has no need of it.
        """
        return ()

    def waiting(self, conversation: Conversation) -> list[Carried]:
        """Requests without answer, oldest first."""
        assert isinstance(conversation, UnansweredRequests)
        queues = conversation.waiting.items()
        return sorted(((key, each) for key, queue in queues for each in queue), key=lambda carried: carried[1].handle)

    def resume(self, conversation: Conversation, waiting: Sequence[Carried], answered: AnsweredRequests) -> None:
        """Leaves the conversation as step() would have, with these requests unanswered.

        Where the fast path keeps the unanswered requests for itself, it calls this without them, and again with them
        before the next step().
        """
        assert isinstance(conversation, UnansweredRequests)
        conversation.waiting.clear()
        conversation.count = 0
        for key, request in waiting:
            conversation.remember(key, request)


def view_keyed(header: MessageHeader) -> HeaderView:
    """Returns the view of a message whose protocol pairs by scope and correlation (PairByKey)."""
    takes_part = header.role in (Role.REQUEST, Role.RESPONSE)
    return HeaderView(header, header.correlation if takes_part else None, header.scope)


def be(view: Column, at: int, kind: str) -> Column:
    """Reads a big-endian integer at byte `at` of each row; `kind` as in NumPy: i1, u2, i4, ..."""
    width = int(kind[1:])
    column: Column = view[:, at : at + width].view(f">{kind}")[:, 0]
    return column.astype(f"={kind}")


SMALL = 1 << 16
"""Numbers so near to each other are counted in a table rather than sorted."""


def distinct(column: Column) -> tuple[Column, Column]:
    """Returns the distinct numbers of a column, ascending, and the index of each row's number (int64)."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if high - low < SMALL and column.dtype.kind == "i":
        place = column.astype(np.int64) - low
        seen = np.zeros(high - low + 1, bool)
        seen[place] = True
        return (np.flatnonzero(seen) + low).astype(column.dtype), (np.cumsum(seen) - 1)[place]
    change = np.ones(len(column), bool)
    change[1:] = column[1:] != column[:-1]
    values, place = np.unique(column[change], return_inverse=True)
    return values, place[np.cumsum(change) - 1]
