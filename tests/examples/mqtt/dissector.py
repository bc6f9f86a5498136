"""MQTT as a dissector: the first byte of a packet, and who acknowledges what.

Theory. A packet identifier counts for its side and purpose alone: both sides publish, a client subscribes. PUBACK ends
a PUBLISH of quality 1, and of quality 2 it takes PUBREC, PUBREL and PUBCOMP: two exchanges under one number. CONNECT
alone tells which version the connection speaks, so it is kept with each message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dissectors.api import (
    HEADLESS,
    Conversation,
    MessageHeader,
    Outcome,
    Role,
    VarintPrefixed,
)
from dissectors.pairing import PairByKey
from dissectors.slotted import replace
from dissectors.wire.plan import resolve
from dissectors.wire.projection import pick
from dissectors.wire.schema_dissector import SchemaDissector
from dissectors.wire.summary import Summaries
from tests.examples.mqtt.tables import (
    CONNECT,
    ENUMS,
    NAMES,
    PUBLISH,
    SCHEMAS,
)

FRAMER = VarintPrefixed(1, 4, 256 << 20)
ROLES: Mapping[int, tuple[Role, str | None]] = {
    1: (Role.REQUEST, "connect/"), 2: (Role.RESPONSE, "connect/"), 4: (Role.RESPONSE, "publish/"),
    5: (Role.RESPONSE, "publish/"), 6: (Role.REQUEST, "release/"), 7: (Role.RESPONSE, "release/"),
    8: (Role.REQUEST, "subscribe/"), 9: (Role.RESPONSE, "subscribe/"), 10: (Role.REQUEST, "unsubscribe/"),
    11: (Role.RESPONSE, "unsubscribe/"), 12: (Role.REQUEST, "ping/"), 13: (Role.RESPONSE, "ping/"),
    14: (Role.ONEWAY, None), 15: (Role.ONEWAY, None),
}  # fmt: skip
"""By type, but for PUBLISH: its role, and what its number counts in. Of those without a number one waits at a time."""

NUMBERED = frozenset({4, 5, 6, 7, 8, 9, 10, 11})
FIXED_FLAGS = {6: 2, 8: 2, 10: 2}
LEVELS = {3: 4, 4: 4, 5: 5}


def packet_header(prefix: bytes, from_client: bool) -> MessageHeader:
    """The type of a packet, and its number."""
    at = next((at for at in range(1, min(5, len(prefix))) if prefix[at] < 0x80), 0) + 1
    kind, quality = (prefix[0] >> 4, prefix[0] >> 1 & 3) if prefix else (0, 0)
    if at == 1 or not 1 <= kind <= len(NAMES):
        return HEADLESS
    role, scope = ROLES.get(kind, (Role.REQUEST if quality else Role.ONEWAY if from_client else Role.PUSH, "publish/"))
    number = 0 if scope is not None else None
    if kind == PUBLISH:
        at += 2 + int.from_bytes(prefix[at : at + 2])
    if kind in NUMBERED or (kind == PUBLISH and quality):
        number = int.from_bytes(prefix[at : at + 2]) if len(prefix) >= at + 2 else None
    elif kind == PUBLISH:
        number, scope = None, None
    return MessageHeader(role, NAMES[kind - 1], kind, correlation=number, scope=scope)


def level(prefix: bytes) -> int | None:
    """The version that a CONNECT asks for; None for one of another protocol."""
    at = prefix.find(b"\0\4MQTT", 0, 12)
    return LEVELS.get(prefix[at + 6]) if at > 0 and len(prefix) > at + 6 else None


@dataclass(slots=True)
class MqttConversation(PairByKey):
    """Pairs by scope and packet identifier, and remembers the version. 4, until a CONNECT says another."""

    version: int = 4
    client: str | None = None

    def step(self, handle: int, prefix: bytes, from_client: bool) -> Outcome:
        """See PairByKey."""
        if prefix[:1] == b"\x10":
            self.version = level(prefix) or self.version
            requested = pick(resolve(SCHEMAS[CONNECT], self.version), frozenset({("clientId",)}), lambda message: 0)
            self.client = (requested(prefix) or {}).get("clientId") or None
        outcome, own = PairByKey.step(self, handle, prefix, from_client), packet_header(prefix, from_client)
        header = replace(outcome.header, operation=own.operation, code=own.code, version=self.version)
        return replace(outcome, header=header)


class Mqtt(SchemaDissector):
    """MQTT 3.1.1 and 5.0: all packets, properties, QoS 0 to 2."""

    name = "mqtt"
    ports = (1883,)
    framer = FRAMER
    schemas, enums = SCHEMAS, ENUMS
    version = 4
    columns = ("operation", "version", "correlation", "client", "latency", "mqtt.topic", "mqtt.qos")
    color = "bright_yellow"
    fast_path = "tests.examples.mqtt.fast_path"
    summaries = Summaries(lambda enum: ENUMS[enum].get, lambda code: ENUMS["error"].get(code))
    lines: ClassVar = {
        "CONNECT": ["{clientId}", "user {userName}", "keep alive {keepAlive} s", "{cleanStart?clean start}"],
        "CONNACK": ["{sessionPresent?session present}", "{properties.assignedClientIdentifier}"],
        "PUBLISH": ["{topic}", "QoS {qos+}", "{retain?retained}", "{dup?sent again}", "{payload%length}"],
        "SUBSCRIBE": ["{topics: {topic}(, QoS {qos+})}"],
        "UNSUBSCRIBE": ["{topics: {topic}}"],
        "SUBACK": ["{granted: {code~granted}}"],
        "DISCONNECT": ["{properties.reasonString}"],
    }
    shortcuts = (
        {"name": "topic", "type": "string", "fields": ["topic"], "about": "topic name or filter"},
        {"name": "qos", "type": "uint2", "fields": ["qos"], "about": "quality of service"},
        {"name": "client", "type": "string", "fields": ["clientId"], "about": "client identifier"},
    )

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        """A CONNECT leaves no doubt; of other packets flags and length may be wrong."""
        if prefix[:1] == b"\x10":
            return 95 if level(prefix) is not None else 0
        header, flags = packet_header(prefix, from_client is not False), prefix[0] & 0x0F if prefix else 0
        expected = flags if header.code == PUBLISH and flags >> 1 & 3 < 3 else FIXED_FLAGS.get(header.code or 0, 0)
        return 22 if header.operation is not None and FRAMER.size(prefix) and flags == expected else 0

    def header(self, prefix: bytes, from_client: bool) -> MessageHeader:
        """See packet_header."""
        return packet_header(prefix, from_client)

    def conversation(self) -> Conversation:
        """See MqttConversation."""
        return MqttConversation(self.header)
