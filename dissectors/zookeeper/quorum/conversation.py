"""Who answers whom between a leader and a learner.

Theory. A learner acknowledges a PROPOSAL by its zxid, repeats a PING's zxid, and asks for a session by its number. An
ACK of something else (a NEWLEADER, say) answers nobody. Behind a SNAP comes a snapshot, which looks like nothing at
all; where a gap took it away, what comes next is a packet that reads as one to its end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from struct import unpack_from

from dissectors.api import Conversation, MessageHeader, Outcome, Role, State, with_request
from dissectors.pairing import Key, Unanswered, Waiting
from dissectors.zookeeper.quorum.header import HEAD, SNAPSHOT, header
from dissectors.zookeeper.quorum.packets import code_of
from dissectors.zookeeper.quorum.probe import WHOLE, evidence


@dataclass(slots=True)
class QuorumConversation(Unanswered, Conversation):
    """`snapshot`: the leader said that one comes."""

    snapshot: bool = False

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """Requests of either side wait for what their type is answered by."""
        if self.snapshot and not from_client:
            self.snapshot = False
            if evidence(prefix, False) < WHOLE:
                return Outcome(SNAPSHOT)
        found = header(prefix, from_client)
        self.snapshot |= found.code == code_of("SNAP") and not from_client
        if found.role is Role.REQUEST:
            self.remember(_key(from_client, found, prefix), Waiting(handle, found))
        elif found.code == code_of("ACK") and from_client:
            return self._acknowledged(found, prefix)
        elif found.role is Role.RESPONSE:
            request = self.claim(_key(not from_client, found, prefix))
            if request is None:
                return Outcome(replace(found, state=State.GUESSED))
            return Outcome(with_request(found, request.header), request.handle)
        return Outcome(found)

    def _acknowledged(self, found: MessageHeader, prefix: bytes) -> Outcome:
        request = self.claim(_key(False, replace(found, code=code_of("PROPOSAL")), prefix))
        if request is None:
            return Outcome(found)
        return Outcome(replace(found, role=Role.RESPONSE), request.handle)


def _key(asker: bool, found: MessageHeader, prefix: bytes) -> Key:
    """What a request is answered by: its zxid, or the session in its data."""
    if found.code == code_of("REVALIDATE"):
        number = unpack_from(">q", prefix, HEAD.size)[0] if len(prefix) >= HEAD.size + 8 else 0
    else:
        number = unpack_from(">q", prefix, 4)[0] if len(prefix) >= 12 else 0
    return asker, str(found.code), number
