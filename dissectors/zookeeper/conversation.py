"""Pairing on a client's connection.

Theory. A reply repeats only the xid of its request, so its layout depends on that request. Clients count xids up, but
some repeat them, and a few are reserved: -2 for pings (a ping may have any number, its answer has -2), -4 for auth, -8
for watches. Requests with the same xid are answered in their order. Xid -1 is an event and answers nothing.

Pings repeat one number, and a client sends the next one seconds later. So if bytes of the server are missing, an answer
to a ping belongs to the latest one, and those before it were answered in the missing bytes. If other requests wait
under one xid, the answer to the first may be missing; then the next answer cannot be assigned.

A connection begins with a ConnectRequest and its answer, which names the session; or it is one word and its answer.
Some clients send another ConnectRequest later, on the same connection. A server answers in the order of the requests,
so a connect stops waiting when a later request has its answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from dissectors.api import HEADLESS, Conversation, MessageHeader, Outcome, Role, State
from dissectors.pairing import Key, UnansweredRequests, Waiting
from dissectors.zookeeper import four_letter_commands
from dissectors.zookeeper.header import (
    CONNECT,
    CUT_CONNECT,
    EVENT,
    PASSWORD_AT,
    PASSWORDS,
    PING,
    REFUSED_XID,
    REPLY,
    answers_connect,
    is_refusal,
    opens_session,
    password_of,
    reply_header,
    request_header,
    session_of,
)

PING_CODE = 11
_PINGS: Key = (True, None, PING)
_ZEROTH: Key = (True, None, REFUSED_XID)
OPENING: Key = (True, "opening", 0)
"""Under which connects and words wait."""

_USUAL_PASSWORDS = PASSWORDS | {None}
"""The same, and None for one that was not captured."""

OVERTAKING = frozenset({PING_CODE, 100, 102})
"""Ping, auth and sasl are answered before what was asked earlier; all else comes in the order of asking."""


@dataclass(slots=True)
class ZooKeeperConversation(UnansweredRequests, Conversation):
    """`worded`: the client began with a word; `begun` by side, the client's first.

    `client` is the session, which is in every row once it is known. latest, in_turn: the handles of the latest request
    that is answered, and of the latest one that had to wait for its turn. gapped: bytes of the server are missing while
    a ping waited. missed: requests with a lower handle may have been answered in what is missing; `holed`: so may all
    up to the next message.
    """

    client: str | None = None
    worded: bool = False
    begun: tuple[bool, bool] = (False, False)
    latest: int = -1
    in_turn: int = -1
    gapped: bool = False
    missed: int = -1
    holed: bool = False

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Pairs a message.

        The first one each way may be a four-letter word or its answer; all others but connects have xids.
        """
        client, server = self.begun
        if self.holed:
            self.missed, self.holed = handle, False
        if from_client:
            self.begun = True, server
            return self._from_client(handle, prefix, not client)
        self.begun = client, True
        if self.worded or (not server and four_letter_commands.is_text(prefix)):
            return self._text(prefix)
        return self._from_server(prefix)

    def note_loss(self, from_client: bool) -> None:
        """Forgets requests that lost bytes of the server may have answered, once a later one is answered."""
        self.gapped |= not from_client and _PINGS in self.waiting
        self.holed |= not from_client and bool(self.waiting)

    def is_unrequested(self, prefix: bytes, from_client: bool) -> bool:
        """Returns whether a message answers no waiting request; an event never answers one."""
        if from_client or not self.waiting or OPENING in self.waiting:
            return False
        xid = reply_header(prefix, None).correlation
        return xid is not None and xid != EVENT and (True, None, xid) not in self.waiting

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Replaces the handles of waiting requests by the ones in `numbers`."""
        UnansweredRequests.renumber(self, numbers)
        known = sorted(numbers)
        self.latest, self.in_turn, self.missed = (
            numbers[known[before - 1]] + 1 if (before := bisect_left(known, handle)) else -1
            for handle in (self.latest, self.in_turn, self.missed)
        )

    def _from_client(self, handle: int, prefix: bytes, first: bool) -> Outcome:
        if self.worded:
            return Outcome(HEADLESS)  # nobody reads what comes behind a word
        word = four_letter_commands.request(prefix) if first else None
        if word is not None:
            self.worded = True
            self.remember(OPENING, Waiting(handle, word))
            return Outcome(word)
        opens = opens_session(prefix)
        if opens is None:
            return Outcome(MessageHeader(Role.REQUEST, client=self.client))
        if opens and (first or password_of(prefix, True) in _USUAL_PASSWORDS):
            return self._connect(handle, prefix)
        header = request_header(prefix, self.client)
        xid = header.correlation
        if xid is not None:
            self.remember((True, None, PING if header.code == PING_CODE else xid), Waiting(handle, header))
        return Outcome(header)

    def _connect(self, handle: int, prefix: bytes) -> Outcome:
        self.client = session_of(prefix, True)
        header = MessageHeader(Role.REQUEST, CONNECT, client=self.client)
        self.remember(OPENING, Waiting(handle, header))
        return Outcome(header, extra=_extra_of(prefix, True))

    def _text(self, prefix: bytes) -> Outcome:
        word = self.claim(OPENING) if self.worded else None
        if word is None:
            return Outcome(four_letter_commands.answer(prefix, None))
        return Outcome(four_letter_commands.answer(prefix, word.header.operation), word.handle)

    def _answers_connect(self, prefix: bytes) -> bool | None:
        """Whether a frame is a ConnectResponse; what waits decides where its own bytes leave a doubt."""
        opening, zeroth = OPENING in self.waiting, _ZEROTH in self.waiting
        found = answers_connect(prefix)
        if found is None:
            return None if opening == zeroth else opening
        is_reply = zeroth and not opening and prefix[16:20] == bytes(4)  # where an error would stand
        return found and not is_reply

    def _from_server(self, prefix: bytes) -> Outcome:
        connected = self._answers_connect(prefix)
        if connected is None:
            return Outcome(MessageHeader(Role.RESPONSE, client=self.client, state=State.GUESSED))
        if connected:
            self.client = session_of(prefix, False) or self.client
            header = MessageHeader(Role.RESPONSE, CONNECT, client=self.client)
            opening = self.claim(OPENING)
            return Outcome(header, None if opening is None else opening.handle, _extra_of(prefix, False))
        if OPENING in self.waiting and _ZEROTH not in self.waiting and is_refusal(prefix):
            opening = self.claim(OPENING)
            header = MessageHeader(Role.RESPONSE, CONNECT, correlation=REFUSED_XID, client=self.client)
            return Outcome(header, None if opening is None else opening.handle)
        header = reply_header(prefix, self.client)
        if header.correlation is None or header.correlation == EVENT:
            return Outcome(header)
        request = self._claim_answered(header.correlation)
        if request is None:
            return Outcome(header)
        requested = request.header
        state = requested.state
        if state is State.UNDECODED and len(prefix) >= REPLY.size and REPLY.unpack_from(prefix)[3]:
            state = State.COMPLETE  # a reply with an error has no body, whatever was asked
        found = MessageHeader(
            Role.RESPONSE, requested.operation, requested.code, None, header.correlation, self.client, state
        )
        return Outcome(found, request.handle)

    def _claim_answered(self, xid: int) -> Waiting | None:
        """The request that a reply with this xid answers; where the xid was used again, the first that may be it."""
        key = (True, None, xid)
        request = self.claim(key)
        while (
            request is not None and key in self.waiting and (self._is_over(request) or (self.gapped and key == _PINGS))
        ):
            request = self.claim(key)
        if request is not None and key in self.waiting and self._may_be_missed(request):
            return None
        if request is not None:
            self.latest = max(self.latest, request.handle)
            if request.header.code not in OVERTAKING:
                self.in_turn = max(self.in_turn, request.handle)
            if self.gapped:
                self._forget_pings()
            self._forget_connects()
        return request

    @property
    def doubtful(self) -> bool:
        """Whether the answer to a request that waits may be missing."""
        return self.holed or any(self._may_be_missed(queue[0]) for queue in self.waiting.values())

    def _may_be_missed(self, request: Waiting) -> bool:
        return request.handle < self.missed and request.header.code != PING_CODE and not self._is_over(request)

    def _forget_pings(self) -> None:
        """Those that were asked before what is answered now, which they would have overtaken."""
        while (pings := self.waiting.get(_PINGS)) and pings[0].handle < self.latest:
            self.claim(_PINGS)
        self.gapped = _PINGS in self.waiting

    def _forget_connects(self) -> None:
        """Those that were sent before what is answered now: their answers are missing."""
        while (connects := self.waiting.get(OPENING)) and connects[0].handle < self.in_turn:
            self.claim(OPENING)

    def _is_over(self, request: Waiting) -> bool:
        """Whether something is answered already that this request's answer cannot come behind."""
        return request.handle < (self.latest if request.header.code in OVERTAKING else self.in_turn)


def _extra_of(prefix: bytes, request: bool) -> Mapping[str, str] | None:
    """What decoding a connect needs to know that its own bytes do not tell."""
    return None if len(prefix) >= PASSWORD_AT[request] + 4 else CUT_CONNECT
