"""The interface of a protocol: a manifest of its layouts, and a few functions.

Theory. A message is decoded in two steps that are far apart in time. While a capture is indexed, only `framing`,
`header` and the Conversation see it: they cut it out, name it and pair it. Whenever somebody looks, `values` or `tree`
reads the whole of it, alone, helped only by the Context that the conversation kept for it. So a row can be decoded
later, elsewhere and in any order, and decoding one message never needs another.

A Dissector has eight methods. All else that a protocol may offer is an attribute of the class: plain data, or a
capability, which is one function or one small object with one job. A capability that few runs need is given as
`lazy("module:name")`, and imported when it is first asked for. None, as by default, where a protocol has none.

All bytes are hostile. `probe`, `plausible`, `header` and `Conversation.step` get whatever is there, as little as
nothing, and never raise; nor do `values`, `tree` and the capabilities, which get a message as far as it was captured
and say in Findings what they could not read. An exception that escapes is a bug and is reported as one.

docs/how-to/dissector.md shows a whole protocol in one block. dissectors.pairing has a Conversation for protocols whose
answers repeat a number, dissectors.wire.message what decoding a message has in common everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from dissectors.conversation import Conversation
from dissectors.field import Tree
from dissectors.framing import Framer, LengthPrefixed, VarintPrefixed, Window
from dissectors.message import (
    HEADLESS,
    Body,
    Context,
    MessageHeader,
    Outcome,
    Path,
    Role,
    State,
    Values,
    with_request,
)

if TYPE_CHECKING:
    from dissectors.catalog import Catalog, Operation
    from dissectors.check import Check
    from dissectors.fragment import Fragments
    from dissectors.guide import Guide
    from dissectors.name_binding import NameBindings
    from dissectors.payload import Payloads
    from dissectors.raw import RawReader
    from dissectors.report import ReportType
    from dissectors.session_state import SessionTracker
    from dissectors.symbolic import MessageTemplate
    from dissectors.triage import Triage

__all__ = [
    "HEADLESS",
    "PREFIX",
    "SURE",
    "WEAK",
    "Body",
    "Context",
    "Conversation",
    "Dissector",
    "Framer",
    "LengthPrefixed",
    "MessageHeader",
    "Outcome",
    "Path",
    "Pick",
    "Role",
    "State",
    "Values",
    "VarintPrefixed",
    "Window",
    "lazy",
    "with_request",
]  # fmt: skip

Pick: TypeAlias = Callable[[bytes], dict[str, Any] | None]
"""A whole message to its values, of which only the fields that were picked are sure to be there: what the paths lead
to is the same as in values(). None where only values() can tell. Never raises."""

PREFIX = 512
"""Bytes of a message that probe() and plausible() get at most; header() too, unless Dissector.prefix says more."""

WEAK, SURE = 20, 80
"""Where Dissector.probe's evidence begins to count, and where it is believed at once."""


def load(target: str) -> Any:
    """Imports the object that `module:name` names. Raises ImportError or AttributeError."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


class lazy:  # noqa: N801 - reads as the keyword that it stands for
    """Declares an attribute of instances that is imported by its `module:name` when it is first used.

    The class itself gives the declaration: making a class must not import what its instances may need.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._found: Any = None

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self._found is None:
            self._found = load(self._target)
        return self._found


