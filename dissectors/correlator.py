"""Correlators: bounded state over the messages of a capture, by key. Reports and checks are built on them.

Theory. A Correlator combines messages in one pass over a capture, for facts that no single message shows: a session, a
watch, a repeated sequence number. It declares the messages that it handles and the fields that it reads (`on`). It
gets the messages in the order of rows, learns when connections end, and emits its results. All its state is in
BoundedTables, which evict their oldest entry first, so memory is bounded for a capture of any length. A request passes
data to the handler of its answer by its row (await_answer, take_request). Bytes that are missing from a capture are
counted by connection (`losses`): the events between two Moments are known only if no bytes are missing between them.

Most messages of a capture repeat thousands before them and differ only in counts, sizes and times. A correlator that
adds these up may take alike messages together (Merge). analyzer.insight.merging then reads the fields in columns and
decodes one of the messages. The result is the same as one by one if handlers of merged messages do not depend on each
other's order. Messages that are handled one by one, and ends of connections, keep their places between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from dissectors.message import Context, Path, Role
from dissectors.slotted import make_slotted

LIMIT = 65_536
"""Entries of a table, unless it says otherwise."""

MILLISECOND, SECOND = 1_000_000, 1_000_000_000

MessageKind = tuple[str, int | None, Role]
"""Protocol, code and role of a message."""

Ends = Callable[[int], tuple[str, str]]
"""`address:port` of the client and of the server of a connection, by its number."""

Names = Callable[[int, str, str], str | None]
"""What an id of a kind is called at a row (dissectors.name_binding), by row, kind and id; None where nobody says."""

Values = Callable[[int], Mapping[str, Any]]
"""The values of the message in a row; none where it is not in memory any more."""

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Found = TypeVar("_Found")


class Moment(NamedTuple):
    """A time on a connection, ns since 1970, and how often bytes of it were missing from the capture up to then."""

    time: int
    losses: int

    def measure_until(self, then: MessageEvent | ConnectionEnd) -> int | None:
        """Returns the ns up to a later moment of the connection; None if bytes are missing in between."""
        return then.time - self.time if then.losses == self.losses else None


class MessageEvent(NamedTuple):
    """A message as reports and checks get it.

    values: at least the fields that are wanted of it. time: of its completion, ns since 1970. stream: the number of its
    connection. operation, correlation and client_name are its header's. partner: the row of the other half of its
    exchange, also of an answer that is still to come. size: the bytes of the message. losses: how often bytes of the
    connection were missing up to it. error: what it reports, as Body.error, where that is wanted (REPORTED).
    more_answers: whether another answer to the same request comes behind this one. elapsed: of an answer, how long
    after its request it came, in ns; None where the request was not read.
    """

    row: int
    protocol: str
    context: Context
    values: Mapping[str, Any]
    stream: int
    time: int
    from_client: bool
    operation: str | None
    correlation: int | None
    client_name: str | None
    partner: int | None
    size: int = 0
    losses: int = 0
    error: tuple[int, str] | None = None
    more_answers: bool = False
    elapsed: int | None = None
    ends: Ends = lambda stream: ("", "")
    names: Names = lambda row, kind, key: None
    bodies: Values = lambda row: {}

    @property
    def client(self) -> str:
        """The address and port of the connection's client."""
        return self.ends(self.stream)[0]

    @property
    def server(self) -> str:
        """The address and port of the connection's server."""
        return self.ends(self.stream)[1]

    @property
    def moment(self) -> Moment:
        """The time of the message, with the losses of its connection up to then."""
        return Moment(self.time, self.losses)

    def resolve_name(self, kind: str, key: str) -> str | None:
        """Returns the name of an id of a kind, as other messages give it; None if no message does."""
        return self.names(self.row, kind, key)

    def read_partner(self) -> Mapping[str, Any]:
        """Returns the values of the other half of the exchange. It is decoded for this, so ask only about errors."""
        return {} if self.partner is None else self.bodies(self.partner)


