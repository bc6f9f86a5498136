"""ZooKeeper's headers for many messages at once: the fast path of ZooKeeper.header and ZooKeeperConversation.

tests/dissectors/zookeeper/test_fast_path.py compares the fast paths with the slow path. Behind its size a request has
xid and opcode, a reply xid, zxid and err, at fixed offsets. Words only come at the start of a connection, before it is
steady. A connect looks like a message with xid 0; the conversation handles one that comes later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from dissectors.api import Context, Conversation, Role, State
from dissectors.wire.fast_path import (
    NULL,
    AnsweredRequests,
    Carried,
    Column,
    FastPath,
    HeaderColumns,
    HeaderLayout,
    HeaderView,
    NameColumn,
    Reporting,
    Rules,
    Wire,
    be,
)
from dissectors.zookeeper.conversation import OPENING, OVERTAKING, PING_CODE, ZooKeeperConversation
from dissectors.zookeeper.header import (
    EVENT,
    PING,
    REFUSED_XID,
    REPLY_SIZE,
    REQUEST,
    client_header,
    is_connect_request,
    is_connect_response,
    reply_header,
    request_header,
    server_header,
)
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.schemas import INT, operations, plan_of


class ZooKeeperFastPath(FastPath):
    """A reply that may answer one of several requests is the conversation's, if a later one was answered already."""

    WIDTH = REQUEST.size
    RULES = Rules(overtaken=True, taken=("operation", "code", "state"))

    def headers(self, wire: Wire) -> HeaderColumns:
        """Reads the headers of n messages.

        Rows that are too short are `unsure`; unknown opcodes go through the conversation.
        """
        size, xid, code = (be(wire.view, at, "i4") for at in (0, 4, 8))
        from_client, known = wire.from_client, _codes()
        place = np.minimum(np.searchsorted(known, code), len(known) - 1)
        found = from_client & (known[place] == code)
        event = ~from_client & (xid == EVENT)
        role = np.where(from_client, Role.REQUEST, np.where(event, Role.PUSH, Role.RESPONSE)).astype(np.int8)
        state = np.where(from_client, State.COMPLETE, State.GUESSED).astype(np.int8)
        state[event] = State.COMPLETE
        unsure = np.where(from_client, (wire.available < REQUEST.size) | ~found, wire.available < 8)
        unsure |= (size < np.where(from_client, REQUEST.size - 4, REPLY_SIZE)) | (xid == REFUSED_XID)
        operation = np.where(found, place, np.where(event, len(known), NULL))
        return HeaderColumns(
            role=role,
            state=state,
            operation=NameColumn(operation, _names()),
            code=np.where(from_client, code, np.where(event, 0, NULL)).astype(np.int32),
            version=np.full(len(xid), NULL, np.int32),
            correlation=xid.astype(np.int64),
            client=NameColumn(np.full(len(xid), NULL, np.int32)),
            unsure=unsure,
            stepped=np.zeros(len(xid), bool),
            key=np.where(found & (code == PING_CODE), PING, xid).astype(np.int64),
        )

    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """Reads one header; a ping waits under its own number, connects are left to the conversation."""
        if is_connect_request(prefix) if from_client else is_connect_response(prefix):
            return HeaderView(client_header(prefix) if from_client else server_header(prefix), stepped=True)
        header = request_header(prefix, None) if from_client else reply_header(prefix, None)
        takes_part = header.role in (Role.REQUEST, Role.RESPONSE)
        key = PING if header.code == PING_CODE else header.correlation
        return HeaderView(header, key if takes_part else None, None, header.state is State.UNDECODED and takes_part)

    def steady(self, conversation: Conversation) -> bool:
        """Returns whether the fast path can go on.

        It can if both sides have sent frames, no answer is missing, and no pending request needs its error explained.
        """
        assert isinstance(conversation, ZooKeeperConversation)
        if (
            conversation.gapped
            or conversation.doubtful
            or conversation.begun != (True, True)
            or conversation.worded
            or OPENING in conversation.waiting
        ):
            return False
        queues = conversation.waiting.values()
        return all(each.header.state is not State.UNDECODED for queue in queues for each in queue)

    def reporting(self, context: Context) -> Reporting | None:
        """Returns how to find the errors in replies: in the header, in some records, in each item of a multi."""
        known = operations().get(context.code) if context.code is not None else None
        if known is None or context.role is Role.RAW:
            return None
        if context.role is not Role.RESPONSE:
            return Reporting(HeaderLayout(INT, INT.size, (), (), whole=False))
        if known.response == "MultiResponse":
            return None
        record = () if known.response is None else plan_of(known.response).steps
        return Reporting(HeaderLayout(INT, INT.size, plan_of("ReplyHeader").steps, record, whole=False))

    def guess_hints(self, messages: Sequence[bytes]) -> Sequence[Mapping[str, str]]:
        """Guesses what replies may be whose requests nobody saw."""
        from dissectors.zookeeper.guessing.guess import format_hints  # hardly a capture has many

        return list(map(format_hints, messages))

    def resume(self, conversation: Conversation, waiting: Sequence[Carried], answered: AnsweredRequests) -> None:
        """Notes also which requests were answered last."""
        super().resume(conversation, waiting, answered)
        assert isinstance(conversation, ZooKeeperConversation)
        in_turn = answered.handle[~np.isin(answered.code, tuple(OVERTAKING))]
        conversation.latest = int(answered.handle.max(initial=conversation.latest))
        conversation.in_turn = int(in_turn.max(initial=conversation.in_turn))


@cache
def _codes() -> Column:
    """All opcodes, sorted."""
    return np.array(sorted(operations()), np.int32)


@cache
def _names() -> list[str]:
    """Their names, and that of an event."""
    return [*(operations()[code].name for code in _codes().tolist()), load_names("xid")[EVENT]]


FAST_PATH = ZooKeeperFastPath()
