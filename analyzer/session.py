"""A session: an open capture and the index of its rows, shared by all front ends.

A session knows no output format, and decodes nothing: analyzer.decode reads its rows when somebody looks. `load` reads
to the end; `grow` yields ranges of new rows as blocks come (a pipe, a file that grows).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Self

from analyzer.capture.packets import PacketReader, PacketSource, ReaderName
from analyzer.capture.sources import SelfClosing
from analyzer.capture.succession import FileSuccession
from analyzer.errors import UserError
from analyzer.messages.decode_as import ConnectionRules, DecodeAsTarget, make_rules, merge_rules
from analyzer.messages.engine import Engine
from analyzer.messages.eviction import Eviction
from analyzer.messages.host_names import HostNames
from analyzer.messages.message_comments import MessageComments
from analyzer.messages.stream_findings import LocatedFinding
from dissectors.finding import Finding
from dissectors.registry import Ports

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing
    from analyzer.tls.keys import Secrets


class Analysis(SelfClosing):
    """Blocks of packets, read into rows, and all that can be asked of these. `ended`: all of them have been read."""

    def __init__(
        self,
        source: PacketSource,
        known: Ports,
        *,
        orders: ConnectionRules | None = None,
        use_fast_path: bool = True,
        secrets: Secrets | None = None,
    ) -> None:
        self.source = source
        self.engine = Engine(
            source.store, source.flows, known, orders=orders, use_fast_path=use_fast_path, secrets=secrets
        )
        self.rows = self.engine.rows
        self.comments = MessageComments(None, self.rows, self.engine.pieces)
        self.hosts = HostNames((), source.flows, self.engine.streams, self.rows)
        self.eviction = Eviction(self.engine, source)
        self.ended = False
        self.jobs = 1
        """How many processes may share work on the rows; see analyzer.processes.jobs."""

    def close(self) -> None:
        """Closes the captures; the tables stay readable, the bytes do not."""
        self.source.close()

    def grow(self) -> Iterator[range]:
        """Reads on; yields the numbers of the rows that each block closed, the last when the input has ended."""
        # By map, which keeps no block: when the source ends, the last one has gone, and its memory can be given back.
        for closed in map(self.engine.feed, self.source.blocks()):
            self.engine.owners.look()
            yield closed
            self.eviction.evict_silent()
        closed = self.engine.finish()
        self.ended = True
        yield closed

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
    def findings(self) -> list[Finding]:
        """Returns the findings that belong to no row: damaged files, gaps, conflicting bytes."""
        return [finding for finding, _ in self.located]

    @property
    def located(self) -> list[LocatedFinding]:
        """Returns the findings that belong to no row, each with its stream (None for files)."""
        files, left = ([(each, None) for each in found] for found in (self.source.findings, self.eviction.findings()))
        return [*files, *self.engine.stream_findings.located, *left]


class Session(Analysis):
    """Captures, or a succession of files, as one timeline of messages. Raises CaptureError if one can't be opened.

    names: whether addresses have the names that the captures tell (`hosts`). secrets: of TLS; None: nothing is
    decrypted.
    """

    def __init__(
        self,
        inputs: Sequence[str | PathLike[str]] | FileSuccession,
        *,
        decode_as: Mapping[int, str] | Mapping[DecodeAsTarget, str] | None = None,
        reader: ReaderName = "native",
        follow: bool = False,
        use_fast_path: bool = True,
        block: int = 32_768,
        names: bool = True,
        secrets: KeyRing | None = None,
    ) -> None:
        known, orders = make_rules(decode_as)
        self.packets = PacketReader(inputs, reader=reader, follow=follow, block=block, learn=self._learn)
        self._inputs, self._decode_as, self._reader, self._names = inputs, decode_as, reader, names
        self._secrets = secrets
        super().__init__(self.packets, known, orders=orders, use_fast_path=use_fast_path, secrets=secrets)
        self.comments = MessageComments(self.packets.comments, self.rows, self.engine.pieces)
        if names:
            self.hosts = HostNames(self.packets.files, self.packets.flows, self.engine.streams, self.rows)

    def _learn(self, key_log: bytes) -> None:
        """Takes a key log that is in a capture, if what decrypts is installed."""
        from analyzer.tls.key_files import KeyRing, has_cryptography  # lazy: few captures hold secrets

        if self._secrets is None and has_cryptography():
            self._secrets = KeyRing()
            self.engine.use_secrets(self._secrets)
        if self._secrets is not None:
            self._secrets.log.feed(key_log)

    def reopen_with_rules(
        self, *more: tuple[DecodeAsTarget, str], inputs: Sequence[str | PathLike[str]] = ()
    ) -> Session:
        """Returns a new session of the same files, not yet read, with more decode-as rules and the current key logs.

        inputs: other files in their place. Raises UserError for a pipe, and CaptureError as Session does.
        """
        rules = merge_rules((*(self._decode_as or {}).items(), *more))
        if inputs:
            return Session(inputs, decode_as=rules, reader=self._reader, names=self._names, secrets=self._secrets)
        found = self._reopen(rules)
        found.comments.copy_from(self.comments)
        return found

    def _reopen(self, rules: Mapping[DecodeAsTarget, str]) -> Session:
        if isinstance(self._inputs, FileSuccession):
            if not self._inputs.is_finished:
                raise UserError("The capture is still running and cannot be read again. Stop it first.")
            return Session(self._inputs.reopen(), decode_as=rules, names=self._names, secrets=self._secrets)
        if not all(map(os.path.isfile, self._inputs)):
            raise UserError(
                "A pipe can be read only once. Save the capture to a file first, or give -d when you open it."
            )
        return Session(self._inputs, decode_as=rules, reader=self._reader, names=self._names, secrets=self._secrets)


def grow_within(session: Analysis, limit: int | None) -> Iterator[range]:
    """Reads the capture as Analysis.grow does, and evicts rows that are due when the next block is requested.

    limit: see Eviction.due.
    """
    for closed in session.grow():
        yield closed
        session.eviction.evict(session.eviction.find_due_row(limit))
