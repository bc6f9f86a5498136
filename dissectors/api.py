"""What a protocol implements.

Theory. A message is decoded in two steps that are far apart in time. While a capture is indexed, only `framing`,
`header` and the Conversation see it: they cut it out, name it and pair it. Whenever somebody looks, `values` or `tree`
reads the whole of it, alone, helped only by the Context that the conversation kept for it. So a row can be decoded
later, elsewhere and in any order, and decoding one message never needs another.

All bytes are hostile. `probe`, `plausible`, `header` and `Conversation.step` get whatever is there, as little as
nothing, and never raise; nor do `values` and `tree`, which get a message as far as it was captured and say in
Findings what they could not read. An exception that escapes is a bug and is reported as one.

CONTRIBUTING.md shows a whole protocol in one block. dissectors.pairing has a Conversation for protocols whose answers
repeat a number, dissectors.wire.message what decoding a message has in common everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from dissectors.field import Tree
from dissectors.finding import Finding
from dissectors.message import Context as Context  # noqa: PLC0414 # given on
from dissectors.message import Role as Role  # noqa: PLC0414 # given on
from dissectors.message import State as State  # noqa: PLC0414 # given on
from dissectors.slotted import slotted

if TYPE_CHECKING:
    from dissectors.catalog import Catalog
    from dissectors.check import Check
    from dissectors.holes import Shape
    from dissectors.lesson import Exchange, Lesson, Path, Reference, Standing, Taught, Teacher
    from dissectors.payload import Asked, Carriers, Payload
    from dissectors.portion import Other, Portion
    from dissectors.report import ReportType
    from dissectors.session_state import SessionKind


@slotted
class MessageHeader:
    """What pairing and the list need, read without a full decode. None: unknown.

    operation: the protocol's own name for what is done, and `code` its number on the wire. correlation: the number that
    an answer repeats, -2^63 < n < 2^64. scope: what that number counts in, as a text to be put before it ("send:0/"),
    where one connection has several countings; few different ones. client: how the client calls itself.
    """

    role: Role
    operation: str | None = None
    code: int | None = None
    version: int | None = None
    correlation: int | None = None
    client: str | None = None
    state: State = State.COMPLETE
    scope: str | None = None

    @property
    def key(self) -> int | str | None:
        """The correlation as it is printed: with its scope, as a text."""
        return self.correlation if self.scope is None else f"{self.scope}{self.correlation}"


HEADLESS = MessageHeader(Role.RAW, state=State.UNDECODED)
"""The header of bytes that are too few for one."""


@slotted
class Outcome:
    """What a conversation says of one message.

    header: its own, completed with what its partner tells (with_request). partner: the handle of the request that it
    answers. extra: what decoding it needs besides role, code and version; kept with the row as Context.extra. owed:
    False for a request that may well have no answer.
    """

    header: MessageHeader
    partner: int | None = None
    extra: Mapping[str, str] | None = None
    owed: bool = True


class Body(NamedTuple):
    """A message decoded to plain values. `error` is the first error that the message itself reports, as (code, name).

    Values are what JSON knows (int, float, str, bool, None, list, dict with str keys), bytes, and wire.secret.Secret.
    request: for info() alone, the same of the request that the message answers, at least the fields that
    Dissector.recalls names; None where it is unknown. asked: the code of that request, which may not be the answer's.
    """

    values: dict[str, Any]
    error: tuple[int, str] | None
    findings: tuple[Finding, ...] = ()
    request: Mapping[str, Any] | None = None
    asked: int | None = None


Pick: TypeAlias = "Callable[[bytes], dict[str, Any] | None]"
"""A whole message to its values, of which only the fields that were picked are sure to be there: what the paths lead
to is the same as in values(). None where only values() can tell. Never raises."""


class Stencil(NamedTuple):
    """A Body whose values have holes, and the shape of the messages that it fits. See dissectors.holes."""

    shape: Shape
    body: Body


@slotted
class LengthPrefixed:
    """Messages behind a big-endian length of `width` bytes that does not count itself; bounds are of that length."""

    width: int
    minimum: int
    maximum: int

    def size(self, head: bytes) -> int:
        """Length of a message with these first `width` bytes, which it counts; 0 where it is out of bounds."""
        size = int.from_bytes(head, "big")
        return self.width + size if self.minimum <= size <= self.maximum else 0


class Window(Protocol):
    """The bytes of a message that have come so far, from its first one on, without a gap."""

    def __len__(self) -> int:
        """How many there are."""

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset` on; fewer where no more have come."""


