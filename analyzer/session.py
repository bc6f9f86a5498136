"""What every front end holds: a capture opened, its rows, and any row decoded when somebody looks.

A session knows no output format. `load` reads to the end; `grow` yields ranges of new rows as blocks come (a pipe, a
file that grows). Decoding is for one row at a time and keeps nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice, takewhile
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from analyzer.capture.packets import FlowTable, PacketBlock, Packets, Reader
from analyzer.capture.store import Store
from analyzer.capture.succession import Succession
from analyzer.columns.arrays import Bools, Ints, Names, given, given64, ranks
from analyzer.decode import defects, raw
from analyzer.decode.defects import UNREAD, UNREAD_SECRET
from analyzer.decode.request_fields import Recalled
from analyzer.errors import UserError
from analyzer.messages import row_findings
from analyzer.messages.comments import Comments
from analyzer.messages.decode_as import Orders, Where, known_of, together
from analyzer.messages.engine import Engine
from analyzer.messages.eviction import Leaving
from analyzer.messages.hosts import Hosts
from analyzer.messages.index import FROM_CLIENT
from analyzer.messages.paged_message import LONG, Pieced
from analyzer.messages.stream_findings import Located
from dissectors.api import Body, Context, Dissector, MessageHeader, Role, State, Window
from dissectors.field import Field, FieldSpec, Tree
from dissectors.finding import Finding
from dissectors.registry import Ports
from dissectors.wire.bulk import NULL

if TYPE_CHECKING:
    from analyzer.query.fields.sessions import Sessions

Readable = tuple[Dissector | None, bytes | Window, Context]
MakeTree = Callable[[Dissector, bytes, Context], Tree]

SHOWN_GAP = 1 << 20
"""Lost bytes up to here are zeros in a tree's source, so that what comes behind them can be dumped."""

LOST = FieldSpec("lost", "gap")

_EPOCH = datetime(1970, 1, 1)


class Blocks(Protocol):
    """Where packets come from: Packets, or whoever else has pointers to them (a Spark partition)."""

    @property
    def store(self) -> Store:
        """The bytes that the packets' locations mean."""

    @property
    def flows(self) -> FlowTable:
        """Their connections."""

    @property
    def findings(self) -> list[Finding]:
        """What was damaged, as far as blocks() has been read."""

    def blocks(self) -> Iterator[PacketBlock]:
        """The packets; those of one connection in the order of time, their numbers rising. To be read once."""

    def close(self) -> None:
        """Locations are no longer readable."""


