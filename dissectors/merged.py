"""Alike messages that a correlator gets at once: what makes reports cheap over captures of millions of messages.

Theory. Most messages of a capture say the same as thousands before them: the same client writes to the same partition,
and only counts, sizes and times differ. A report adds these up. So it may say of a kind of messages which of the fields
that it reads are such numbers, and take alike messages together (Merge). What reads the capture finds them in columns,
and decodes the first of them only (analyzer.insight.merging).

What a correlator sees is the same as one by one, if its handlers of merged messages do not depend on each other's
order: the messages that it gets one by one, and the ends of connections, come in their places between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dissectors.correlator import MessageEvent
    from dissectors.message import Path


class Merge(NamedTuple):
    """How a correlator takes alike messages of a kind at once.

    handle: gets the correlator and the messages; does what the handler of one message does for each of them. None where
    that is nothing. numbers: integers among its fields that differ from message to message. quiet: fields with the
    number that they must have, or None where it is null: a message with another value there comes alone.
    """

    handle: Callable[[Any, MergedMessages], None] | None
    numbers: frozenset[Path]
    quiet: Mapping[Path, int | None]


def merge_by(
    handle: Callable[[Any, MergedMessages], None] | None,
    *,
    numbers: Iterable[Path] = (),
    quiet: Mapping[Path, int | None] = MappingProxyType({}),
) -> Merge:
    """Makes a Merge."""
    return Merge(handle, frozenset(numbers), quiet)


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