class ConnectionEnd(NamedTuple):
    """The end of a connection, or of the capture while it is open.

    time: of its last packet, or of the capture's, ns since 1970. by_client: whether the client sent the first FIN or
    RST; False where nobody did. losses: as MessageEvent has them, up to its last message.
    """

    stream: int
    time: int
    by_client: bool
    losses: int = 0
    ends: Ends = lambda stream: ("", "")

    @property
    def client(self) -> str:
        """The address and port of the connection's client."""
        return self.ends(self.stream)[0]

    @property
    def server(self) -> str:
        """The address and port of the connection's server."""
        return self.ends(self.stream)[1]

    @property
    def ender(self) -> str:
        """The address and port of the side that ended it."""
        return self.client if self.by_client else self.server


class BoundedTable(Generic[_Key, _Value]):
    """Values by key; beyond `limit`, by default LIMIT, the oldest is evicted.

    make: what find() makes of a key that is not there. evict: what gets each value that is evicted, after its removal.
    """

    def __init__(
        self,
        limit: int | None = None,
        *,
        make: Callable[[], _Value] | None = None,
        evict: Callable[[_Value], object] | None = None,
    ) -> None:
        self._values: OrderedDict[_Key, _Value] = OrderedDict()
        self._limit = LIMIT if limit is None else limit
        self._make, self._evict = make, evict

    def __setitem__(self, key: _Key, value: _Value) -> None:
        self._values[key] = value
        if len(self._values) > self._limit:
            self._evict_oldest()

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _Key | None) -> _Value | None:
        """Returns the value of a key, or None."""
        return self._values.get(key)  # type: ignore[arg-type]

    def find(self, key: _Key) -> _Value:
        """Returns the value of a key; makes and adds it if there is none."""
        found = self._values.get(key)
        if found is None:
            assert self._make is not None
            found = self[key] = self._make()
        return found

    def pop(self, key: _Key | None) -> _Value | None:
        """Removes and returns the value of a key, or None."""
        return self._values.pop(key, None)  # type: ignore[arg-type]

    def renew(self, key: _Key) -> None:
        """Makes the newest of an entry, if it is there."""
        if key in self._values:
            self._values.move_to_end(key)

    def values(self) -> Iterable[_Value]:
        """Returns all values, the oldest first."""
        return self._values.values()

    def _evict_oldest(self) -> None:
        value = self.pop(next(iter(self._values)))
        if self._evict is not None and value is not None:
            self._evict(value)


class WeighedTable(BoundedTable[_Key, _Value]):
    """A bounded table of values with a weight, such as lists: `limit` bounds the sum of the weights.

    A value must not grow while it is in the table and weighs at least 1. The latest value stays, whatever its weight.
    """

    def __init__(self, weigh: Callable[[_Value], int], limit: int | None = None) -> None:
        super().__init__(limit)
        self._weigh = weigh
        self._sum = 0

    def __setitem__(self, key: _Key, value: _Value) -> None:
        self.pop(key)
        self._values[key] = value
        self._sum += max(self._weigh(value), 1)
        while self._sum > self._limit and len(self._values) > 1:
            self._evict_oldest()

    def pop(self, key: _Key | None) -> _Value | None:
        """Removes and returns the value of a key, whose weight no longer counts; or None."""
        found = super().pop(key)
        if found is not None:
            self._sum -= max(self._weigh(found), 1)
        return found


NumberedKey = tuple[int, int]
"""Connection, and a number that counts there."""


class NumberedTable(BoundedTable[NumberedKey, _Value]):
    """Values by connection and number, as of the producers that a client numbers for itself."""

    def __init__(self, limit: int | None = None, *, evict: Callable[[_Value], object] | None = None) -> None:
        super().__init__(limit, evict=evict)
        self._on: dict[int, set[NumberedKey]] = {}

    def __setitem__(self, key: NumberedKey, value: _Value) -> None:
        self._on.setdefault(key[0], set()).add(key)
        super().__setitem__(key, value)

    def pop(self, key: NumberedKey | None) -> _Value | None:
        """Removes and returns the value of a key, also from its connection; or None."""
        found = super().pop(key)
        if found is not None and key is not None:
            others = self._on[key[0]]
            others.discard(key)
            if not others:
                del self._on[key[0]]
        return found

    def items_on(self, stream: int) -> list[tuple[NumberedKey, _Value]]:
        """Returns the values of one connection, by their numbers, with their keys."""
        return [(key, self._values[key]) for key in sorted(self._on.get(stream, ()))]


