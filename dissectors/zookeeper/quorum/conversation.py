"""Pairing between a leader and a learner.

Theory. A learner acknowledges a PROPOSAL by its zxid, repeats a PING's zxid, and asks for a session by its number. An
ACK of anything else (a NEWLEADER, say) is no answer. A SNAP is followed by a snapshot, which has no mark; if a gap
contains it, a packet comes next that reads as one to its end.

PINGs repeat one zxid while nothing is written, so their answers are assigned by order alone. Two of them are half a
tick apart, which is a second, and an answer takes milliseconds. So if bytes of the learner are missing, the next answer
belongs to the latest PING, and the earlier ones with its zxid were answered in the missing bytes.

Facts (Learner.syncWithLeader). From 3.4 on a learner that is being brought up to date, from the LEADERINFO up to the
UPTODATE, ignores PINGs. It acknowledges those PROPOSALs that were not committed when the NEWLEADER came; an observer
acknowledges none. A leader of 3.3 sends no LEADERINFO, and a NEWLEADER in its place; its learner answers everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from struct import unpack_from

from dissectors.api import Conversation, MessageHeader, Outcome, Role, State, with_request
from dissectors.pairing import Key, UnansweredRequests, Waiting
from dissectors.zookeeper.quorum.header import HEAD, SNAPSHOT, code_of, header
from dissectors.zookeeper.quorum.probe import WHOLE, evidence


class Phase(Enum):
    """The phase of a learner: it announces itself, is brought up to date (as in 3.4, or as in 3.3), follows."""

    ASKING = auto()
    JOINING = auto()
    OLD = auto()
    FOLLOWING = auto()


@dataclass(slots=True)
class QuorumConversation(UnansweredRequests, Conversation):
    """The state of a learner's connection. snapshot: one was announced. gapped: bytes are missing since the last PING.

    phase: of the learner.
    """

    snapshot: bool = False
    gapped: bool = False
    phase: Phase = Phase.FOLLOWING

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Requests of either side wait for what their type is answered by."""
        if self.snapshot and not from_client:
            self.snapshot = False
            if evidence(prefix, False) < WHOLE:
                return Outcome(SNAPSHOT)
        found = answering(header(prefix, from_client), from_client)
        self.snapshot |= found.code == code_of("SNAP") and not from_client
        self.phase = _next_phase(self.phase, found.operation, from_client)
        if found.role is Role.REQUEST:
            passed_over = self.phase is Phase.JOINING and not from_client
            key = make_key(found, prefix, from_client)
            if key is not None and not (passed_over and found.code == code_of("PING")):
                self.remember(key, Waiting(handle, found))
            return Outcome(found, owed=not passed_over)
        if found.role is Role.RESPONSE:
            return self._pair_answer(found, prefix, from_client)
        return Outcome(found)

    @property
    def beginning(self) -> bool:
        """Until the learner is up to date."""
        return self.phase in (Phase.ASKING, Phase.JOINING)

    def note_loss(self, from_client: bool) -> None:
        """The leader's own bytes take away what waits with them, so only the learner's leave a doubt."""
        self.gapped |= from_client

    def _pair_answer(self, found: MessageHeader, prefix: bytes, from_client: bool) -> Outcome:
        key = make_key(found, prefix, from_client)
        request = None if key is None else self.claim(key)
        if self.gapped and found.code == code_of("PING"):
            self.gapped = False
            while request is not None and key is not None and key in self.waiting:
                request = self.claim(key)
        if found.code == code_of("ACK"):
            if self.gapped and key in self.waiting:
                request = None  # the ACK of the first PROPOSAL may be missing
            return Outcome(mark_one_way(found)) if request is None else Outcome(found, request.handle)
        if request is None:
            return Outcome(replace(found, state=State.GUESSED))
        return Outcome(with_request(found, request.header), request.handle)


ASKS = ("FOLLOWERINFO", "OBSERVERINFO")
JOINS = ("LEADERINFO", "DIFF", "SNAP", "TRUNC", "NEWLEADER")
"""What a leader sends to bring a learner up to date."""


def _next_phase(phase: Phase, packet: str | None, from_client: bool) -> Phase:
    """Who answers a PING is up to date, also where the UPTODATE is lost."""
    if packet in ASKS:
        return Phase.ASKING
    if packet in JOINS and phase is not Phase.OLD:
        return Phase.OLD if packet == "NEWLEADER" and phase is not Phase.JOINING else Phase.JOINING
    return Phase.FOLLOWING if packet == "UPTODATE" or (packet == "PING" and from_client) else phase


def answering(found: MessageHeader, from_client: bool) -> MessageHeader:
    """Returns the header of an ACK of a learner as that of an answer, for pairing."""
    if from_client and found.code == code_of("ACK"):
        return replace(found, role=Role.RESPONSE)
    return found


def mark_one_way(found: MessageHeader) -> MessageHeader:
    """Makes an ACK that answers no PROPOSAL a oneway message."""
    return replace(found, role=Role.ONEWAY)


def make_key(found: MessageHeader, prefix: bytes, from_client: bool) -> Key | None:
    """Returns the key under which a request waits: its zxid, or the session in its data; None if cut."""
    request_code = code_of("PROPOSAL") if found.code == code_of("ACK") else found.code
    at = HEAD.size if request_code == code_of("REVALIDATE") else 4
    if len(prefix) < at + 8:
        return None
    return from_client == (found.role is Role.REQUEST), str(request_code), unpack_from(">Q", prefix, at)[0]
