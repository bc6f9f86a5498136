"""Who answers whom on a client's connection.

Theory. A reply repeats the xid of its request and nothing else, so it is read by what was asked. Clients count xids up,
but some repeat them, and a few are set aside: -2 for pings (a ping may come under any number, its answer has -2), -4
for auth, -8 for watches. The same xid is answered in the order of asking. Xid -1 is an event and answers nobody.

Pings repeat one number, and a client sends the next one seconds later. So where bytes of the server are missing, an
answer to a ping is that of the latest one, and those before it were answered in what is missing.

A connection begins with a ConnectRequest and its answer, which names the session; or it is one word and its answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dissectors.api import HEADLESS, Conversation, MessageHeader, Outcome, Role, State
from dissectors.pairing import Key, Unanswered, Waiting
from dissectors.zookeeper import words
from dissectors.zookeeper.header import (
    CONNECT,
    EVENT,
    PING,
    REFUSED_XID,
    REPLY,
    is_connect_request,
    is_connect_response,
    is_refusal,
    reply_header,
    request_header,
    session_of,
)

PING_CODE = 11
_PINGS: Key = (True, None, PING)
OVERTAKING = frozenset({PING_CODE, 100, 102})
"""Ping, auth and sasl are answered before what was asked earlier; all else comes in the order of asking."""


@dataclass(slots=True)
class ZooKeeperConversation(Unanswered, Conversation):
    """`opening` is what came first, a connect or a word, while it is unanswered; `begun` by side, the client's first.

    `client` is the session, which is in every row once it is known. latest, in_turn: the handles of the latest request
    that is answered, and of the latest one that had to wait for its turn. gapped: bytes of the server are missing while
    a ping waited.
    """

    client: str | None = None
    opening: Waiting | None = None
    worded: bool = False
    begun: tuple[bool, bool] = (False, False)
    latest: int = -1
    in_turn: int = -1
    gapped: bool = False

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """The first message each way may be a connect or a word; all others have xids."""
        client, server = self.begun
        if from_client:
            outcome = self._from_client(handle, prefix) if client else self._first_of_client(handle, prefix)
            self.begun = True, server
        else:
            outcome = self._from_server(prefix) if server and not self.worded else self._first_of_server(prefix)
            self.begun = client, True
        return outcome

    def lost(self, from_client: bool) -> None:
        """What a server's missing bytes have answered is forgotten once something later is answered."""
        self.gapped |= not from_client and _PINGS in self.waiting

    def unasked(self, prefix: bytes, from_client: bool) -> bool:
        """A reply has the xid of a request; an event answers nobody."""
        if from_client or not self.waiting:
            return False
        xid = reply_header(prefix, None).correlation
        return xid is not None and xid != EVENT and (True, None, xid) not in self.waiting

    def handles(self) -> Iterable[int]:
        """See Conversation.handles."""
        opening = () if self.opening is None else (self.opening.handle,)
        return [*opening, *Unanswered.handles(self)]

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """See Conversation.renumber; of what was answered only its place among what waits counts."""
        Unanswered.renumber(self, numbers)
        if self.opening is not None:
            self.opening = self.opening.renumbered(numbers)
        known = sorted(numbers)
        self.latest, self.in_turn = (
            numbers[known[before - 1]] + 1 if (before := bisect_left(known, handle)) else -1
            for handle in (self.latest, self.in_turn)
        )

    def _first_of_client(self, handle: int, prefix: bytes) -> Outcome:
        header = words.request(prefix)
        self.worded = header is not None
        if header is None and is_connect_request(prefix):
            self.client = session_of(prefix, True)
            header = MessageHeader(Role.REQUEST, CONNECT, client=self.client)
        if header is None:
            return self._from_client(handle, prefix)
        self.opening = Waiting(handle, header)
        return Outcome(header)

    def _from_client(self, handle: int, prefix: bytes) -> Outcome:
        if self.worded:
            return Outcome(HEADLESS)  # nobody reads what comes behind a word
        header = request_header(prefix, self.client)
        xid = header.correlation
        if xid is not None:
            self.remember((True, None, PING if header.code == PING_CODE else xid), Waiting(handle, header))
        return Outcome(header)

    def _first_of_server(self, prefix: bytes) -> Outcome:
        opening, self.opening = self.opening, None
        if words.is_text(prefix) or self.worded:
            if opening is None or not self.worded:
                return Outcome(words.answer(prefix, None))
            return Outcome(words.answer(prefix, opening.header.operation), opening.handle)
        if is_connect_response(prefix):
            self.client = session_of(prefix, False) or self.client
            header = MessageHeader(Role.RESPONSE, CONNECT, client=self.client)
            return Outcome(header, None if opening is None else opening.handle)
        if opening is not None and is_refusal(prefix):
            header = MessageHeader(Role.RESPONSE, CONNECT, correlation=REFUSED_XID, client=self.client)
            return Outcome(header, opening.handle)
        return self._from_server(prefix)

    def _from_server(self, prefix: bytes) -> Outcome:
        header = reply_header(prefix, self.client)
        if header.correlation is None or header.correlation == EVENT:
            return Outcome(header)
        request = self._answered(header.correlation)
        if request is None:
            return Outcome(header)
        asked = request.header
        state = asked.state
        if state is State.UNDECODED and len(prefix) >= REPLY.size and REPLY.unpack_from(prefix)[3]:
            state = State.COMPLETE  # a reply with an error has no body, whatever was asked
        found = MessageHeader(Role.RESPONSE, asked.operation, asked.code, None, header.correlation, self.client, state)
        return Outcome(found, request.handle)

    def _answered(self, xid: int) -> Waiting | None:
        """The request that a reply with this xid answers; where the xid was used again, the first that may be it."""
        key = (True, None, xid)
        request = self.claim(key)
        while request is not None and key in self.waiting and (self._is_over(request) or self._is_gapped(key)):
            request = self.claim(key)
        if request is not None:
            self.latest = max(self.latest, request.handle)
            if request.header.code not in OVERTAKING:
                self.in_turn = max(self.in_turn, request.handle)
            if self.gapped:
                self._forget_pings()
        return request

    def _is_gapped(self, key: Key) -> bool:
        return self.gapped and key == _PINGS

    def _forget_pings(self) -> None:
        """Those that were asked before what is answered now, which they would have overtaken."""
        while (pings := self.waiting.get(_PINGS)) and pings[0].handle < self.latest:
            self.claim(_PINGS)
        self.gapped = _PINGS in self.waiting

    def _is_over(self, request: Waiting) -> bool:
        """Whether something is answered already that this request's answer cannot come behind."""
        return request.handle < (self.latest if request.header.code in OVERTAKING else self.in_turn)