class Dissector(ABC):
    """The code for one protocol. It has no state: what a connection remembers is in its Conversation."""

    name: str
    """As printed and typed (-d PORT=NAME), lower case, the same as in the registry or entry point."""

    ports: tuple[int, ...] = ()
    """Where its servers usually listen; a hint only, for bytes say more."""

    tls_ports: tuple[int, ...] = ()
    """Where its servers usually listen for TLS; a hint for what was decrypted."""

    framing: LengthPrefixed | None = None
    """How messages are cut out of the stream; None where `framer` alone tells."""

    prefix: int = PREFIX
    """Bytes of a message that header() and Conversation.step() may look at: as much as a header can take."""

    lone_numbers: bool = False
    """Whether only its number says whose an answer is, so that a number must not be given out again while it waits."""

    long_polls: frozenset[int] = frozenset()
    """Codes of requests that a server keeps until there is something to tell: who goes meanwhile misses no answer."""

    waits: frozenset[int] = frozenset()
    """Codes of other requests that a server may answer late on purpose: it waits for data, or for other clients."""

    answers_in_order: bool = False
    """Whether a server answers the requests of a connection one after the other, so that each waits for those before.
    """

    nothing_new: Mapping[str, Sequence[int]] = {}
    """By operation, codes of answers that say that there is nothing now: ordinary, and no errors."""

    columns: tuple[str, ...] = ()
    """Keys of the columns that `--columns NAME` shows, besides who speaks with whom."""

    settings: tuple[str, ...] = ()
    """Fields of requests that say how a client is configured, by their names behind `name`: what `diff` compares."""

    client: str = "id"
    """What MessageHeader.client is: the `id` of a program, its `software`, or one of each `session`."""

    software: tuple[str, ...] = ()
    """Fields of one request that make the name and version of a client's software together."""

    color: str | None = None
    """The colour of its rows, in rich's words, where a capture has several protocols."""

    sign: str | None = None
    """One character that stands for the colour where there is none; None: the first letter of `name`."""

    fast_path: str | None = None
    """The module with the vectorised headers and pairing (dissectors.wire.fast_path); None: the protocol has none."""

    # ---- what recognises bytes

    opens: Callable[[bytes], bool] | None = None
    """Whether a connection whose SYN was not seen begins all the same with these bytes of its client.

    It gets what probe() gets, and is for what stands at the beginning and nowhere else.
    """

    refused: Callable[[bytes, bool], str | None] | None = None
    """What bytes are that were passed over, if they begin as a message of ours that `framing` does not take.

    It gets what probe() gets, and gives a few words, of which there are few different ones, or None.
    """

    raw: RawReader | None = None
    """What it knows of bytes that nobody framed."""

    # ---- what decodes faster, or more

    projection: Callable[[Context, frozenset[Path]], Pick | None] | None = None
    """What reads only some fields of messages of such a context; the same for equal contexts and paths. For speed."""

    template: Callable[[bytes, Context, tuple[bytes, Context] | None], MessageTemplate | None] | None = None
    """Makes the values() of a message with symbolic values where similar messages may differ; for speed alone.

    It gets a message, its context, and the request that it answers with that one's context where `request_fields` asks
    for it. Then the template covers both messages, one after the other, and Body.request has symbolic values, too.
    """

    streaming: Callable[[Window, Context], Body | None] | None = None
    """What values() gives, of a message that is too long to be held; None where only values() can tell.

    It gets the bytes before the first that is missing, to be read a little at a time, and what it makes of them is to
    be as little (dissectors.wire.embedded).
    """

    fragments: Fragments | None = None
    """Messages that carry a part of something larger."""

    request_fields: Callable[[Context], frozenset[Path]] | None = None
    """The fields of the request that info() wants to know of such an answer; the same for equal contexts."""

    # ---- what can be asked of many messages

    catalog: Catalog | None = None
    """The names by which its messages may be asked."""

    operations: Callable[[], Mapping[int, Operation]] = dict
    """Its operations by number."""

    guide: Guide | None = None
    """What tells people of its layouts, without any message."""

    names: NameBindings | None = None
    """What messages say of the ids in others."""

    sessions: SessionTracker | None = None
    """Sessions in which requests name only what has changed."""

    payloads: Payloads | None = None
    """What messages carry for others: keys, values, bodies."""

    reports: Callable[[], Sequence[ReportType]] = tuple
    """The tables of a whole capture that its messages have a part in (dissectors.report)."""

    participants: Callable[[], Sequence[ReportType]] = tuple
    """The tables that tell who is who, for diagrams (Report.list_names); they need not be reports."""

    server_roles: Callable[[], Mapping[str, str]] = dict
    """What a server is that answers an operation without an error, such as a group coordinator, for maps."""

    checks: Callable[[], Sequence[type[Check]]] = tuple
    """What only several messages together show to be wrong (dissectors.check)."""

    triage: Callable[[], Triage] | None = None
    """What its errors mean and how much they matter, and which findings explain others (dissectors.triage)."""

    outstanding_limit: tuple[int, str] | None = None
    """How many requests wait when a server stops reading from its clients by default, and the setting that says so."""

    describe_error: Callable[[str, Values, Values], str | None] | None = None
    """What a request asked for that an answer refuses, with its numbers: a sentence made of the error's name and the
    values of both; None where there is no more to tell. Values may lack anything.
    """

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """Rates how certainly the first bytes of a direction belong to this protocol.

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
        """Returns whether a message can begin with these bytes: used to find the way back behind a gap.

        prefix: one message's bytes, PREFIX at most, length prefix included. By default, whether probe says WEAK or
        more.
        """
        return self.probe(prefix, from_client) >= WEAK

    def make_framer(self, from_client: bool, opening: bool) -> Framer | None:
        """Makes the Framer of a direction, used before or instead of `framing`; None if `framing` is enough.

        opening: the direction is seen from its first byte on. False behind a gap, where it is asked only for
        what `framing` refuses, or if that is None: it then begins at a message that `plausible` was asked about.
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
        """Makes the state of a new connection."""

    @abstractmethod
    def values(self, message: bytes, context: Context) -> Body:
        """Decodes a whole message to plain values. Never raises: damage becomes a Finding.

        message: all its bytes, length prefix included, or those before the first that is missing.
        """

    @abstractmethod
    def tree(self, message: bytes, context: Context) -> Tree:
        """Decodes a whole message to a tree of fields with their places. Never raises.

        The leaves of each source cover it without gap or overlap, also if the bytes are damaged.
        """

    def info(self, body: Body, context: Context) -> str:
        """Formats the summary line of a message and its `request_fields`; by default error and first values."""
        error = [] if body.error is None else [body.error[1]]
        plain = [f"{name} {value}" for name, value in body.values.items() if isinstance(value, (int, float, str))]
        return ", ".join(error + plain[:4])
