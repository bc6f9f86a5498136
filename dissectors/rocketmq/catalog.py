"""Catalog of RocketMQ's field names: header classes, the bodies whose layout is known, and HA frames.

Theory. A header is a map of texts; its class gives types to the fields that it knows. JSON bodies may have any members,
so they are open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial

from dissectors.api import Role
from dissectors.catalog import Alias, Catalog, FieldAlias, Layout, Member
from dissectors.field import FieldSpec
from dissectors.rocketmq.body import CHECKPOINT, UNDECLARED, find_body_kind
from dissectors.rocketmq.codes import find_header_class, list_response_names, operations
from dissectors.rocketmq.ha.frames import (
    BLOCK,
    ENTRY,
    GREETING,
    HANDSHAKE,
    HEARTBEAT,
    REPORT,
    SLAVE_OFFSET,
    TRANSFER,
    HeadLayout,
)
from dissectors.rocketmq.message import KEYS
from dissectors.rocketmq.stored import CRC_VALID, ITEM, QUEUE_OFFSET, UNCOMPRESSED, make_message_plan
from dissectors.rocketmq.tables import table
from dissectors.wire.field_aliases import aliases_of, load_field_aliases
from dissectors.wire.plan import Leaf, Plan
from dissectors.wire.specs import LayoutSpec as Hidden

_TYPES = {"flag": "int", "version": "int"}
_REST = Member("_rest", "bytes")


class RocketMQCatalog(Catalog):
    """The field names of RocketMQ's operations, each with a request and an answer."""

    def layouts(self) -> Sequence[Layout]:
        """Returns two layouts for each request code: request and answer."""
        return _make_layouts()

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Returns the aliases for topics, groups, queues, and other fields of summary lines."""
        return _load_field_aliases()

    def aliases(self) -> Mapping[str, Alias]:
        """Returns the aliases for columns of the list."""
        return aliases_of("rocketmq", table("field_aliases")["rows"])

    def errors(self) -> Collection[str]:
        """Returns the names of response codes, in every release."""
        return list_response_names()


@cache
def _make_layouts() -> tuple[Layout, ...]:
    return tuple(
        Layout(each.name, role, partial(_list_members, code, role is Role.RESPONSE))
        for code, each in operations().items()
        for role in (Role.REQUEST, Role.RESPONSE)
    )


def _list_members(code: int, response: bool) -> list[Member]:
    *plain, ext = KEYS
    fields = find_header_class(code, response)
    found = [Member(name, _TYPES.get(name, "string")) for name in plain]
    known = () if fields is None else tuple(Member(name, "string") for name in fields)
    found.append(Member(ext, "map", members=lambda: known, open=True, about="as on the wire, text under text"))
    if fields is not None:
        typed = {field.name: field.spec for field in fields.values()}
        found.append(Member("header", "struct", members=partial(_make_members, list(typed.values()))))
    return [*found, *_BODIES[find_body_kind(code, response)], _REST]


def _make_members(specs: Sequence[FieldSpec]) -> list[Member]:
    return [Member(spec.name, spec.type, label=spec.label) for spec in specs]


def _list_plan_members(plan: Plan) -> list[Member]:
    """What the values of a plan have: not what is there for the layout, and properties under their names."""
    leaves = (step.spec for step in plan.steps if isinstance(step, Leaf) and not isinstance(step.spec, Hidden))
    return [
        each._replace(type="map", open=True) if each.name == "properties" else each
        for each in _make_members(list(leaves))
    ]


def _list_item_members() -> list[Member]:
    return _list_plan_members(ITEM)


def list_stored_members() -> list[Member]:
    """Lists the fields of a stored message."""
    numbered = [*_make_members([QUEUE_OFFSET]), *_list_item_members()]
    inner = Member("messages", "struct", True, members=lambda: numbered, about="of an inner batch")
    return [*_list_plan_members(make_message_plan(True, 0)), *_make_members([CRC_VALID, UNCOMPRESSED]), inner]


def _make_messages_member(members: Callable[[], Sequence[Member]]) -> tuple[Member, ...]:
    inside = (Member("messages", "struct", True, members=members),)
    return (Member("body", "struct", members=lambda: inside, open=True),)


_BODIES: Mapping[str | None, tuple[Member, ...]] = {
    None: (Member("body", "bytes"),),
    UNDECLARED: (Member("body", "bytes", open=True),),
    CHECKPOINT: (Member("body", "bytes"),),
    "payload": (Member("body", "bytes"), *_make_members([UNCOMPRESSED])),
    "text": (Member("body", "string"),),
    "json": (Member("body", "json_object", open=True),),
    "registration": (Member("body", "json_object", open=True),),
    "messages": _make_messages_member(list_stored_members),
    "batch": _make_messages_member(_list_item_members),
}
"""By kind of body, as in body.py; one that is not as its operation says is bytes."""


@cache
def _load_field_aliases() -> tuple[FieldAlias, ...]:
    return load_field_aliases(table("field_aliases")["rows"], _find_members)


def _find_members(role: Role, code: int | None) -> tuple[str | None, Sequence[Member]]:
    known = operations().get(code) if code is not None else None
    return (None, ()) if known is None else (known.name, _list_members(known.code, role is Role.RESPONSE))


CATALOG = RocketMQCatalog()


class HACatalog(Catalog):
    """The names of all fields that a filter or a column can ask HA frames for."""

    def layouts(self) -> Sequence[Layout]:
        """Returns the layouts of the frames of both HA protocols."""
        return (
            Layout(HANDSHAKE, Role.REQUEST, _list_greeting_members),
            Layout(HANDSHAKE, Role.RESPONSE, _list_answer_members),
            Layout(SLAVE_OFFSET, None, lambda: (*_list_head_members(REPORT), _REST)),
            Layout(HEARTBEAT, None, lambda: (*_list_head_members(BLOCK), _REST)),
            Layout(TRANSFER, None, _list_transfer_members),
        )

    def errors(self) -> Collection[str]:
        """Returns nothing: frames of the replication port report no errors."""
        return ()


def _list_head_members(form: HeadLayout) -> list[Member]:
    found = _make_members([leaf.spec for leaf in form.head])
    return [each._replace(about="in the commit log, in bytes") if each.name == "offset" else each for each in found]


def _list_greeting_members() -> Sequence[Member]:
    return (*_list_head_members(GREETING), Member("address", "string"), _REST)


def _list_answer_members() -> Sequence[Member]:
    entries = Member("epochs", "struct", True, members=lambda: _make_members([leaf.spec for leaf in ENTRY]))
    return (*_list_head_members(BLOCK), entries, _REST)


def _list_transfer_members() -> Sequence[Member]:
    return (
        *_list_head_members(BLOCK),
        Member("continued", "bytes", about="the end of a message that an earlier block began"),
        Member("messages", "struct", True, members=list_stored_members),
        Member("continues", "bytes", about="the beginning of a message that a later block goes on with"),
        Member("blank", "bytes", about="what fills the end of a file"),
        _REST,
    )


HA_CATALOG = HACatalog()
