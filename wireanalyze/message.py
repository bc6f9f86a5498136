"""Messages as Python objects: light views on the columns of the index.

Theory. A message of a capture is a place in a window of rows. The window reads a column when the first of its messages
is asked for it, for all of them at once; so a loop over headers costs a list index each, and a loop that asks for
bodies decodes these only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.decode.content import find_dissector, read_context, read_message
from analyzer.decode.limits import Limits
from analyzer.decode.rows import ROW_KEYS
from analyzer.messages import defects
from analyzer.messages.paged_message import LONG
from analyzer.render.lines import Line
from analyzer.session import Session
from dissectors.api import Body
from dissectors.field import Tree
from dissectors.finding import Finding
from wireanalyze.errors import translate_errors
from wireanalyze.message_base import MessageBase
from wireanalyze.window import Owner, Window

WINDOW = 4096
"""Rows whose columns are read at one time."""


class Message(MessageBase):
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

    @property
    def _row(self) -> int:
        return int(self._window.rows[self._place])

    @property
    def number(self) -> int:
        """The number of the message in its capture, from 1, as `list` prints it."""
        return self._window.number[self._place]

    @property
    def id(self) -> str:
        """`CLIENT>SERVER/c/OFFSET` or `.../s/OFFSET`; it stays the same if files are added."""
        return self._window.id[self._place]

    @property
    def time(self) -> datetime:
        """When the packet that completed the message was captured, in UTC, to a microsecond."""
        return self._window.time[self._place]

    @property
    def time_ns(self) -> int:
        """The time of the message in nanoseconds since 1970."""
        return self._window.time_ns[self._place]

    @property
    def stream(self) -> int:
        """The number of the connection, from 0."""
        return self._window.stream[self._place]

    @property
    def stream_id(self) -> str:
        """The id of the connection, as `CLIENT>SERVER`, the same in every run."""
        return self._window.stream_id[self._place]

    @property
    def protocol(self) -> str:
        """The protocol, `unknown` for bytes without framing."""
        return self._window.protocol[self._place]

    @property
    def source(self) -> str:
        """The sender's address and port, as `10.0.0.1:9092`."""
        return self._window.source[self._place]

    @property
    def destination(self) -> str:
        """The receiver's address and port, as `10.0.0.1:9092`."""
        return self._window.destination[self._place]

    @property
    def from_client(self) -> bool:
        """Whether the side that opened the connection sent it."""
        return self._window.from_client[self._place]

    @property
    def role(self) -> str:
        """`request`, `response`, `oneway`, `push` or `raw`."""
        return self._window.role[self._place]

    @property
    def operation(self) -> str | None:
        """The protocol's own name of what is done; on a response its request's."""
        return self._window.operation[self._place]

    @property
    def code(self) -> int | None:
        """The number of the operation on the wire; None if it is unknown."""
        return self._window.code[self._place]

    @property
    def version(self) -> int | None:
        """The version of the operation (Kafka); None in other protocols, or if it is unknown."""
        return self._window.version[self._place]

    @property
    def correlation(self) -> int | str | None:
        """The number that pairs a response with its request; a text if the number has a scope (Pulsar)."""
        return self._window.correlation[self._place]

    @property
    def client(self) -> str | None:
        """How the client calls itself."""
        return self._window.client[self._place]

    @property
    def length(self) -> int:
        """The number of bytes on the wire, with the length prefix."""
        return self._window.length[self._place]

    @property
    def offset(self) -> int:
        """The place of its first byte in its direction of the connection."""
        return self._window.offset[self._place]

    @property
    def first_packet(self) -> int:
        """The packet that has its first byte."""
        return self._window.first_packet[self._place]

    @property
    def last_packet(self) -> int:
        """The packet that completed it."""
        return self._window.last_packet[self._place]

    @property
    def state(self) -> str:
        """`complete`, `partial`, `guessed` or `undecoded`."""
        return self._window.state[self._place]

    @property
    def latency_ns(self) -> int | None:
        """On a response: nanoseconds since its request."""
        return self._window.latency_ns[self._place]

    @property
    def latency(self) -> timedelta | None:
        """The time from the request to this response as a timedelta, rounded down to a microsecond; None if unknown."""
        return self._window.latency[self._place]

    @property
    def partner(self) -> Message | None:
        """The response of a request, or the request of a response."""
        number = self._window.partner[self._place]
        return None if number is None else Message(Window(self._window.owner, np.array([number - 1])), 0)

    @property
    def data(self) -> bytes:
        """The bytes of the message, up to the first lost one."""
        return read_message(self._open(), self._row)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about this message."""
        return decode_body(self._open(), self._row).findings

    @property
    def info(self) -> str:
        """The line for people, as `list` prints it for programs."""
        return str(self._read_keys(("info",))["info"] or "")

    @property
    def tree(self) -> Tree:
        """The decoded fields with the place of each. It has the values of secret fields; `text` masks them."""
        return decode_tree(self._open(), self._row)

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
        self._open()
        return list(FieldReader(self._window.owner.reader, [key]).read_by_row(key, np.array([self._row]))[0])

    def format_lines(self, *, show_secrets: bool = False) -> Iterator[Line]:
        """Yields the lines that `show` prints, with their styles."""
        from analyzer.render.shown import format_row

        return format_row(self._open(), self._row, Limits(show_secrets=show_secrets))

    def _open(self) -> Session:
        """The session, in which the row of the message is. Raises CaptureError."""
        owner = self._window.owner
        owner.check_row(self._row)
        return owner.open_session()

    def _decode(self) -> Body:
        """The body without the findings of the index, which cost more than decoding."""
        if self._body is None:
            session, row = self._open(), self._row
            dissector = find_dissector(session, row)
            if dissector is None or self.length > LONG:
                self._body = decode_body(session, row)
            else:
                self._body = defects.decode_values(dissector, read_message(session, row), read_context(session, row))
        return self._body

    def _read_keys(self, keys: Sequence[str]) -> dict[str, Any]:
        self._open()
        (found,) = self._window.owner.reader.read_objects(keys, np.array([self._row]))
        return found


def iterate_messages(owner: Owner, parts: Iterable[Ints]) -> Iterator[Message]:
    """Yields a message for each row of some parts."""
    for rows in parts:
        for first in range(0, len(rows), WINDOW):
            window = Window(owner, rows[first : first + WINDOW])
            yield from map(partial(Message, window), range(len(window.rows)))


def make_plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns decoded values as JSON has them: bytes as hex, secrets masked."""
    import orjson

    from analyzer.decode.jsonable import JsonWriter

    found: dict[str, Any] = orjson.loads(JsonWriter().dumps(value))
    return found