class Measure(ABC):
    """How long the messages of one direction are, where no prefix of a fixed form says it, or not from the start.

    One is made for each direction of a connection. It is asked about one message after the other, about the same one
    again when more of it has come, and may remember how far it has read. Plain data, for it is pickled between blocks.
    """

    @abstractmethod
    def length(self, message: Window, ended: bool) -> int | None:
        """The bytes of the message at the window's beginning, which may be more than have come. Never raises.

        0: no message can begin so. Negative: more bytes are needed to tell. None: from here on Dissector.framing
        tells, and this measure is asked no more. ended: no more bytes will come; a message that only the end of the
        stream ends is as long as the window, others stay negative.
        """

    @property
    def settled(self) -> bool:
        """Whether it remembers nothing, so that a new one would say the same of the next message; for speed alone."""
        return False

    def across(self, message: Window, lost: range, ended: bool) -> int:
        """The same of a message that has lost bytes, which read as zeros; the first of them are at offsets `lost`.

        0, as by default: nobody knows; then the message ends with what is known. ended: as in length().
        """
        return 0


class Conversation(ABC):
    """The state of one connection: requests not yet answered, and what decoding needs later.

    It is pickled between blocks and processes, so it is plain data (a dissector's bound method pickles too), and what
    it remembers is bounded, for a capture may hold requests and no answers. dissectors.pairing.PairByKey is a ready
    one.
    """

    @abstractmethod
    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Takes the next message of either direction, in order of completion. Never raises.

        handle: the engine's number for it, given back as `partner` of its answer. prefix: its first bytes
        (Dissector.prefix at most, fewer if the message is shorter or cut), length prefix included.
        """

    client: str | None = None
    """What the client is called in all rows of the connection that name none themselves, once that is known."""

    def lost(self, from_client: bool) -> None:  # noqa: B027 - most protocols repeat a number, and need not know
        """Bytes of a direction are missing behind what step() was given of it; by default no matter. Never raises."""

    def unasked(self, prefix: bytes, from_client: bool) -> bool:
        """Whether what may be a message behind a gap would answer none of the requests that wait. Never raises.

        prefix: its first bytes, as `plausible` gets them. By default, and where no request waits, nobody knows: False.
        """
        return False

    @property
    def beginning(self) -> bool:
        """Whether it will soon do no more than its bulk twin says, and goes alone until then; for speed alone."""
        return False

    def handles(self) -> Iterable[int]:
        """The handles that step() may still give back as a partner, in any order.

        By default it is not told, and then no later run of the pipeline can go on with the connection.
        """
        raise NotImplementedError

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Each of handles() is another number from now on; their order stays, and new messages come behind them."""
        raise NotImplementedError


PREFIX = 512
"""Bytes of a message that probe() and plausible() get at most; header() too, unless Dissector.prefix says more."""


