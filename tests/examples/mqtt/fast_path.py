"""MQTT's headers for many messages at once; MqttConversation is the reference, test_mqtt.py holds the two equal."""

from __future__ import annotations

import numpy as np

from dissectors.api import Context, Conversation, Role, State
from dissectors.slotted import replace
from dissectors.wire.fast_path import (
    NULL,
    NULL64,
    Column,
    FastPath,
    HeaderColumns,
    HeaderLayout,
    HeaderView,
    NameColumn,
    Rules,
    Wire,
    view_keyed,
)
from dissectors.wire.plan import resolve
from tests.examples.mqtt.dissector import NUMBERED, ROLES, MqttConversation, packet_header
from tests.examples.mqtt.tables import CONNECT, NAMES, PUBLISH, SCHEMAS

SCOPES = ("publish/", "release/", "subscribe/", "unsubscribe/", "ping/", "connect/")
_ROLE = np.array([ROLES.get(code, (Role.ONEWAY, None))[0] for code in range(16)], np.int8)
_SCOPE = np.array([SCOPES.index(ROLES[code][1]) if code in ROLES and ROLES[code][1] else NULL for code in range(16)])
_NUMBERED = np.isin(np.arange(16), list(NUMBERED))


class MqttFastPath(FastPath):
    """The version is the conversation's: a connection of version 5 is stepped through it."""

    WIDTH = 16
    RULES = Rules(taken=("client", "state"))

    def headers(self, wire: Wire) -> HeaderColumns:
        """Reads type, quality and packet identifier; a PUBLISH has the identifier behind its topic."""
        view, count = wire.view, len(wire.view)
        code, quality = view[:, 0] >> 4, view[:, 0] >> 1 & 3
        at = (view[:, 1:5] < 0x80).argmax(axis=1) + 2
        published = code == PUBLISH
        numbered = _NUMBERED[code] | (published & (quality > 0))
        rows = np.flatnonzero(published & (quality > 0))
        at[rows] += 2 + _uint16(wire.gather(rows, at[rows], 2))
        number = np.zeros(count, np.int64)
        rows = np.flatnonzero(numbered)
        number[rows] = _uint16(wire.gather(rows, at[rows], 2))
        asks = np.where(quality > 0, Role.REQUEST, np.where(wire.from_client, Role.ONEWAY, Role.PUSH))
        role = np.where(published, asks, _ROLE[code]).astype(np.int8)
        scope = np.where(published, np.where(quality > 0, 0, NULL), _SCOPE[code]).astype(np.int32)
        known = (code >= 1) & (code <= len(NAMES))
        return HeaderColumns(
            role=role,
            state=np.where(role == Role.RESPONSE, State.GUESSED, State.COMPLETE).astype(np.int8),
            operation=NameColumn(np.where(known, code.astype(np.int32) - 1, NULL), NAMES),
            code=np.where(known, code, NULL).astype(np.int32),
            version=np.full(count, 4, np.int32),
            correlation=np.where(scope != NULL, number, NULL64),
            client=NameColumn(np.full(count, NULL, np.int32)),
            unsure=~known | (wire.available < at + 2 * numbered),
            stepped=code == CONNECT,
            scope=NameColumn(scope, SCOPES),
        )

    def look(self, prefix: bytes, from_client: bool) -> HeaderView:
        """The same of one message."""
        header = packet_header(prefix, from_client)
        return view_keyed(replace(header, version=4))._replace(stepped=header.code in (None, CONNECT))

    def steady(self, conversation: Conversation) -> bool:
        """In version 4."""
        return isinstance(conversation, MqttConversation) and conversation.version == 4

    def layout(self, context: Context) -> HeaderLayout | None:
        """The schema, which begins with the packet."""
        schema = None if context.code is None or context.role is Role.RAW else SCHEMAS.get(context.code)
        return None if schema is None else HeaderLayout(None, 0, (), resolve(schema, context.version or 4).steps)


def _uint16(there: Column) -> Column:
    return there[:, 0].astype(np.int64) << 8 | there[:, 1]


FAST_PATH = MqttFastPath()
