"""Assembles rows from bytes in order: recognises the protocol, cuts messages, and pairs responses with requests.

Bytes of a TLS connection are decrypted first, if there are keys. Bytes wait until the protocol is known. Then two
framers cut messages, and the conversation pairs them. A row closes with the packet that completes its message;
unfinished rows close with FIN, RST or the end of the capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from analyzer.messages.connection import Connection, PendingRow
from analyzer.messages.framing import FramedBytes, StreamFramer
from analyzer.messages.index import RowMark
from analyzer.messages.recognise import ConnectionEvidence, recognise_protocol
from analyzer.tcp.reassembly import GAP, SNAPPED, Piece
from dissectors.api import HEADLESS, PREFIX, SURE, Outcome, Role, State
from dissectors.registry import Ports

if TYPE_CHECKING:
    from analyzer.messages.tls_layer import TlsLayer, TlsStore
    from analyzer.tls.keys import Secrets

RAW = Outcome(HEADLESS)
NO_MARKS = RowMark(0)


class MessageAssembler:
    """Makes rows from the pieces of a connection's half-streams. `serial` numbers the messages as they are cut.

    secrets: of TLS; None: nothing is decrypted.
    """

    def __init__(
        self, store: TlsStore, known: Ports, serial: Callable[[], int], secrets: Secrets | None = None
    ) -> None:
        self._reader = self._store = store
        self.secrets = secrets
        self._known = known
        self._serial = serial

    def flush(self, connection: Connection, side: int, closed: int) -> list[PendingRow]:
        """Returns rows of the bytes that no message has claimed. Called when a side has ended."""
        if connection.framers is None:
            return []
        frames = connection.framers[side].flush(connection.dissector, self._reader)
        return [self._row(connection, side, frame, closed) for frame in frames]

    def add_pieces(self, connection: Connection, side: int, pieces: list[Piece], closed: int) -> list[PendingRow]:
        """Takes the next pieces of a side, in order, and returns rows; `closed` is the packet that made them ready."""
        rows: list[PendingRow] = []
        for piece in pieces:
            if connection.tls is not None:
                rows += self._decrypt(connection, connection.tls, side, piece, closed)
            else:
                rows += self._add_piece(connection, side, piece, closed)
        return rows

    def _add_piece(self, connection: Connection, side: int, piece: Piece, closed: int) -> list[PendingRow]:
        if connection.framers is not None:
            return self._frame(connection, side, piece, closed)
        connection.undecided.append((side, piece))
        return self.decide(connection, closed, final=False)

    def _decrypt(
        self, connection: Connection, layer: TlsLayer, side: int, piece: Piece, closed: int
    ) -> list[PendingRow]:
        """Takes the next piece of a TLS connection; plaintext replaces the pieces that have waited."""
        rows: list[PendingRow] = []
        waits = not layer.is_open
        if waits:
            connection.undecided.append((side, piece))
        for from_side, plain in layer.feed(side, piece, self._store, self.secrets):
            if waits:
                waits, connection.undecided, connection.client = False, [], layer.session.client
            rows += self._add_piece(connection, from_side, plain, closed)
        if layer.may_get_key(piece, self.secrets):
            rows += self._try_again(connection, layer, closed)
        elif layer.is_refused:
            rows += self._give_up_tls(connection, layer, closed, final=False)
        return rows

    def _try_again(self, connection: Connection, layer: TlsLayer, closed: int) -> list[PendingRow]:
        """Feeds the pieces that wait for a key again, if new keys have come."""
        if self.secrets is None or not (self.secrets.refresh() or layer.version < self.secrets.version):
            return []
        connection.tls = None
        return self._begin_tls(connection, closed) or []

    def _begin_tls(self, connection: Connection, closed: int) -> list[PendingRow] | None:
        """Begins to decrypt if the connection is TLS; returns the rows of the bytes so far, None if it is not."""
        from analyzer.messages.tls_layer import TlsLayer, find_opening  # lazy: only needed with keys

        undecided = connection.undecided
        sides = [[piece for at, piece in undecided if at == side] for side in (0, 1)]
        beginnings = [b"" if pieces and pieces[0].lost else self._first_bytes(pieces, PREFIX) for pieces in sides]
        before = find_opening((beginnings[0], beginnings[1]), connection.client)
        if before is None:
            return None
        version = 0 if self.secrets is None else self.secrets.version
        connection.tls, connection.undecided = TlsLayer(before, version=version), []
        return [row for side, piece in undecided for row in self.add_pieces(connection, side, [piece], closed)]

    def _give_up_tls(self, connection: Connection, layer: TlsLayer, closed: int, final: bool) -> list[PendingRow]:
        """Continues with the bytes as they came, because nothing can be decrypted."""
        connection.tls, connection.tls_facts = None, layer.give_up()
        return self.decide(connection, closed, final)

    def _frame(self, connection: Connection, side: int, piece: Piece, closed: int) -> list[PendingRow]:
        assert connection.framers is not None
        if piece.lost and connection.conversation is not None:
            connection.conversation.note_loss(side == connection.client)
        frames = connection.framers[side].feed(piece, connection.dissector, self._reader)
        return [self._row(connection, side, frame, closed) for frame in frames]

    def decide(self, connection: Connection, closed: int, final: bool) -> list[PendingRow]:
        """Decides the protocol, if the bytes so far are enough or no more will come; returns their rows."""
        if connection.framers is not None or not connection.undecided:
            return []
        if connection.tls is not None and not connection.tls.is_open:
            return self._give_up_tls(connection, connection.tls, closed, final) if final else []
        if self.secrets is not None and connection.tls is None and connection.tls_facts is None:
            rows = self._begin_tls(connection, closed)
            if rows is not None:
                return rows
        early_pieces = connection.undecided
        first, second = ([piece for at, piece in early_pieces if at == side] for side in (0, 1))
        prefixes = (self._beginning(first), self._beginning(second))
        late = connection.tls is None and not any(half.by_syn for half in connection.halves)
        seen = ConnectionEvidence(
            prefixes,
            len(early_pieces),
            connection.ports,
            connection.client,
            final,
            late,
            connection.rule,
            lambda: (self._later_beginnings(first), self._later_beginnings(second)),
        )
        known = self._known if connection.tls is None else self._known.decrypted
        decision = recognise_protocol(seen, known)
        if decision is None:
            return []
        connection.decision, connection.dissector = decision, decision.dissector
        connection.client = decision.client
        if decision.dissector is not None:
            connection.conversation = decision.dissector.conversation()
        opened = self._is_at_start(connection, prefixes[decision.client])
        connection.framers = (self._framer(connection, 0, opened), self._framer(connection, 1, opened))
        connection.undecided = []
        return [row for side, piece in early_pieces for row in self._frame(connection, side, piece, closed)]

    def _beginning(self, pieces: list[Piece]) -> bytes:
        """Returns the first bytes of a side; if they are lost, those of a later segment that begins with a message."""
        if not pieces or not pieces[0].lost:
            return self._first_bytes(pieces, PREFIX)
        for index in range(1, len(pieces)):
            found = self._first_bytes(pieces[index:], PREFIX)
            if any(dissector.probe(found, None) >= SURE for dissector in self._known.dissectors):
                return found
        return b""

    def _later_beginnings(self, pieces: list[Piece]) -> list[bytes]:
        """Returns the first bytes of each segment of a side but the first one."""
        return [self._first_bytes(pieces[index:], PREFIX) for index in range(1, len(pieces))]

    def _is_at_start(self, connection: Connection, prefix: bytes) -> bool:
        """Returns whether the client's first bytes, in a capture without SYN, begin the connection."""
        dissector, decision = connection.dissector, connection.decision
        if dissector is None or decision is None or decision.preamble:
            return False
        opens = dissector.opens
        return opens is not None and not any(half.by_syn for half in connection.halves) and opens(prefix)

    def _framer(self, connection: Connection, side: int, opened: bool) -> StreamFramer:
        """Returns a framer; it is in step only if the capture has the start of the half-stream."""
        from_client, dissector = side == connection.client, connection.dissector
        synced = connection.halves[side].by_syn or opened or connection.tls is not None
        framer = dissector.make_framer(from_client, True) if dissector is not None and synced else None
        preamble = connection.decision.preamble if connection.decision is not None and from_client else 0
        return StreamFramer(from_client, synced, framer, preamble, connection.conversation)

    def _row(self, connection: Connection, side: int, frame: FramedBytes, closed: int) -> PendingRow:
        serial = self._serial()
        latest, marks = connection.latest[side], NO_MARKS
        for piece in frame.pieces:
            if piece.at < 0:
                marks |= RowMark.SNAPPED if piece.at == SNAPPED else RowMark.GAP
            if piece.at != GAP and (piece.packet, piece.time) > latest:
                latest = piece.packet, piece.time
        connection.latest[side] = latest
        outcome, ours = RAW, False
        dissector, conversation = connection.dissector, connection.conversation
        if not frame.raw and dissector is not None and conversation is not None:
            from_client = side == connection.client
            outcome = conversation.step(serial, self._first_bytes(frame.pieces, dissector.prefix), from_client)
            ours = outcome.header.role is not Role.RAW or outcome.header.state is State.COMPLETE
            if frame.cut or marks:
                outcome, ours = mark_partial(outcome, from_client), True
        if conversation is not None:
            outcome = fill_in_client(outcome, conversation.client)
        if not outcome.owed:
            marks |= RowMark.NOTHING_OWED
        return PendingRow(serial, side, frame, outcome, ours, marks, *latest, closed)

    def _first_bytes(self, pieces: Iterable[Piece], left: int) -> bytes:
        """Returns the first `left` bytes, up to the first gap."""
        parts: list[bytes] = []
        for piece in pieces:
            if piece.lost or left <= 0:
                break
            parts.append(self._reader.read_bytes(piece.at, min(piece.length, left)))
            left -= len(parts[-1])
        return b"".join(parts)


def fill_in_client(outcome: Outcome, client: str | None) -> Outcome:
    """Gives a message without a client name that of its conversation."""
    if client is None or outcome.header.client is not None:
        return outcome
    return replace(outcome, header=replace(outcome.header, client=client))


def mark_partial(outcome: Outcome, from_client: bool) -> Outcome:
    """Marks a message as partial; its header may be too short to tell the role."""
    header = outcome.header
    role = header.role
    if role is Role.RAW:
        role = Role.REQUEST if from_client else Role.RESPONSE
    return replace(outcome, header=replace(header, role=role, state=State.PARTIAL))
