"""Pairs requests and answers by a number in both, in any order.

Theory. In many protocols requests have numbers, and an answer repeats the number of its request. Both sides may send
requests, each with its own numbers, so the side is part of the key. If a number is used again before its answer,
answers are taken in the order of the requests. PairInOrder is for protocols whose answers come in the order of the
requests. If messages of a protocol change how later ones are read, the protocol has its own Conversation
(dissectors/kafka/conversation.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from dissectors.api import Conversation, Dissector, MessageHeader, Outcome, Role, State, with_request

MOST_WAITING = 8_192
"""Requests that are remembered where answers are missing; far more than any client keeps in flight."""


Key = tuple[bool, str | None, int]
"""The asking side (True: the client), MessageHeader.scope and MessageHeader.correlation."""


class Waiting(NamedTuple):
    """A request that has no answer yet."""

    handle: int
    header: MessageHeader

    def with_number(self, numbers: Mapping[int, int]) -> Waiting:
        """Returns a copy of the waiting request under its new handle."""
        return self._replace(handle=numbers[self.handle])


Fits = Callable[[Waiting], bool]
"""Whether an answer may be that of a request; where a number was used again, this tells them apart."""

MOST_TRIED = 16
"""Requests of one key that are tried for an answer."""


@dataclass(slots=True)
class UnansweredRequests:
    """Requests that wait for their answers: the oldest of each key first, so many at most in all.

    They are lists, because an empty deque takes 700 bytes more, and a capture may have many connections.
    """

    waiting: OrderedDict[Key, list[Waiting]] = field(default_factory=OrderedDict, kw_only=True)
    count: int = field(default=0, kw_only=True)

    def remember(self, key: Key, request: Waiting) -> None:
        """Puts a request behind those that wait under its key; the oldest key goes when there are too many."""
        if self.count == MOST_WAITING:
            self.claim(next(iter(self.waiting)))
        self.waiting.setdefault(key, []).append(request)
        self.count += 1

    def oldest(self, key: Key, fits: Fits) -> Waiting | None:
        """Returns the request that has waited longest under a key, of those that fit; it goes on waiting."""
        return next(filter(fits, islice(self.waiting.get(key, ()), MOST_TRIED)), None)

    def claim(self, key: Key, fits: Fits | None = None) -> Waiting | None:
        """Returns the request that has waited longest under a key, of those that fit; it waits no more."""
        queue = self.waiting.get(key)
        if queue is None:
            return None
        if fits is None:
            request = queue.pop(0)
        else:
            fitting = self.oldest(key, fits)
            if fitting is None:
                return None
            request = fitting
            queue.remove(request)
        self.count -= 1
        if not queue:
            del self.waiting[key]
        return request

    def handles(self) -> Iterable[int]:
        """Returns the handles of all requests that wait for an answer."""
        return [request.handle for queue in self.waiting.values() for request in queue]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Gives the requests that wait other handles: `numbers` has the new one by the old."""
        for key, queue in self.waiting.items():
            self.waiting[key] = [request.with_number(numbers) for request in queue]


@dataclass(slots=True)
class PairByKey(UnansweredRequests, Conversation):
    """Pairs by MessageHeader.scope and correlation; `header` is the dissector's own.

    An answer without its request is a guess.
    """

    header: Callable[[bytes, bool], MessageHeader]

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Pairs a message: a request waits under side and number, a response takes the oldest under its own."""
        header = self.header(prefix, from_client)
        if header.correlation is None or header.role not in (Role.REQUEST, Role.RESPONSE):
            return Outcome(header)
        if header.role is Role.REQUEST:
            self.remember((from_client, header.scope, header.correlation), Waiting(handle, header))
            return Outcome(header)
        request = self.claim((not from_client, header.scope, header.correlation))
        if request is None:
            return Outcome(replace(header, state=max(header.state, State.GUESSED)))
        return Outcome(with_request(header, request.header), request.handle)


def pair_by_key(dissector: Dissector) -> Conversation:
    """Returns the method `conversation` of a dissector whose answers repeat the number of their request."""
    return PairByKey(dissector.header)


@dataclass(slots=True)
class PairInOrder(UnansweredRequests, Conversation):
    """Pairs each answer with the oldest request of the other side in its scope; `header` is the dissector's own.

    Nobody knows how many messages a gap hid, so what is paired behind one is a guess.
    """

    header: Callable[[bytes, bool], MessageHeader]
    gapped: bool = False

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Pairs a message: a request waits in the queue of its side, a response takes the first one."""
        header = self.header(prefix, from_client)
        if header.role is Role.REQUEST:
            self.remember((from_client, header.scope, 0), Waiting(handle, header))
            return Outcome(header)
        if header.role is not Role.RESPONSE:
            return Outcome(header)
        request = self.claim((not from_client, header.scope, 0))
        if request is None:
            return Outcome(replace(header, state=max(header.state, State.GUESSED)))
        answer = with_request(header, request.header)
        if self.gapped:
            answer = replace(answer, state=max(answer.state, State.GUESSED))
        return Outcome(answer, request.handle)

    def note_loss(self, from_client: bool) -> None:
        """Notes that bytes are missing, so that later answers are paired as guesses."""
        self.gapped = True


def pair_in_order(dissector: Dissector) -> Conversation:
    """Returns the method `conversation` of a dissector whose answers come in the order of the requests."""
    return PairInOrder(dissector.header)
