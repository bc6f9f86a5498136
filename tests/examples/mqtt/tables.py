"""MQTT's packets as data: sections 2 and 3 of the standards.

Theory. A packet is a byte with its type and flags, the number of bytes that follow as a varint, and these: a variable
header, in version 5 properties, and a payload. So each packet is one schema with two versions, 4 (3.1.1) and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.wire.plain import plain_dialect
from dissectors.wire.schema import Schema

Rows = list[dict[str, Any]]

NAMES = (
    "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE",
    "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH",
)  # fmt: skip
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK = range(1, 12)

ENUMS: Mapping[str, Mapping[int, str]] = {
    "error": {
        1: "UNACCEPTABLE_PROTOCOL_VERSION", 2: "IDENTIFIER_REJECTED", 3: "SERVER_UNAVAILABLE",
        4: "BAD_USER_NAME_OR_PASSWORD", 5: "NOT_AUTHORIZED_3", 128: "UNSPECIFIED_ERROR", 129: "MALFORMED_PACKET",
        130: "PROTOCOL_ERROR", 131: "IMPLEMENTATION_SPECIFIC_ERROR", 132: "UNSUPPORTED_PROTOCOL_VERSION",
        133: "CLIENT_IDENTIFIER_NOT_VALID", 134: "BAD_USER_NAME_OR_PASSWORD", 135: "NOT_AUTHORIZED",
        136: "SERVER_UNAVAILABLE", 137: "SERVER_BUSY", 138: "BANNED", 139: "SERVER_SHUTTING_DOWN",
        140: "BAD_AUTHENTICATION_METHOD", 141: "KEEP_ALIVE_TIMEOUT", 142: "SESSION_TAKEN_OVER",
        143: "TOPIC_FILTER_INVALID", 144: "TOPIC_NAME_INVALID", 145: "PACKET_IDENTIFIER_IN_USE",
        146: "PACKET_IDENTIFIER_NOT_FOUND", 147: "RECEIVE_MAXIMUM_EXCEEDED", 149: "PACKET_TOO_LARGE",
        151: "QUOTA_EXCEEDED", 153: "PAYLOAD_FORMAT_INVALID", 154: "RETAIN_NOT_SUPPORTED", 155: "QOS_NOT_SUPPORTED",
        156: "USE_ANOTHER_SERVER", 157: "SERVER_MOVED", 158: "SHARED_SUBSCRIPTIONS_NOT_SUPPORTED",
        161: "SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED", 162: "WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED",
    },
    "granted": {0: "QoS 0", 1: "QoS 1", 2: "QoS 2", 128: "failed"},
}  # fmt: skip

PAIR: Rows = [{"name": "name", "type": "string:uint16"}, {"name": "value", "type": "string:uint16"}]
PROPERTY: Rows = [
    *({"name": name, "type": "uint8", "tag": tag} for name, tag in (
        ("payloadFormatIndicator", 1), ("requestProblemInformation", 23), ("requestResponseInformation", 25),
        ("maximumQos", 36), ("retainAvailable", 37), ("wildcardSubscriptionAvailable", 40),
        ("subscriptionIdentifierAvailable", 41), ("sharedSubscriptionAvailable", 42),
    )),
    *({"name": name, "type": "uint16", "tag": tag} for name, tag in (
        ("serverKeepAlive", 19), ("receiveMaximum", 33), ("topicAliasMaximum", 34), ("topicAlias", 35),
    )),
    *({"name": name, "type": "uint32", "tag": tag} for name, tag in (
        ("messageExpiryInterval", 2), ("sessionExpiryInterval", 17), ("willDelayInterval", 24),
        ("maximumPacketSize", 39),
    )),
    *({"name": name, "type": "string:uint16", "tag": tag} for name, tag in (
        ("contentType", 3), ("responseTopic", 8), ("assignedClientIdentifier", 18), ("authenticationMethod", 21),
        ("responseInformation", 26), ("serverReference", 28), ("reasonString", 31),
    )),
    {"name": "correlationData", "type": "bytes:uint16", "tag": 9},
    {"name": "authenticationData", "type": "bytes:uint16", "tag": 22, "secret": True},
    {"name": "subscriptionIdentifiers", "type": "[]uvarint", "tag": 11},
    {"name": "userProperties", "type": "[]struct", "tag": 38, "fields": PAIR},
]  # fmt: skip


def properties(name: str = "properties", **more: Any) -> dict[str, Any]:
    """The properties of version 5: a length, and pairs of a number and a value."""
    return {
        "name": name, "type": "struct", "versions": "5+", "length": "uvarint", "keyed": True, "fields": PROPERTY, **more
    }  # fmt: skip


def array(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    """Items up to the packet's end."""
    return {"name": name, "type": "[]struct", "count": "end", "fields": list(fields)}


