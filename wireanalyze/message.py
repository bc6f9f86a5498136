"""Messages as Python objects: light views on the columns of the index, and messages that were decoded from hex.

Theory. A message of a capture is a place in a window of rows. The window reads a column when the first of its messages
is asked for it, for all of them at once; so a loop over headers costs a list index each, and a loop that asks for
bodies decodes these only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.decode.content import find_dissector, read_context, read_message
from analyzer.decode.limits import Limits
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.messages import defects
from analyzer.messages.paged_message import LONG
from analyzer.render.lines import STYLES, Line, strip_styles
from analyzer.session import Session
from dissectors.api import Body
from dissectors.field import Tree
from dissectors.finding import Finding
from wireanalyze.errors import CaptureError, translate_errors

if TYPE_CHECKING:
    from rich.text import Text

    from analyzer.hexinput.pasted import PastedMessage
    from dissectors.api import Dissector

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

WINDOW = 4096
"""Rows whose columns are read at one time."""

SHOWN = 300
"""Lines of a message in a notebook."""


class ReportedError(NamedTuple):
    """The first error that a message reports."""

    code: int
    name: str


class Display:
    """Base of objects that show themselves: as `text`, as HTML in a notebook, and on a rich console."""

    __slots__ = ()

    def format_lines(self, *, show_secrets: bool = False) -> Iterator[Line]:
        """Yields the lines of `text` with their styles."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The message as the command line shows it, with secrets masked: fields with their places, then the bytes."""
        return "\n".join(map(strip_styles, self.format_lines()))

    def _repr_html_(self) -> str:
        lines = [*islice(self.format_lines(), SHOWN + 1)]
        text = "\n".join(map(strip_styles, lines[:SHOWN]))
        return f"<pre>{escape(text)}{'' if len(lines) <= SHOWN else chr(10) + '...'}</pre>"

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text("\n").join(
            Text.assemble(*((text, STYLES[style]) for style, text in line)) for line in self.format_lines()
        )


class Owner:
    """A session whose messages are shown. closed: its bytes cannot be read any more."""

    __slots__ = ("closed", "reader", "session")

    def __init__(self, session: Session, *, streaming: bool = False) -> None:
        self.session, self.reader, self.closed = session, RowReader(session, streaming=streaming), False

    def open_session(self) -> Session:
        """Returns the session. Raises CaptureError if it is closed."""
        if self.closed:
            raise CaptureError("The capture is closed. Read the bodies of messages inside the `with` block.")
        return self.session


class Window:
    """Columns of some rows as lists, each read when it is first asked for."""

    __slots__ = (
        "client", "code", "correlation", "destination", "first_packet", "from_client", "id", "last_packet",
        "latency", "latency_ns", "length", "number", "offset", "operation", "owner", "partner", "protocol", "role",
        "rows", "source", "state", "stream", "stream_id", "time", "time_ns", "version",
    )  # fmt: skip

    def __init__(self, owner: Owner, rows: Ints) -> None:
        self.owner, self.rows = owner, rows

    def __getattr__(self, key: str) -> list[Any]:
        reader = self.owner.reader
        if key == "time_ns":
            found: list[Any] = reader.take_cells("time", self.rows).tolist()
        elif key == "time":
            found = [EPOCH + since for since in make_durations(reader.take_cells("time", self.rows))]
        elif key == "latency":
            latencies = reader.read_latencies(self.rows)
            found = make_durations(latencies.numbers)
            for place in () if latencies.null is None else np.flatnonzero(latencies.null).tolist():
                found[place] = None
        elif key in Window.__slots__:
            found = reader.read_column(key, self.rows).values()
        else:
            raise AttributeError(key)
        setattr(self, key, found)
        return found