@make_slotted(frozen=False, eq=False)
class CountWindow:
    """A window that began at a time (ns since 1970), and how often something happened in it."""

    begun: int
    count: int = 0


_Window = TypeVar("_Window", bound=CountWindow)


class WindowTable(BoundedTable[_Key, _Window]):
    """Windows by key; one that began more than `lifetime` ns ago is expired, and a new one begins."""

    def __init__(self, begin: Callable[[int], _Window], lifetime: int) -> None:
        super().__init__()
        self._begin, self._lifetime = begin, lifetime

    def find_at(self, key: _Key, time: int) -> _Window:
        """Returns the window of a key at a time (ns)."""
        found = self.get(key)
        if found is None or time - found.begun > self._lifetime:
            found = self[key] = self._begin(time)
        return found


@make_slotted(frozen=False, eq=False)
class Repeats(CountWindow):
    """Counts repetitions in a window; it reports at one count and at each doubling. next: that count."""

    next: int = 0

    def add(self, times: int) -> bool:
        """Counts one more; returns whether the count is `times` or a doubling of it."""
        self.count += 1
        self.next = self.next or times
        if self.count < self.next:
            return False
        self.next *= 2
        return True


Handler = Callable[[Any, MessageEvent], None]
"""Gets the correlator and a message that it wants. Never raises: values may lack anything."""


QuietTest = Callable[[Any, Any], Any]
"""Tells which numbers are as they must be, by these and the times of their messages (ns), all one or all columns."""


class Merge(NamedTuple):
    """How a correlator takes alike messages of a kind at once.

    handle: gets the correlator and the messages; does what the handler of one message does for each of them. None where
    that is nothing. numbers: integers among its fields that differ from message to message. quiet: fields with the
    number that they must have, a test of it, or None where it is null: a message with another value there comes alone.
    answers: only answers to requests that mean nothing (whose `handle` is None).
    """

    handle: Callable[[Any, MergedMessages], None] | None
    numbers: frozenset[Path]
    quiet: Mapping[Path, int | QuietTest | None]
    answers: bool = False


def merge_by(
    handle: Callable[[Any, MergedMessages], None] | None,
    *,
    numbers: Iterable[Path] = (),
    quiet: Mapping[Path, int | QuietTest | None] = MappingProxyType({}),
) -> Merge:
    """Makes the Merge of a subscription: how similar messages are merged before they are handled."""
    return Merge(handle, frozenset(numbers), quiet)


ANSWERS_OF_IGNORED = Merge(None, frozenset(), MappingProxyType({}), answers=True)
"""Answers mean nothing where their requests do."""


class MergedMessages(ABC):
    """Messages of one kind, connection and client, in their order, whose fields are the same but for some numbers.

    Of answers, their requests were merged, too. first: the first of them, with the values of any. last_row: the row of
    the last. count: how many. latest: the greatest of their times. request: of answers, the row of the first of their
    requests. Numbers of a field come in the order of its places in a message; all messages have as many.
    """

    first: MessageEvent
    last_row: int
    count: int
    latest: int
    request: int | None

    @abstractmethod
    def list_numbers(self, path: Path) -> list[list[int]]:
        """Returns the numbers of a field, a list with one of each message for each of its places."""

    @abstractmethod
    def sum_numbers(self, path: Path) -> list[int]:
        """Returns the sums of these lists."""

    @abstractmethod
    def list_rows(self) -> list[int]:
        """Returns the rows of the messages."""

    @abstractmethod
    def list_times(self) -> list[int]:
        """Returns their times, ns since 1970."""

    @abstractmethod
    def list_partners(self) -> list[int]:
        """Returns the rows of their partners; -1 for none."""

    @abstractmethod
    def list_elapsed(self) -> list[int]:
        """Returns how long after its request each answer came, in ns; nothing where the requests were not read."""

    @abstractmethod
    def list_values(self) -> Iterator[Mapping[str, Any]]:
        """Yields the values of each message; they are decoded one by one."""