class Analysis:
    """Blocks of packets, read into rows, and all that can be asked of these. `ended`: all of them have been read."""

    def __init__(self, source: Blocks, known: Ports, *, orders: Orders | None = None, use_bulk: bool = True) -> None:
        self.source = source
        self.engine = Engine(source.store, source.flows, known, orders=orders, use_bulk=use_bulk)
        self.rows = self.engine.rows
        self.comments = Comments(None, self.rows, self.engine.pieces)
        self.hosts = Hosts((), source.flows, self.engine.streams, self.rows)
        self._leaving = Leaving(self.engine, source.store)
        self.recalled = Recalled(self)
        self._sessions: Sessions | None = None
        self.ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the captures; the tables stay readable, the bytes do not."""
        self.source.close()

    def grow(self) -> Iterator[range]:
        """Reads on; yields the numbers of the rows that each block closed, the last when the input has ended."""
        # By map, which keeps no block: when the source ends, the last one has gone, and its memory can be given back.
        for closed in map(self.engine.feed, self.source.blocks()):
            yield closed
            self._leaving.age()
            if self._leaving.has_nothing_before(self._gone):  # no row has to leave for that, so nobody is told
                self._leave(self.first)
        closed = self.engine.finish()
        self.ended = True
        yield closed

    @property
    def first(self) -> int:
        """The rows before it have left (0: none): they are counted, and cannot be read. Numbers never change.

        From any thread; but rows leave while others are read, so who reads rows in a thread of its own asks before,
        and once more behind it whether they were still there.
        """
        return self.rows.first

    @property
    def held(self) -> int:
        """Bytes that the tables hold for what has not left."""
        return self._leaving.held

    def due(self, limit: int | None) -> int:
        """The row before which rows should leave: `first` where none should.

        That is: so many that at most seven eighths of `limit` (bytes) are `held` again, if it is more than that; and
        those that closed in files which a ring took away. The last thousand stay. Who asks follows something that may
        never end: from then on what is silent or never whole is forgotten, too (see analyzer.messages.eviction).
        """
        return self._leaving.due(limit, self._gone)

    def leave(self, before: int) -> None:
        """Rows before a number leave; by the thread that reads, between two blocks. Nothing, if they have left.

        Of an exchange of which one half has left the other has no partner, and no latency.
        """
        if before > self.first:
            self._leave(before)

    def _leave(self, before: int) -> None:
        if self._sessions is not None:
            self._sessions.leave(before, self._leaving.staying(before))
        self._release(self._leaving.leave(before, self._gone))

    @property
    def _gone(self) -> int:
        """The first packet that lies in no file that a ring took away."""
        return 1

    def _release(self, packet: int) -> None:
        """Nobody will ask for packets before that."""

    def grow_within(self, limit: int | None) -> Iterator[range]:
        """The same, and rows that are due leave as soon as the next ones are asked for; limit: see due."""
        for closed in self.grow():
            yield closed
            self.leave(self.due(limit))

    def load(self, ends: Callable[[], Iterable[int]] | None = None) -> Self:
        """Reads all inputs to their end.

        ends: asked when they have been read for the streams that have ended with them; None: all. Others are only left.
        """
        if ends is None:
            for _ in self.grow():
                pass
        else:
            for _ in map(self.engine.feed, self.source.blocks()):
                pass
            self.engine.finish(ends())
            self.ended = True
        return self

    @property
    def sessions(self) -> Sessions:
        """What requests ask for that name only what has changed."""
        if self._sessions is None:
            from analyzer.query.fields.sessions import (
                Sessions,  # it reads fields of bodies, which hardly anybody asks for
            )

            self._sessions = Sessions(self)
        return self._sessions

    @property
    def names(self) -> Names:
        """Operations and clients by number."""
        return self.engine.names

    @property
    def findings(self) -> list[Finding]:
        """What belongs to no row: damaged files, gaps, conflicts."""
        return [finding for finding, _ in self.located]

    @property
    def located(self) -> list[Located]:
        """The same with the stream of each."""
        files, left = ([(each, None) for each in found] for found in (self.source.findings, self._leaving.findings()))
        return [*files, *self.engine.remarks.located, *left]

    def cell(self, name: str, row: int) -> int | None:
        """One integer of a 32-bit column of the index; None for null."""
        return given(self.rows.cell(name, row))

    def dissector(self, row: int) -> Dissector | None:
        """Who reads this row; None for raw bytes."""
        return self.engine.dissector(self.rows.cell("protocol", row))

    def header(self, row: int) -> MessageHeader:
        """What the index knows of a row."""
        cell = self.rows.cell
        role, state, scope = Role(cell("role", row)), State(cell("state", row)), self.names.text(cell("scope", row))
        return MessageHeader(
            role,
            self.names.text(cell("operation", row)),
            self.cell("code", row),
            self.cell("version", row),
            given64(cell("correlation", row), scoped=scope is not None),
            self.names.text(cell("client", row)),
            state,
            scope,
        )

    def context(self, row: int) -> Context:
        """What decoding this row needs from earlier."""
        return self.context_of(*(self.rows.cell(name, row) for name in ("role", "code", "version", "extra")))

    def context_of(self, role: int, code: int, version: int, extra: int) -> Context:
        """The same of rows that have these cells."""
        return Context(Role(role), given(code), given(version), None if extra == NULL else self.engine.extras[extra])

    def pieces(self, row: int) -> list[tuple[int, int, int]]:
        """Location (negative: lost), length and packet of each piece of a row's bytes, in order."""
        first = self.rows.cell("pieces", row)
        last = first + self.rows.cell("count", row)
        columns = (self.engine.pieces.column(name)[first:last].tolist() for name in ("at", "length", "packet"))
        return list(zip(*columns, strict=True))

    def message(self, row: int) -> bytes:
        """The bytes of a row up to the first that is lost."""
        first = self.rows.cell("pieces", row)
        at = self.engine.pieces.cell("at", first)
        if self.rows.cell("count", row) == 1 and at >= 0:
            return self.source.store.read(at, self.engine.pieces.cell("length", first))
        if self.rows.cell("length", row) > LONG:
            return defects.whole(self.window(row))  # its pieces are never there twice
        parts: list[bytes] = []
        for at, length, _ in self.pieces(row):
            if at < 0:
                break
            parts.append(self.source.store.read(at, length))
        return b"".join(parts)

    def readable(self, rows: Ints) -> list[Readable]:
        """What decoding needs, for many rows at once: the dissector (None for raw bytes), the bytes, the context.

        The bytes are as contents() gives them.
        """
        columns = [self.rows.column(name)[rows].tolist() for name in ("protocol", "role", "code", "version", "extra")]
        contexts: dict[tuple[int, ...], tuple[Dissector | None, Context]] = {}
        found: list[Readable] = []
        for message, key in zip(self.contents(rows), zip(*columns, strict=True), strict=True):
            known = contexts.get(key)
            if known is None:
                known = contexts[key] = self.engine.dissector(key[0]), self.context_of(*key[1:])
            found.append((known[0], message, known[1]))
        return found

    def contents(self, rows: Ints) -> Sequence[bytes | Window]:
        """The bytes of rows, each up to the first that is lost; of long ones with a dissector, a window on them."""
        long = (self.rows.column("length")[rows] > LONG) & (self.rows.column("protocol")[rows] >= 0)
        if not long.any():
            return self.messages(rows)
        found: list[bytes | Window] = [b""] * len(rows)
        for place, message in zip(np.flatnonzero(~long).tolist(), self.messages(rows[~long]), strict=True):
            found[place] = message
        for place in np.flatnonzero(long).tolist():
            found[place] = self.window(int(rows[place]))
        return found

    def window(self, row: int) -> Window:
        """The bytes of a row up to the first that is lost, read when they are asked for."""
        first = self.rows.cell("pieces", row)
        last = first + self.rows.cell("count", row)
        at, length = (self.engine.pieces.column(name)[first:last] for name in ("at", "length"))
        lost = np.flatnonzero(at < 0)[:1].tolist()
        return Pieced(self.source.store, at[: lost[0]] if lost else at, length[: lost[0]] if lost else length)

    def messages(self, rows: Ints) -> list[bytes]:
        """The bytes of rows, each up to the first that is lost."""
        first = self.rows.column("pieces")[rows]
        at, length = self.engine.pieces.column("at")[first], self.engine.pieces.column("length")[first]
        several = (self.rows.column("count")[rows] > 1) | (at < 0)
        found = self.source.store.read_many(np.where(several, 0, at), np.where(several, 0, length))
        places = np.flatnonzero(several)
        for place, message in zip(places.tolist(), self._joined(rows[places]), strict=True):
            found[place] = message
        return found

    def _joined(self, rows: Ints) -> Iterator[bytes]:
        """The bytes of rows that have several pieces, or lost ones; all pieces are read in one go."""
        count = self.rows.column("count")[rows].astype(np.int64)
        piece = np.repeat(self.rows.column("pieces")[rows], count) + ranks(count)
        at, length = self.engine.pieces.column("at")[piece], self.engine.pieces.column("length")[piece]
        parts = iter(self.source.store.read_many(np.where(at < 0, 0, at), np.where(at < 0, 0, length)))
        there = iter((at >= 0).tolist())
        for pieces in count.tolist():
            mine = list(islice(parts, pieces))
            whole = sum(1 for _ in takewhile(bool, list(islice(there, pieces))))
            yield b"".join(mine[:whole])

    def body(self, row: int) -> Body:
        """A row decoded to values, with all that is to be said of it."""
        dissector = self.dissector(row)
        if dissector is None:
            return raw.body(self, row, self.message(row))
        (message,) = self.contents(np.array([row]))
        return self.remarked(row, defects.values(dissector, message, self.context(row)))

    def remarked(self, row: int, body: Body, remarks: Sequence[Finding] | None = None) -> Body:
        """A body with what the index knows of its row; remarks: that, where it is known already."""
        known = self.remarks(row) if remarks is None else remarks
        return body._replace(findings=(*known, *self._of_body(row, body.findings)))

    def tree(self, row: int, make: MakeTree = defects.tree) -> Tree:
        """A row as an annotated tree; lost bytes are leaves of it. make: another way to make it of the bytes."""
        dissector = self.dissector(row)
        message = self.message(row)
        if dissector is None:
            tree = raw.tree(self, row, message)
        else:
            tree = make(dissector, message, self.context(row))
            tree.findings[:] = [*self.remarks(row), *self._of_body(row, tree.findings)]
        self._add_lost(row, tree)
        return tree

    def info(self, row: int, body: Body) -> str:
        """One line for people."""
        dissector = self.dissector(row)
        if dissector is None:
            return raw.line(self, row, self.message(row), body)
        context = self.context(row)
        return defects.info(dissector, self.recalled.body(row, body, dissector, context), context)

    def remarks(self, row: int) -> list[Finding]:
        """What the index itself has to say of a row, as far as the input has been read."""
        return list(row_findings.findings_of(int(self.remarks_of(np.array([row]), late=self.ended)[0])))

    def remarks_of(self, rows: Ints, *, late: bool) -> Ints:
        """The same of many rows, as bits; see row_findings.remarks."""
        found = row_findings.remarks(self.rows, self.engine.streams, rows, late=late)
        left = np.flatnonzero(found & row_findings.LEFT)
        if len(left):
            found[left[self._held(rows[left])]] &= ~row_findings.LEFT
        return found

    def _held(self, rows: Ints) -> Bools:
        """Which rows are requests that a server may hold; see Dissector.held."""
        protocol, code = (self.rows.column(name)[rows] for name in ("protocol", "code"))
        found = np.zeros(len(rows), bool)
        for number in np.unique(protocol).tolist():
            dissector = self.engine.dissector(number)
            if dissector is not None and dissector.held:
                found |= (protocol == number) & np.isin(code, sorted(dissector.held))
        return found

    def endpoint(self, stream: int, side: int) -> str:
        """`address:port` of a stream's client (FROM_CLIENT) or server."""
        client = max(self.engine.streams.cell("client", stream), 0)
        flow = self.engine.streams.cell("flow", stream)
        return self.source.flows.endpoint(flow, client if side == FROM_CLIENT else 1 - client)

    def stream_id(self, stream: int) -> str:
        """`CLIENT>SERVER`, with `#n` for the n-th reuse of the same addresses."""
        reuse = self.engine.streams.cell("reuse", stream)
        name = f"{self.endpoint(stream, FROM_CLIENT)}>{self.endpoint(stream, 1 - FROM_CLIENT)}"
        return f"{name}#{reuse}" if reuse else name

    def _of_body(self, row: int, findings: Sequence[Finding]) -> list[Finding]:
        """A body that breaks because bytes are missing is no malformed body."""
        if self.rows.cell("state", row) != State.PARTIAL:
            return list(findings)
        return [finding for finding in findings if finding.code != "malformed-body"]

    def _add_lost(self, row: int, tree: Tree) -> None:
        """Leaves for what comes behind the first lost byte: gaps, and bytes that can't be read without them.

        Where the tree ends in something secret, such bytes may be more of it.
        """
        pieces = self.pieces(row)
        if all(at >= 0 for at, _, _ in pieces):
            return
        offset = len(tree.sources[0].data)
        parts = [tree.sources[0].data]
        unread = UNREAD_SECRET if tree.fields and tree.fields[-1].spec.secret else UNREAD
        for at, length, _ in pieces[next(index for index, (at, _, _) in enumerate(pieces) if at < 0) :]:
            data = None if at < 0 else self.source.store.read(at, length)
            tree.fields.append(Field(LOST if data is None else unread, data, offset, length))
            if sum(map(len, parts)) == offset and (data is not None or length <= SHOWN_GAP):
                parts.append(bytes(length) if data is None else data)
            offset += length
        tree.sources[0] = replace(tree.sources[0], data=b"".join(parts), declared=offset)

    def packets_of(self, row: int) -> list[dict[str, int | str | bool]]:
        """The packets that brought a row's bytes, retransmissions among them; `offset` counts in the message."""
        offset = 0
        found: list[tuple[int, int, int, int, bool]] = []
        first = self.rows.cell("pieces", row)
        pieces = self.engine.pieces
        for index in range(first, first + self.rows.cell("count", row)):
            length = pieces.cell("length", index)
            if pieces.cell("at", index) >= 0:
                found.append((pieces.cell("packet", index), pieces.cell("time", index), offset, length, False))
            offset += length
        found += self._repeated(row)
        return [
            {
                "number": packet,
                "time": iso_time(time),
                "offset": at,
                "length": length,
                "retransmission": again,
            }
            for packet, time, at, length, again in sorted(found)
        ]

    def _repeated(self, row: int) -> list[tuple[int, int, int, int, bool]]:
        """Retransmissions of bytes of a row, as (packet, time, offset in the message, length, True)."""
        stream, begin = self.rows.cell("stream", row), self.rows.cell("offset", row)
        end = begin + self.rows.cell("length", row)
        client = self.engine.streams.cell("client", stream)
        side = client if self.rows.cell("side", row) == FROM_CLIENT else 1 - client
        repeats = self.engine.repeats
        columns = (repeats.column(name)[repeats.first :] for name in ("stream", "side", "offset", "length"))
        of_stream, of_side, offset, length = columns
        same = (of_stream == stream) & (of_side == side)
        places = (np.flatnonzero(same & (offset < end) & (offset + length > begin)) + repeats.first).tolist()
        found = []
        for place in places:
            at, size = repeats.cell("offset", place), repeats.cell("length", place)
            inside, stop = max(at, begin), min(at + size, end)
            packet, time = repeats.cell("packet", place), repeats.cell("time", place)
            found.append((packet, time, inside - begin, stop - inside, True))
        return found


