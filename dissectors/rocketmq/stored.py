"""Messages as brokers store them, as clients send them in batches, and as they stand in one another.

Facts. A stored message begins with its size and a magic, which says whether the topic's length has one byte or two;
two bits of sysFlag say whether its hosts have 4 or 16 bytes of address. A batch on its way to the broker has items of
size, magic, crc (both 0), flag, body and properties; so have the bodies of inner batches (sysFlag INNER_BATCH), whose
items count on from the message's queueOffset. The checksum is CRC-32 without its highest bit. Properties are one text.

The layouts are plans, made once for each of the eight forms: this module has them, and reads them the fast way, where
anything out of the ordinary raises one of emit.FAILURES; stored_fields.py makes nodes by the same plans.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from ipaddress import ip_address
from struct import Struct
from typing import Any

from dissectors.errors import Malformed
from dissectors.field import FieldSpec
from dissectors.rocketmq.labels import BORN_V6, COMPRESSED, INNER_BATCH, STORE_V6, codec, sys_flag
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.dialect import Primitive, Sized
from dissectors.wire.emit import Decode, projection
from dissectors.wire.plan import Leaf, Plan
from dissectors.wire.primitive import INT32, INT64, UINT32, Fixed, Length
from dissectors.wire.specs import Layout
from dissectors.wire.times import timestamp
from dissectors.wire.varint import Unfit

MAGICS = {0xDAA3_20A7: False, 0xDAA3_20AB: True}
"""The magic of a stored message, and whether its topic's length has two bytes."""

HEAD = Struct(">iI28xi")
"""Of a stored message: size, magic, and behind what is between them sysFlag."""

ITEM_HEAD = Struct(">iI")
ITEM_MINIMUM = 22

NAME_VALUE, PROPERTY = "\x01", "\x02"
"""What stands behind the name of a property, and behind its value."""
_BODY = Sized("bytes", Length("int32", "i"))


def properties(raw: bytes) -> dict[str, str]:
    """The properties of a message. Raises UnicodeDecodeError."""
    return properties_in(raw.decode())


def properties_in(text: str) -> dict[str, str]:
    """The same of a text, as headers have them."""
    pairs = [item.partition(NAME_VALUE) for item in text.split(PROPERTY) if item]
    return {name: value for name, _, value in pairs}


@lru_cache(maxsize=4096)
def _host(raw: bytes) -> str:
    """An address and a port: `127.0.0.1:10911`, `[::1]:10911`."""
    address, port = ip_address(raw[:-4]), int.from_bytes(raw[-4:], signed=True)
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


_PROPERTIES = Sized("properties", Length("int16", "h"), convert=properties)
_TOPIC = tuple(
    Sized("string", Length(kind, code), convert=bytes.decode) for kind, code in (("int8", "b"), ("int16", "h"))
)
_HOST = (Fixed("ipv4_port", "8s", _host), Fixed("ipv6_port", "20s", _host))


def _plan(name: str, kept: dict[str, Primitive], layout: frozenset[str]) -> Plan:
    labels = {"sysFlag": sys_flag, "bornTimestamp": timestamp, "storeTimestamp": timestamp}
    specs = {each: (Layout if each in layout else FieldSpec) for each in kept}
    steps = (Leaf(specs[each](each, kind.type, labels.get(each)), kind) for each, kind in kept.items())
    return Plan(name, 0, tuple(steps))


def _decoder(plan: Plan) -> Decode:
    """What gives the values of a plan, without those that are there for the layout."""
    assert all(isinstance(step, Leaf) for step in plan.steps)
    kept = [step.spec.name for step in plan.steps if isinstance(step, Leaf) and not isinstance(step.spec, Layout)]
    return projection(plan, frozenset((name,) for name in kept))


