"""Labels of RocketMQ's numbers: flags, permissions, codecs, times."""

from __future__ import annotations

from collections.abc import Mapping

from dissectors.field import Label
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import duration_text
from dissectors.wire.times import milliseconds, timestamp

RESPONSE, ONEWAY = 1, 2
"""Bits of a command's flag."""

COMPRESSED, BORN_V6, STORE_V6, INNER_BATCH = 1, 1 << 4, 1 << 5, 1 << 7
"""Bits of a message's sysFlag."""

CODECS = ("zlib", "lz4", "zstd", "zlib")
"""Compression by bits 8 to 10 of a message's sysFlag; old clients leave them 0."""

RETRY = "%RETRY%"
"""What topics begin with that a group's messages wait in to be delivered again; the group's name is behind it."""

ENDINGS = {0: "unknown", 8: "commit", 12: "rollback"}
"""Values of END_TRANSACTION's commitOrRollback."""

_PULLS = frozenset({"PullMessageRequestHeader"})
_SYS_FLAG = (
    (COMPRESSED, "compressed"),
    (2, "many tags"),
    (BORN_V6, "born at IPv6"),
    (STORE_V6, "stored at IPv6"),
    (1 << 6, "to be unwrapped"),
    (INNER_BATCH, "inner batch"),
)
_TRANSACTION = ("", "prepared", "committed", "rolled back")
_PULL = ((1, "commits offset"), (2, "may wait"), (4, "with subscription"), (8, "class filter"), (16, "lite pull"))
_PERMISSIONS = ((4, "read"), (2, "write"), (1, "inherit"), (8, "priority"))
_UNITS = ((1, "unit"), (2, "subscribed in units"))
_FORBIDDEN = {1: "the group may not", 2: "the topic may not be read", 3: "no broadcasting", 4: "not this subscription"}
_ORDERLY = 999


def find_codec(sys_flag: int) -> str | None:
    """Returns the codec of a compressed message from its sysFlag; None for an unknown number."""
    number = sys_flag >> 8 & 7
    return CODECS[number] if number < len(CODECS) else None


def format_command_flag(value: int) -> str:
    """Returns the bits of a command's flag in words."""
    return "response" if value & RESPONSE else "oneway" if value & ONEWAY else "request"


def format_sys_flag(value: int) -> str | None:
    """Formats the special properties of a message from its sysFlag."""
    names = [name for bit, name in _SYS_FLAG if value & bit]
    if value & COMPRESSED:
        names.insert(1, find_codec(value) or f"codec {value >> 8 & 7}")
    names.append(_TRANSACTION[value >> 2 & 3])
    return ", ".join(filter(None, names)) or None


def format_pull_flag(value: int) -> str | None:
    """Formats the options of a pull from its sysFlag."""
    return ", ".join(name for bit, name in _PULL if value & bit) or None


def format_permission(value: int) -> str | None:
    """Formats the permissions of a topic."""
    return ", ".join(name for bit, name in _PERMISSIONS if value & bit) or None


def format_delay(level: int) -> str | None:
    """Formats the time of a delay level, with the broker's default messageDelayLevel."""
    return duration_text(find_delay(level)) if level > 0 else None


def find_delay(level: int) -> int:
    """Returns how long a delay level from 1 on lasts by default, ms; the last one stands for all higher ones."""
    delays: list[int] = table("meanings")["delays"]
    return delays[min(level, len(delays)) - 1]


def name_label(name: str, owner: str) -> str:
    """Returns the name of the label of a header class's field: a pull has a sysFlag of its own."""
    return "pullSysFlag" if name == "sysFlag" and owner in _PULLS else name


def format_retry_level(value: int) -> str | None:
    """Formats the delay after which a returned message comes again (SendMessageProcessor.consumerSendMsgBack)."""
    return "to the dead letters" if value < 0 else "by number of retries" if value == 0 else format_delay(value)


def format_topic_flag(value: int) -> str | None:
    """Formats the bits of TopicSysFlag."""
    return ", ".join(name for bit, name in _UNITS if value & bit) or None


def format_checksum(value: int) -> str:
    """Formats a CRC as eight hexadecimal digits."""
    return f"{value & 0xFFFF_FFFF:#010x}"


_MASTER = {0: "master"}.get

_LABELS: Mapping[str, Label] = {
    "sysFlag": format_sys_flag,
    "pullSysFlag": format_pull_flag,
    "perm": format_permission,
    "topicSysFlag": format_topic_flag,
    "groupSysFlag": format_topic_flag,
    "bodyCrc32": format_checksum,
    "delayLevel": format_retry_level,
    "commitOrRollback": ENDINGS.get,
    "initMode": {0: "from the first", 1: "from the last"}.get,
    "requestSource": {-1: "SDK", 0: "proxy, in order", 1: "proxy, broadcast", 2: "proxy, stream"}.get,
    "forbiddenType": _FORBIDDEN.get,
    "queueId": {-1: "any"}.get,
    "reviveQid": {_ORDERLY: "in order"}.get,
    **dict.fromkeys(("brokerId", "suggestWhichBrokerId", "minBrokerId"), _MASTER),
    **dict.fromkeys(("bornTimestamp", "storeTimestamp", "timestamp", "beginTimestamp", "endTimestamp"), timestamp),
    **dict.fromkeys(("bornTime", "popTime", "invokeTime", "indexLastUpdateTimestamp", "checkStoreTime"), timestamp),
    "subVersion": timestamp,
    **dict.fromkeys(("suspendTimeoutMillis", "pollTime", "invisibleTime"), milliseconds),
    **dict.fromkeys(("heartbeatTimeoutMillis", "heartbeatTimeoutMills"), milliseconds),
}


def _label_numbers(label: Label) -> Label:
    return lambda value: label(value) if type(value) is int else None


BY_NAME: Mapping[str, Label] = {name: _label_numbers(label) for name, label in _LABELS.items()}
"""The label of a header's field by its name; none where a peer has sent a text instead of a number."""