class Session(Analysis):
    """Captures, or a succession of files, as one timeline of messages. Raises CaptureError if one can't be opened.

    names: whether addresses have the names that the captures tell (`hosts`).
    """

    def __init__(
        self,
        inputs: Sequence[str | PathLike[str]] | Succession,
        *,
        decode_as: Mapping[int, str] | Mapping[Where, str] | None = None,
        reader: Reader = "native",
        follow: bool = False,
        use_bulk: bool = True,
        block: int = 32_768,
        names: bool = True,
    ) -> None:
        known, orders = known_of(decode_as)
        self.packets = Packets(inputs, reader=reader, follow=follow, block=block)
        self._inputs, self._told, self._reader, self._names = inputs, decode_as, reader, names
        super().__init__(self.packets, known, orders=orders, use_bulk=use_bulk)
        self.comments = Comments(self.packets.comments, self.rows, self.engine.pieces)
        if names:
            self.hosts = Hosts(self.packets.files, self.packets.flows, self.engine.streams, self.rows)

    @property
    def reader(self) -> Reader:
        """Who reads the captures."""
        return self._reader

    @property
    def _gone(self) -> int:
        return self.packets.gone

    def _release(self, packet: int) -> None:
        self.packets.release(packet)

    def again(self, where: Where, protocol: str) -> Session:
        """The same files, not yet read, with one word more about who speaks what. Raises UserError for a pipe."""
        told = together((*(self._told or {}).items(), (where, protocol)))
        if isinstance(self._inputs, Succession):
            if not self._inputs.over:
                raise UserError("what is still being captured can't be read again: stop the capture first")
            return Session(self._inputs.again(), decode_as=told, names=self._names)
        if not all(map(os.path.isfile, self._inputs)):
            raise UserError(
                "what came through a pipe can't be read again: keep it in a file, or say -d when it is opened"
            )
        return Session(self._inputs, decode_as=told, reader=self._reader, names=self._names)


def iso_time(time: int) -> str:
    """`2026-11-21T10:00:00.123456789Z` of ns since 1970."""
    seconds, rest = divmod(time, 10**9)
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()}.{rest:09d}Z"