ID: dict[str, Any] = {"name": "packetId", "type": "uint16"}
TOPIC: dict[str, Any] = {"name": "topic", "type": "string:uint16"}
REASON: dict[str, Any] = {"name": "reasonCode", "type": "uint8", "enum": "error"}
OPTIONS = {"qos": "0x03", "noLocal": "0x04", "retainAsPublished": "0x08", "retainHandling": "0x30"}
ACKNOWLEDGED: Rows = [ID, {**REASON, "versions": "5+", "optional": True}, properties(optional=True)]

BODIES: Mapping[str, Rows] = {
    "CONNECT": [
        {"name": "protocolName", "type": "string:uint16"},
        {"name": "protocolVersion", "type": "uint8"},
        {"name": "connectFlags", "type": "uint8", "bits": {
            "userNameFlag": "0x80", "passwordFlag": "0x40", "willRetain": "0x20", "willQos": "0x18", "willFlag": "0x04",
            "cleanStart": "0x02",
        }},
        {"name": "keepAlive", "type": "uint16"},
        properties(),
        {"name": "clientId", "type": "string:uint16"},
        properties("willProperties", when="willFlag"),
        {"name": "willTopic", "type": "string:uint16", "when": "willFlag"},
        {"name": "willPayload", "type": "bytes:uint16", "when": "willFlag"},
        {"name": "userName", "type": "string:uint16", "when": "userNameFlag"},
        {"name": "password", "type": "bytes:uint16", "when": "passwordFlag", "secret": True},
    ],
    "CONNACK": [
        {"name": "acknowledgeFlags", "type": "uint8", "bits": {"sessionPresent": "0x01"}},
        REASON,
        properties(),
    ],
    "PUBLISH": [TOPIC, {**ID, "when": "qos"}, properties(), {"name": "payload", "type": "rest"}],
    **dict.fromkeys(("PUBACK", "PUBREC", "PUBREL", "PUBCOMP"), ACKNOWLEDGED),
    "SUBSCRIBE": [ID, properties(), array("topics", TOPIC, {"name": "options", "type": "uint8", "bits": OPTIONS})],
    "SUBACK": [ID, properties(), array("granted", {"name": "code", "type": "uint8", "enum": "granted"})],
    "UNSUBSCRIBE": [ID, properties(), array("topics", TOPIC)],
    "UNSUBACK": [ID, properties(), array("reasons", REASON)],
    **dict.fromkeys(("DISCONNECT", "AUTH"), ACKNOWLEDGED[1:]),
}  # fmt: skip

FLAGS = {"dup": "0x08", "qos": "0x06", "retain": "0x01"}


def _schema(name: str) -> Schema:
    bits = {"packetType": "0xf0", **(FLAGS if name == "PUBLISH" else {})}
    fields = [
        {"name": "head", "type": "uint8", "bits": bits},
        {"name": "remainingLength", "type": "uvarint"},
        *BODIES.get(name, ()),
    ]
    return Schema.parse(name, {"versions": "4-5", "fields": fields}, plain_dialect(ENUMS))


SCHEMAS: Mapping[int, Schema] = {code: _schema(name) for code, name in enumerate(NAMES, 1)}