class Message(Display):
    """One message of a capture. Its headers come from the index; `values`, `tree` and `text` decode it.

    `message["topics"]` is a field of its body, as in `values`.
    """

    __slots__ = ("_body", "_place", "_window")

    def __init__(self, window: Window, place: int) -> None:
        self._window, self._place = window, place
        self._body: Body | None = None

    def __repr__(self) -> str:
        what = self.operation or self.protocol
        version = "" if self.version is None else f" v{self.version}"
        return (
            f"<Message {self.number}: {self.protocol} {what}{version} {self.role} {self.source} > {self.destination}>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self._window.owner is other._window.owner and self._row == other._row

    def __hash__(self) -> int:
        return hash((id(self._window.owner), self._row))

    def __getitem__(self, field: str) -> Any:
        """Returns a field of the body. Raises KeyError, which names the fields that there are."""
        return get_field(self.values, field)

    @property
    def _row(self) -> int:
        return int(self._window.rows[self._place])

    @property
    def number(self) -> int:
        """The number of the message in its capture, from 1, as `list` prints it."""
        return self._window.number[self._place]  # type: ignore[no-any-return]

    @property
    def id(self) -> str:
        """`CLIENT>SERVER/c/OFFSET` or `.../s/OFFSET`; it stays the same if files are added."""
        return self._window.id[self._place]  # type: ignore[no-any-return]

    @property
    def time(self) -> datetime:
        """When the packet that completed the message was captured, in UTC, to a microsecond."""
        return self._window.time[self._place]  # type: ignore[no-any-return]

    @property
    def time_ns(self) -> int:
        """The time of the message in nanoseconds since 1970."""
        return self._window.time_ns[self._place]  # type: ignore[no-any-return]

    @property
    def stream(self) -> int:
        """The number of the connection, from 0."""
        return self._window.stream[self._place]  # type: ignore[no-any-return]

    @property
    def stream_id(self) -> str:
        """The id of the connection, as `CLIENT>SERVER`, the same in every run."""
        return self._window.stream_id[self._place]  # type: ignore[no-any-return]

    @property
    def protocol(self) -> str:
        """The protocol, `unknown` for bytes without framing."""
        return self._window.protocol[self._place]  # type: ignore[no-any-return]

    @property
    def source(self) -> str:
        """The sender's address and port, as `10.0.0.1:9092`."""
        return self._window.source[self._place]  # type: ignore[no-any-return]

    @property
    def destination(self) -> str:
        """The receiver's address and port, as `10.0.0.1:9092`."""
        return self._window.destination[self._place]  # type: ignore[no-any-return]

    @property
    def from_client(self) -> bool:
        """Whether the side that opened the connection sent it."""
        return self._window.from_client[self._place]  # type: ignore[no-any-return]

    @property
    def role(self) -> str:
        """`request`, `response`, `oneway`, `push` or `raw`."""
        return self._window.role[self._place]  # type: ignore[no-any-return]

    @property
    def operation(self) -> str | None:
        """The protocol's own name of what is done; on a response its request's."""
        return self._window.operation[self._place]  # type: ignore[no-any-return]

    @property
    def code(self) -> int | None:
        """The number of the operation on the wire; None if it is unknown."""
        return self._window.code[self._place]  # type: ignore[no-any-return]

    @property
    def version(self) -> int | None:
        """The version of the operation (Kafka); None in other protocols, or if it is unknown."""
        return self._window.version[self._place]  # type: ignore[no-any-return]

    @property
    def correlation(self) -> int | str | None:
        """The number that pairs a response with its request; a text if the number has a scope (Pulsar)."""
        return self._window.correlation[self._place]  # type: ignore[no-any-return]

    @property
    def client(self) -> str | None:
        """How the client calls itself."""
        return self._window.client[self._place]  # type: ignore[no-any-return]

    @property
    def length(self) -> int:
        """The number of bytes on the wire, with the length prefix."""
        return self._window.length[self._place]  # type: ignore[no-any-return]

    @property
    def offset(self) -> int:
        """The place of its first byte in its direction of the connection."""
        return self._window.offset[self._place]  # type: ignore[no-any-return]

    @property
    def first_packet(self) -> int:
        """The packet that has its first byte."""
        return self._window.first_packet[self._place]  # type: ignore[no-any-return]

    @property
    def last_packet(self) -> int:
        """The packet that completed it."""
        return self._window.last_packet[self._place]  # type: ignore[no-any-return]

    @property
    def state(self) -> str:
        """`complete`, `partial`, `guessed` or `undecoded`."""
        return self._window.state[self._place]  # type: ignore[no-any-return]

    @property
    def latency_ns(self) -> int | None:
        """On a response: nanoseconds since its request."""
        return self._window.latency_ns[self._place]  # type: ignore[no-any-return]

    @property
    def latency(self) -> timedelta | None:
        """The time from the request to this response as a timedelta, rounded down to a microsecond; None if unknown."""
        return self._window.latency[self._place]  # type: ignore[no-any-return]

    @property
    def partner(self) -> Message | None:
        """The response of a request, or the request of a response."""
        number = self._window.partner[self._place]
        return None if number is None else Message(Window(self._window.owner, np.array([number - 1])), 0)

    @property
    def data(self) -> bytes:
        """The bytes of the message, up to the first lost one."""
        return read_message(self._window.owner.open_session(), self._row)

    @property
    def values(self) -> Mapping[str, Any]:
        """The decoded fields by name: numbers, texts, bytes, lists, dictionaries; passwords and tokens are Secret."""
        return self._decode().values

    @property
    def error(self) -> ReportedError | None:
        """The first error that the message reports."""
        error = self._decode().error
        return None if error is None else ReportedError(*error)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about this message."""
        return decode_body(self._window.owner.open_session(), self._row).findings

    @property
    def info(self) -> str:
        """The line for people, as `list` prints it for programs."""
        return str(self._read_keys(("info",))["info"] or "")

    @property
    def tree(self) -> Tree:
        """The decoded fields with the place of each. It has the values of secret fields; `text` masks them."""
        return decode_tree(self._window.owner.open_session(), self._row)

    def to_dict(self) -> dict[str, Any]:
        """Returns the object that `list --format ndjson --fields` prints: plain JSON values, secrets masked."""
        return make_plain(self._read_keys((*ROW_KEYS, "fields")))

    def read_field(self, field: str) -> Sequence[Any]:
        """Returns the values of a field by its path, such as `kafka.topic`, with names in place of ids.

        Raises UsageError for an unknown field.
        """
        from analyzer.query.column_names import resolve_key
        from analyzer.query.fields import FieldReader

        with translate_errors():
            key = resolve_key(field, "field")
        if isinstance(key, str):
            return [self._read_keys((key,))[key]]
        owner = self._window.owner
        owner.open_session()
        return list(FieldReader(owner.reader, [key]).read_by_row(key, np.array([self._row]))[0])

    def format_lines(self, *, show_secrets: bool = False) -> Iterator[Line]:
        """Yields the lines that `show` prints, with their styles."""
        from analyzer.render.shown import format_row

        return format_row(self._window.owner.open_session(), self._row, Limits(show_secrets=show_secrets))

    def _decode(self) -> Body:
        """The body without the findings of the index, which cost more than decoding."""
        if self._body is None:
            session, row = self._window.owner.open_session(), self._row
            dissector = find_dissector(session, row)
            if dissector is None or self.length > LONG:
                self._body = decode_body(session, row)
            else:
                self._body = defects.decode_values(dissector, read_message(session, row), read_context(session, row))
        return self._body

    def _read_keys(self, keys: Sequence[str]) -> dict[str, Any]:
        owner = self._window.owner
        owner.open_session()
        (found,) = owner.reader.read_objects(keys, np.array([self._row]))
        return found


class DecodedMessage(Display):
    """A message that was given as bytes, without a capture."""

    __slots__ = ("_dissector", "_piece", "_uncertain")

    def __init__(self, dissector: Dissector, piece: PastedMessage, *, uncertain: bool) -> None:
        self._dissector, self._piece, self._uncertain = dissector, piece, uncertain

    def __repr__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        return f"<DecodedMessage: {self.protocol} {self.operation}{version} {self.role}, {len(self.data)} bytes>"

    def __getitem__(self, field: str) -> Any:
        """Returns a field of the body. Raises KeyError, which names the fields that there are."""
        return get_field(self.values, field)

    @property
    def protocol(self) -> str:
        """The protocol that the bytes were decoded as."""
        return self._dissector.name

    @property
    def role(self) -> str:
        """`request`, `response`, `oneway`, `push` or `raw`."""
        return self._piece.header.role.name.lower()

    @property
    def operation(self) -> str | None:
        """The protocol's own name of what is done."""
        return self._piece.header.operation

    @property
    def code(self) -> int | None:
        """The number of the operation on the wire; None if it is unknown."""
        return self._piece.header.code

    @property
    def version(self) -> int | None:
        """The version of the operation (Kafka); None in other protocols, or if it is unknown."""
        return self._piece.header.version

    @property
    def correlation(self) -> int | str | None:
        """The number that pairs a response with its request; a text if the number has a scope (Pulsar)."""
        return self._piece.header.key

    @property
    def client(self) -> str | None:
        """How the client calls itself."""
        return self._piece.header.client

    @property
    def state(self) -> str:
        """`complete`, `partial`, `guessed` or `undecoded`."""
        return "guessed" if self._uncertain else self._piece.header.state.name.lower()

    @property
    def data(self) -> bytes:
        """The bytes of the message."""
        return self._piece.data

    @property
    def values(self) -> Mapping[str, Any]:
        """The decoded fields by name; see Message.values."""
        return self._decode().values

    @property
    def error(self) -> ReportedError | None:
        """The first error that the message reports."""
        error = self._decode().error
        return None if error is None else ReportedError(*error)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about this message."""
        return self._decode().findings

    @property
    def info(self) -> str:
        """The summary line of the message."""
        return defects.format_info(self._dissector, self._decode(), self._piece.context)

    @property
    def tree(self) -> Tree:
        """The decoded fields with the place of each; see Message.tree."""
        return defects.decode_tree(self._dissector, self._piece.data, self._piece.context)

    def format_lines(self, *, show_secrets: bool = False) -> Iterator[Line]:
        """Yields the lines that `decode` prints, with their styles."""
        from analyzer.render.message_text import format_message
        from analyzer.render.pasted_message import decode_pasted

        message, tree = decode_pasted(self._dissector, self._piece, self._uncertain)
        return format_message(message, tree, Limits(show_secrets=show_secrets))

    def _decode(self) -> Body:
        return defects.decode_values(self._dissector, self._piece.data, self._piece.context)


def iterate_messages(owner: Owner, parts: Iterable[Ints]) -> Iterator[Message]:
    """Yields a message for each row of some parts."""
    for rows in parts:
        for first in range(0, len(rows), WINDOW):
            window = Window(owner, rows[first : first + WINDOW])
            yield from map(partial(Message, window), range(len(window.rows)))


def make_durations(nanoseconds: Ints) -> list[Any]:
    """Returns durations in ns as timedeltas, cut to a microsecond."""
    found: list[Any] = (nanoseconds // 1000).astype("timedelta64[us]").tolist()
    return found


def make_plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns decoded values as JSON has them: bytes as hex, secrets masked."""
    import orjson

    from analyzer.decode.jsonable import JsonWriter

    found: dict[str, Any] = orjson.loads(JsonWriter().dumps(value))
    return found


def get_field(values: Mapping[str, Any], field: str) -> Any:
    """Returns a field of a body. Raises KeyError, which names the fields that there are."""
    try:
        return values[field]
    except KeyError:
        raise KeyError(f"There is no field {field!r}. This message has {', '.join(values) or 'none'}.") from None