class Dissector(ABC):
    """One protocol. Stateless: everything that a connection remembers is in its Conversation.

    name: as printed and typed (-d PORT=NAME), lower case, the same as in the registry or entry point. ports: where its
    servers usually listen; a hint only, for bytes say more. framing: how messages are cut out of the stream; None
    where `measure` alone tells.
    """

    name: str
    ports: tuple[int, ...]
    framing: LengthPrefixed | None
    prefix: int = PREFIX
    """Bytes of a message that header() and Conversation.step() may look at: as much as a header can take."""

    lone_numbers: bool = False
    """Whether only its number says whose an answer is, so that a number must not be given out again while it waits."""

    held: frozenset[int] = frozenset()
    """Codes of requests that a server keeps until there is something to tell: who goes meanwhile misses no answer."""

    bulk: str | None = None
    """The module with the bulk twins (dissectors.wire.bulk.BulkDissector), if there is one: for speed alone."""

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """How sure the first bytes of a direction make us that they are ours.

        0 surely not; below WEAK (20) enough only on one of our ports; up to SURE (80) believed only when no more
        bytes come to tell, and if no other dissector says more; from SURE on believed at once. Say 90 and more for
        bytes of which nearly all are checked, about 25 for what only a length that makes sense speaks for. The same
        scale counts behind a gap, message by message, until messages in a row sum up to 100.

        prefix: from the first byte of a direction, or of a message; as few as one byte at first, later hundreds, and
        more than one message. from_client is None when nobody knows which side opened the connection.

        By default, 25 for a length within bounds and a header with an operation and a role that this side may have.
        """
        framing = self.framing
        header = self.header(prefix, from_client is not False)
        if header.operation is None:
            return 0
        if framing is not None and not framing.minimum <= int.from_bytes(prefix[: framing.width]) <= framing.maximum:
            return 0
        return 0 if from_client is True and header.role is Role.RESPONSE else WEAK + 5

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        """Whether a message can begin with these bytes: used to find the way back behind a gap.

        prefix: one message's bytes, PREFIX at most, length prefix included. By default, whether probe says WEAK or
        more.
        """
        return self.probe(prefix, from_client) >= WEAK

    def measure(self, from_client: bool, opening: bool) -> Measure | None:
        """What cuts messages out of a direction before, or instead of, `framing`; None where that is all.

        opening: the direction is seen from its first byte on. False behind a gap, where it is asked only for
        what `framing` refuses, or if that is None: it then begins at a message that `plausible` was asked about.
        """
        return None

    def opens(self, prefix: bytes) -> bool:
        """Whether a connection whose SYN was not seen begins all the same with these bytes of its client.

        prefix: as probe() gets it. By default nobody knows; for what stands at the beginning and nowhere else.
        """
        return False

    def refused(self, prefix: bytes, from_client: bool) -> str | None:
        """What bytes are that were passed over, if they begin as a message of ours that `framing` does not take.

        A few words, of which there are few different ones. None, as by default, where nothing is known of them. Never
        raises. prefix: as probe() gets it.
        """
        return None

    @abstractmethod
    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """Reads what the list needs from the first bytes of a message; HEADLESS where they are too few. Never raises.

        prefix: as Conversation.step gets it. The role is what the message says of itself; where only the direction
        tells, what a client sends is a request. Nothing from other messages: an answer's operation is added by the
        Conversation.
        """

    @abstractmethod
    def conversation(self) -> Conversation:
        """A new connection's state."""

    @abstractmethod
    def values(self, message: bytes, context: Context) -> Body:
        """A whole message to plain values. Never raises: what could be read is there, the rest is a Finding.

        message: all its bytes, length prefix included, or those before the first that is missing.
        """

    def skim(self, message: Window, context: Context) -> Body | None:
        """What values() gives, of a message that is too long to be held. Never raises.

        None, as by default, where only values() can tell. message: its bytes before the first that is missing; to be
        read a little at a time, and what is made of it is to be as little (dissectors.wire.cut).
        """
        return None

    def stencil(self, message: bytes, context: Context, request: tuple[bytes, Context] | None = None) -> Stencil | None:
        """What values() gives, with holes where messages of the same shape may differ; for speed alone.

        None, as by default, where nothing is known that could be left open. message: as values() gets it. request: the
        one that it answers, where recalls() says so: then the shape is that of the two messages, one behind the other,
        and Body.request has its values, with holes.
        """
        return None

    def picker(self, context: Context, paths: frozenset[Path]) -> Pick | None:
        """What reads only some fields of messages of such a context; for speed alone.

        None, as by default, where nothing is faster than values(). The same for equal contexts and paths.
        """
        return None

    def catalog(self) -> Catalog | None:
        """The names by which its messages may be asked; None, as by default, where nobody wrote them down."""
        return None

    @abstractmethod
    def tree(self, message: bytes, context: Context) -> Tree:
        """The same annotated. The leaves of each source cover it without gap or overlap, also where the bytes break."""

    def portioned(self) -> frozenset[int]:
        """The codes of messages that may carry a portion of something larger (dissectors.portion); by default none."""
        return frozenset()

    def portion(self, prefix: bytes) -> Portion | None:
        """The portion that one of these carries; None for what is whole. Never raises.

        prefix: as Conversation.step gets it; many may be asked for one that is looked at.
        """
        return None

    def joined(self, message: bytes, context: Context, others: Sequence[Other]) -> Tree:
        """What tree() gives, and behind its nodes what the whole says, as a source of its own. Never raises.

        others: for a message that completes something those that were found before it, in their order; for any other
        portion the one that completes it.
        """
        return self.tree(message, context)

    def whole(self, message: bytes, context: Context, others: Sequence[Other]) -> Body | None:
        """What values() gives of a message that completes something, with the whole in its portion's place.

        None, as by default, where the whole cannot be read. Never raises.
        """
        return None

    def recalls(self, context: Context) -> frozenset[Path]:
        """The fields of the request that info() wants to know of such an answer; by default none.

        The same for equal contexts.
        """
        return frozenset()

    def info(self, body: Body, context: Context) -> str:
        """One line for people, from this message and what it `recalls`. By default its error and first few values."""
        error = [] if body.error is None else [body.error[1]]
        plain = [f"{name} {value}" for name, value in body.values.items() if isinstance(value, (int, float, str))]
        return ", ".join(error + plain[:4])

    def constants(self) -> Iterable[Lesson]:
        """Names of ids that are the same everywhere, so that no message tells them; by default none."""
        return ()

    def teachers(self) -> Iterable[Teacher]:
        """Which messages say what the ids in others mean (dissectors.lesson); by default none."""
        return ()

    def lessons(self, taught: Taught) -> Iterable[Lesson]:
        """What one of `teachers` teaches. Never raises: values may lack anything."""
        return ()

    def references(self, context: Context) -> tuple[Reference, ...]:
        """Where the values of such a message have ids that another may have explained. The same for equal contexts."""
        return ()

    def standing(self, context: Context, exchanges: Iterable[Exchange]) -> Standing | None:
        """All that a message asks for which tells only what has changed since earlier ones of its connection.

        exchanges: its own first, then those before it, of the same operation, back to the first one that is known.
        None, as by default, for a message that says all itself. Never raises.
        """
        return None

    def sessions(self) -> Sequence[SessionKind]:
        """The sessions in which requests name only what has changed (dissectors.session_state); by default none."""
        return ()

    def payloads(self, values: Mapping[str, Any], asked: Asked) -> Iterable[Payload]:
        """What a message carries for others (dissectors.payload), in its order; by default nothing.

        values: as values() gave them, perhaps with names for ids. Never raises: they may lack anything.
        """
        return ()

    def carriers(self) -> Carriers | None:
        """The messages of which payloads() may give records of logs; None, as by default, where any may.

        A message whose code is unknown is of none of the others.
        """
        return None

    def checks(self) -> Sequence[type[Check]]:
        """What only several messages together show to be wrong (dissectors.check); by default nothing is looked for."""
        return ()

    def reports(self) -> Sequence[ReportType]:
        """The tables of a whole capture that its messages have a part in (dissectors.report); by default none."""
        return ()


WEAK, SURE = 20, 80
"""Where Dissector.probe's evidence begins to count, and where it is believed at once."""


def with_request(header: MessageHeader, request: MessageHeader) -> MessageHeader:
    """A response's header completed with what only its request carried; no surer than the request was."""
    return MessageHeader(
        header.role,
        request.operation,
        request.code,
        request.version,
        header.correlation,
        request.client,
        request.state,
        header.scope,
    )