class Subscription(NamedTuple):
    """A correlator's handler for a kind of messages. paths: the fields that it reads; others may be missing.

    merge: how it takes alike messages at once, if it does.
    """

    paths: frozenset[Path]
    handle: Handler
    merge: Merge | None = None


Subscriptions = Mapping[MessageKind, Subscription]


def subscribe(
    kinds: Iterable[MessageKind], handle: Handler, paths: Iterable[Path] = (), merge: Merge | None = None
) -> dict[MessageKind, Subscription]:
    """Makes subscriptions with the same handler for several kinds of messages."""
    return dict.fromkeys(kinds, Subscription(frozenset(paths), handle, merge))


def for_request(handle: Callable[[Any, Any, MessageEvent], None], request_type: type = object) -> Handler:
    """Returns a handler of answers.

    `handle` gets what was kept of the request, too, and is called only if something was.

    request_type: the class of it, where a correlator keeps different things of requests.
    """

    def receive(correlator: Correlator[Any], event: MessageEvent) -> None:
        request = correlator.take_request(event)
        if request is not None and isinstance(request, request_type):
            handle(correlator, request, event)

    return receive


def keep_time(subscriptions: Subscriptions) -> dict[MessageKind, Subscription]:
    """Wraps a handler so that the correlator's `now` is the latest time of all messages that it gets."""

    def with_time(handle: Handler) -> Handler:
        def receive(correlator: Any, event: MessageEvent) -> None:
            correlator.now = max(correlator.now, event.time)
            handle(correlator, event)

        return receive

    return {kind: Subscription(each.paths, with_time(each.handle)) for kind, each in subscriptions.items()}


class Correlator(Generic[_Found]):
    """Base of reports and checks: one reading of a capture. on: the messages that it gets, with their handlers."""

    on: ClassVar[Subscriptions]

    def __init__(self, ends: Ends, emit: Callable[[_Found], object]) -> None:
        """A new reading. emit: takes each thing that is found."""
        self.ends, self.emit = ends, emit
        self.requests: BoundedTable[int, Any] = BoundedTable()
        """By row of a request what its answer needs; of requests that were merged, by the row of the first."""
        self._shares: dict[int | None, int] = {}
        """By row of the first of merged requests how many answers are still to come."""
        self.merged_with: BoundedTable[int, int] = BoundedTable()
        """By row of a request that was merged, and whose answer comes alone or late, the row of the first."""
        self._begin()

    def _begin(self) -> None:
        """Makes what a correlator keeps of its own."""

    def receive(self, event: MessageEvent) -> None:
        """Handles a message of a kind that it wants."""
        self.on[event.protocol, event.context.code, event.context.role].handle(self, event)

    def end_connection(self, end: ConnectionEnd) -> None:
        """Handles the end of a connection: in a report after its last message, in a check after all messages."""

    def settle(self) -> None:
        """Concludes what merged messages have told, before one that comes alone, and before anybody reads it."""

    def await_answer(self, event: MessageEvent, request: object) -> None:
        """Keeps something of a request for its answer, if it has one."""
        if event.partner is not None:
            self.requests[event.row] = request

    def take_request(self, event: MessageEvent) -> Any:
        """Returns what was noted for the request of an answer, or None. The last answer removes it."""
        merged = self.merged_with.pop(event.partner) if self.merged_with else None
        row = event.partner if merged is None else merged
        if row in self._shares:
            return self._take(row, 1)
        return self.requests.get(row) if event.more_answers else self.requests.pop(row)

    def await_answers(self, merged: MergedMessages, request: object) -> None:
        """Keeps something of merged requests for their answers, if they have some."""
        if merged.first.partner is not None:
            self.requests[merged.first.row] = request
            self._shares[merged.first.row] = merged.count

    def take_requests(self, merged: MergedMessages) -> Any:
        """Returns what was noted for the requests of merged answers, or None."""
        return self._take(merged.request, merged.count)

    def _take(self, row: int | None, count: int) -> Any:
        """What was kept under a row, for so many answers; removed with the last of them."""
        left = self._shares.pop(row, count) - count
        if left <= 0:
            return self.requests.pop(row)
        self._shares[row] = left
        return self.requests.get(row)
