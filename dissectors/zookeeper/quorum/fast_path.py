"""Quorum packets, many at once: the fast path of Packets, ZooKeeperQuorum.header and QuorumConversation.

Facts. Behind int type, long zxid and int length of the data, which are at fixed places, come the data and the authinfo:
nearly always null, except in a REQUEST, which names its client by an id or two. tests/dissectors/zookeeper compares the
fast paths with the slow path. SASL packets and snapshots take the slow path; packets before a learner is up to date go
through its conversation.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dissectors.api import Conversation, Role, State
from dissectors.wire.fast_path import (
    NULL,
    NULL64,
    Column,
    FastPath,
    HeaderColumns,
    HeaderView,
    NameColumn,
    Rules,
    Wire,
    be,
)
from dissectors.zookeeper import sasl
from dissectors.zookeeper.quorum.conversation import ASKS, JOINS, QuorumConversation, answering, make_key
from dissectors.zookeeper.quorum.header import HEAD, MOST_IDS, MOST_TYPES, code_of, header, packets
from dissectors.zookeeper.quorum.probe import sizes_of_data
from dissectors.zookeeper.quorum.snapshot_framer import LONGEST

SESSION_AT = HEAD.size
LEAST = HEAD.size + 4
FEW_IDS = 4
"""Ids of one packet that are walked here; a REQUEST has those of one client."""


class QuorumFastPath(FastPath):
    """An ACK answers a PROPOSAL or nobody."""

    WIDTH = LEAST
    RULES = Rules(taken=(), volunteers=(code_of("ACK"),))

    def lengths(self, wire: Wire) -> Column:
        """By the length of the data, and the ids behind it; an unusual packet is the framer's."""
        code, zxid, data = be(wire.view, 0, "i4"), be(wire.view, 4, "i8"), be(wire.view, 12, "i4")
        side, kind = wire.from_client.astype(np.intp), np.clip(code, 0, MOST_TYPES)
        least, most = _sizes()[side, kind].T
        sound = (least <= most) & (zxid >= -1) & (data >= -1) & ((data < 0) | ((least <= data) & (data < most)))
        sound &= code != code_of("SNAP")
        length = np.where(sound, HEAD.size + np.maximum(data, 0).astype(np.int64), 0)
        some = np.flatnonzero(sound)
        length[some] = _behind_ids(wire, some, length[some])
        return length

    def headers(self, wire: Wire) -> HeaderColumns:
        """Reads the headers of n packets. Rows without a complete head or with an unknown type are `unsure`."""
        code, zxid = be(wire.view, 0, "i4"), be(wire.view, 4, "i8")
        from_client, known = wire.from_client, _codes()
        place = np.minimum(np.searchsorted(known, code), len(known) - 1)
        revalidate = code == code_of("REVALIDATE")
        role = _roles()[from_client.astype(np.int64), place]
        request_code = np.where(code == code_of("ACK"), code_of("PROPOSAL"), code)
        unsure = (wire.available < np.where(revalidate, LEAST + 4, HEAD.size)) | (known[place] != code)
        key, some = zxid.astype(np.int64), np.flatnonzero(revalidate & ~unsure)
        key[some] = be(wire.gather(some, np.full(len(some), SESSION_AT), 8), 0, "i8")
        nothing = np.full(len(code), NULL, np.int32)
        return HeaderColumns(
            role=role,
            state=np.full(len(code), State.COMPLETE, np.int8),
            operation=NameColumn(np.where(unsure, NULL, place), _names()),
            code=code,
            version=nothing,
            correlation=np.full(len(code), NULL64, np.int64),
            client=NameColumn(nothing),
            unsure=unsure,
            # A number that stands for none cannot be a key.
            stepped=(key == NULL64) | np.isin(code, _turns()),
            key=key,
            kind=NameColumn(np.searchsorted(known, request_code), [str(each) for each in known.tolist()]),
        )

    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """Reads a header and its pairing key. Packets that change how later ones are read are marked."""
        found = answering(header(prefix, from_client), from_client)
        stepped = found.operation in (*ASKS, *JOINS) or sasl.is_packet(prefix)
        if found.role not in (Role.REQUEST, Role.RESPONSE):
            return HeaderView(found, stepped=stepped)
        key = make_key(found, prefix, from_client)
        if key is None:
            return HeaderView(found, stepped=True)
        _, kind, number = key
        return HeaderView(found, number, kind, stepped or number == 1 << 63)

    def steady(self, conversation: Conversation) -> bool:
        """Returns whether the learner is up to date and the next answer to a PING is certain."""
        assert isinstance(conversation, QuorumConversation)
        return not (conversation.snapshot or conversation.beginning or conversation.gapped)


def _behind_ids(wire: Wire, rows: Column, at: Column) -> Column:
    """Where the vector of ids that begins at `at` of each of the rows ends; as FastPath.lengths says."""
    end = np.full(len(rows), -1, np.int64)
    here = np.flatnonzero(at + 4 <= wire.available[rows])
    count = be(wire.gather(rows[here], at[here], 4), 0, "i4")
    end[here[(count < -1) | (count > MOST_IDS)]] = 0
    none = (count == -1) | (count == 0)
    end[here[none]] = at[here[none]] + 4
    few = (count > 0) & (count <= FEW_IDS)
    here, left = here[few], 2 * count[few]
    place = at[here] + 4
    while len(here):
        there = place + 4 <= wire.available[rows[here]]
        here, left, place = here[there], left[there], place[there]
        size = be(wire.gather(rows[here], place, 4), 0, "i4")
        sound = (size >= -1) & (size <= LONGEST)
        end[here[~sound]] = 0
        here, left, place = here[sound], left[sound] - 1, place[sound] + 4 + np.maximum(size[sound], 0)
        last = left == 0
        whole = last & (place <= wire.available[rows[here]])
        end[here[whole]] = place[whole]
        here, left, place = here[~last], left[~last], place[~last]
    return end


@cache
def _sizes() -> Column:
    """The shortest data, and what is too long, by side and type; the first is the larger where it is not sent."""
    sizes = np.tile(np.array([1, 0], np.int64), (2, MOST_TYPES + 1, 1))
    for side in (False, True):
        for code in packets():
            found = sizes_of_data(code, side)
            if found is not None:
                sizes[int(side), code] = found.start, found.stop
    return sizes


@cache
def _codes() -> Column:
    """All packet types, sorted."""
    return np.array(sorted(packets()), np.int32)


@cache
def _turns() -> Column:
    """The types of packets that change what others mean."""
    return np.array([code_of(name) for name in (*ASKS, *JOINS)], np.int32)


@cache
def _names() -> list[str]:
    return [packets()[code].name for code in _codes().tolist()]


@cache
def _roles() -> Column:
    """The role of each type, as a leader sends it and as a learner does."""
    return np.array(
        [
            [answering(header(code.to_bytes(4), side), side).role for code in _codes().tolist()]
            for side in (False, True)
        ],
        np.int8,
    )


FAST_PATH = QuorumFastPath()