@lru_cache(maxsize=8)
def message_plan(two_bytes: bool, born_v6: bool, store_v6: bool) -> Plan:
    """The layout of a stored message in one of its forms."""
    fields: dict[str, Primitive] = {
        "totalSize": INT32,
        "magicCode": UINT32,
        "bodyCRC": INT32,
        "queueId": INT32,
        "flag": INT32,
        "queueOffset": INT64,
        "commitLogOffset": INT64,
        "sysFlag": INT32,
        "bornTimestamp": INT64,
        "bornHost": _HOST[born_v6],
        "storeTimestamp": INT64,
        "storeHost": _HOST[store_v6],
        "reconsumeTimes": INT32,
        "preparedTransactionOffset": INT64,
        "body": _BODY,
        "topic": _TOPIC[two_bytes],
        "properties": _PROPERTIES,
    }
    return _plan("StoredMessage", fields, frozenset({"totalSize", "magicCode"}))


@lru_cache(maxsize=1)
def item_plan() -> Plan:
    """The layout of a batch's item."""
    fields: dict[str, Primitive] = {
        "totalSize": INT32,
        "magicCode": INT32,
        "bodyCRC": INT32,
        "flag": INT32,
        "body": _BODY,
        "properties": _PROPERTIES,
    }
    return _plan("BatchItem", fields, frozenset({"totalSize", "magicCode", "bodyCRC"}))


@lru_cache(maxsize=8)
def _message_decoder(two_bytes: bool, born_v6: bool, store_v6: bool) -> Decode:
    return _decoder(message_plan(two_bytes, born_v6, store_v6))


@lru_cache(maxsize=1)
def _item_decoder() -> Decode:
    return _decoder(item_plan())


def form(magic: int, flag: int) -> tuple[bool, bool, bool]:
    """Which of the eight forms a stored message has. Raises KeyError for a magic that is none."""
    return MAGICS[magic], flag & BORN_V6 != 0, flag & STORE_V6 != 0


def inflated(flag: int, body: bytes, budget: Budget, at: int) -> bytes:
    """The content of a body that the message's sysFlag calls compressed. Raises DecodeError."""
    name = codec(flag)
    if name is None:
        raise Malformed("body", at, f"has compression {flag >> 8 & 7}, which is none")
    return decompress(name, body, budget, "body", at)


def checksum(body: bytes) -> int:
    """What bodyCRC holds."""
    return zlib.crc32(body) & 0x7FFF_FFFF


def stored_messages(data: bytes, at: int, budget: Budget) -> list[dict[str, Any]]:
    """The stored messages from `at` to the end of `data`."""
    found = []
    while at < len(data):
        size, magic, flag = HEAD.unpack_from(data, at)
        if magic not in MAGICS:
            raise Unfit
        values, stop = _message_decoder(*form(magic, flag))(data, at, budget)
        if stop != at + size or stop > len(data):
            raise Unfit
        _complete(values, budget)
        found.append(values)
        at = stop
    return found


def _complete(values: dict[str, Any], budget: Budget) -> None:
    """Adds what follows from a message's body."""
    body, flag = values["body"], values["sysFlag"]
    values["crcValid"] = checksum(body) == values["bodyCRC"]
    if not values["crcValid"]:
        raise Unfit
    if flag & COMPRESSED and body:
        body = values["bodyUncompressed"] = inflated(flag, body, budget, 0)
    if flag & INNER_BATCH:
        values["messages"] = batch_items(body, 0, budget, values["queueOffset"])


def batch_items(data: bytes, at: int, budget: Budget, offset: int | None = None) -> list[dict[str, Any]]:
    """The items of a batch from `at` to the end of `data`; in an inner batch they have offsets from `offset` on."""
    found: list[dict[str, Any]] = []
    decode = _item_decoder()
    while at < len(data):
        size = ITEM_HEAD.unpack_from(data, at)[0]
        values, stop = decode(data, at, budget)
        if stop != at + size or stop > len(data):
            raise Unfit
        found.append(values if offset is None else {"queueOffset": offset + len(found), **values})
        at = stop
    return found
