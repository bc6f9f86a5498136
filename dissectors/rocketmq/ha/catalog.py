"""Catalog of the field names of HA frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dissectors.api import Role
from dissectors.catalog import Catalog, Layout, Member
from dissectors.rocketmq.catalog import list_stored_members
from dissectors.rocketmq.ha.frames import HANDSHAKE, HEARTBEAT, SLAVE_OFFSET, TRANSFER

_OFFSET = Member("offset", "int64", about="in the commit log, in bytes")
_STATE, _SIZE = Member("state", "int32"), Member("size", "int32")
_EPOCH = Member("epoch", "int32")
_STARTS = (Member("epochStartOffset", "int64"), Member("confirmOffset", "int64"))
_REST = Member("_rest", "bytes")


class HACatalog(Catalog):
    """The names of all fields that a filter or a column can ask HA frames for."""

    def layouts(self) -> Sequence[Layout]:
        """Returns the layouts of the frames of both HA protocols."""
        return (
            Layout(HANDSHAKE, Role.REQUEST, _list_greeting_members),
            Layout(HANDSHAKE, Role.RESPONSE, _list_answer_members),
            Layout(SLAVE_OFFSET, None, lambda: (_STATE, _OFFSET, _REST)),
            Layout(HEARTBEAT, None, lambda: (*_list_place_members(), _REST)),
            Layout(TRANSFER, None, _list_transfer_members),
        )

    def errors(self) -> Collection[str]:
        """Returns nothing: frames of the replication port report no errors."""
        return ()


def _list_place_members() -> tuple[Member, ...]:
    return (_STATE, _SIZE, _OFFSET, _EPOCH, *_STARTS)


def _list_greeting_members() -> Sequence[Member]:
    flags = (Member("syncFromLastFile", "int16"), Member("asyncLearner", "int16"))
    return (_STATE, *flags, Member("brokerId", "int64"), Member("address", "string"), _REST)


def _list_answer_members() -> Sequence[Member]:
    entries = Member("epochs", "struct", True, members=lambda: (_EPOCH, Member("startOffset", "int64")))
    return (*_list_place_members(), entries, _REST)


def _list_transfer_members() -> Sequence[Member]:
    return (
        *_list_place_members(),
        Member("continued", "bytes", about="the end of a message that an earlier block began"),
        Member("messages", "struct", True, members=list_stored_members),
        Member("continues", "bytes", about="the beginning of a message that a later block goes on with"),
        Member("blank", "bytes", about="what fills the end of a file"),
        _REST,
    )


CATALOG = HACatalog()
