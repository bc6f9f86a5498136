"""Messages as brokers store them, as clients send them in batches, and as they stand in one another.

Facts. A stored message begins with its size and a magic, which tells whether the topic's length has one byte or two;
two bits of sysFlag tell whether its hosts have 4 or 16 bytes of address. A batch on its way to the broker has items of
size, magic, crc (both 0), flag, body and properties; so do the bodies of inner batches (sysFlag INNER_BATCH), whose
items count on from the message's queueOffset. The checksum is CRC-32 without its highest bit. Properties are one text.
A body whose first item makes no sense stays bytes: brokers answer a query for a wrong offset with arbitrary bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from ipaddress import ip_address
from struct import Struct
from typing import Any

from dissectors.errors import DecodeError, MalformedField
from dissectors.field import FieldSpec, Label
from dissectors.rocketmq.labels import BORN_V6, COMPRESSED, INNER_BATCH, STORE_V6, find_codec, format_sys_flag
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.derived import Crc32, Pairs
from dissectors.wire.dialect import Primitive, SizedBytes
from dissectors.wire.items import Items
from dissectors.wire.plan import DerivedStep, Leaf, Plan
from dissectors.wire.primitive import INT32, INT64, UINT32, FixedWidth, Length
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LENGTH, LayoutSpec, Many
from dissectors.wire.times import timestamp

MAGICS = {0xDAA3_20A7: False, 0xDAA3_20AB: True}
"""The magic of a stored message, and whether its topic's length has two bytes."""

_HEAD = Struct(">4xI28xi")
"""Of a stored message: its magic, and behind what is between them sysFlag."""

MINIMUM = _HEAD.size

_ITEM_HEAD = Struct(">iI")
_ITEM_MINIMUM = 22

NAME_VALUE, PROPERTY = "\x01", "\x02"
"""What stands behind the name of a property, and behind its value."""

QUEUE_OFFSET = FieldSpec("queueOffset", INT64.type)
CRC_VALID = FieldSpec("crcValid", "bool")
UNCOMPRESSED = FieldSpec("bodyUncompressed", "bytes")


def decode_properties(raw: bytes) -> dict[str, str]:
    """Returns the properties of a message. Raises UnicodeDecodeError."""
    return parse_properties(raw.decode())


def parse_properties(text: str) -> dict[str, str]:
    """Parses the text of a message's properties, as headers have it."""
    return {name: value for item in text.split(PROPERTY) if item for name, _, value in [item.partition(NAME_VALUE)]}


@lru_cache(maxsize=4096)
def format_host(raw: bytes) -> str:
    """Formats an address and a port: `127.0.0.1:10911`, `[::1]:10911`."""
    address, port = ip_address(raw[:-4]), int.from_bytes(raw[-4:], signed=True)
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


class _BodyContent(DerivedStep):
    """What is in a body beside itself, as sysFlag says: what was compressed, a source of its own; an inner batch."""

    __slots__ = ()

    def add(self, values: dict[str, Any], budget: Budget) -> None:
        """Adds `bodyUncompressed` and `messages` to the values."""
        body, flag = values["body"], values["sysFlag"]
        if flag & COMPRESSED and body:
            body = values[UNCOMPRESSED.name] = decompress_body(flag, body, budget, 0)
        if flag & INNER_BATCH:
            values[BATCH.spec.name] = BATCH.decode(body, 0, budget, values["queueOffset"])

    def show(self, reader: Reader) -> None:
        """Adds uncompressed bytes and inner messages below the body's leaf."""
        node, flag = reader.into[-1], reader.node("sysFlag").value
        if not node.value:
            return
        first, inner = reader.node("queueOffset").value, reader
        if flag & COMPRESSED:
            below = add_uncompressed(reader, flag)
            if below is None:
                return
            node, inner = below.into[-1], below
        if flag & INNER_BATCH:
            inner = inner.read_inside(node)
            if node.head:
                inner.leaf(LENGTH["int32"], len(node.value), node.offset + node.head)
            inner.guard(partial(BATCH.read_items, first=first), inner.end)


def _make_leaf(name: str, primitive: Primitive, label: Label | None = None, *derived: DerivedStep) -> Leaf:
    return Leaf(FieldSpec(name, primitive.type, label), primitive, derived=derived)


def _make_hidden_leaf(name: str, primitive: Primitive) -> Leaf:
    return Leaf(LayoutSpec(name, primitive.type), primitive)


_HOST = (FixedWidth("ipv4_port", "8s", format_host), FixedWidth("ipv6_port", "20s", format_host))
_TOPIC = tuple(
    SizedBytes("string", Length(kind, code), convert=bytes.decode) for kind, code in (("int8", "b"), ("int16", "h"))
)
_BODY = SizedBytes("bytes", Length("int32", "i"))
_PROPERTIES = _make_leaf(
    "properties",
    SizedBytes("properties", Length("int16", "h"), convert=decode_properties),
    None,
    Pairs("property", NAME_VALUE.encode(), PROPERTY.encode()),
)

ITEM = Plan(
    "BatchItem",
    0,
    (
        _make_hidden_leaf("totalSize", INT32),
        _make_hidden_leaf("magicCode", INT32),
        _make_hidden_leaf("bodyCRC", INT32),
        _make_leaf("flag", INT32),
        _make_leaf("body", _BODY),
        _PROPERTIES,
    ),
)
"""The layout of a batch's item."""


@lru_cache(maxsize=32)
def make_message_plan(two_bytes: bool, flag: int) -> Plan:
    """Returns the layout of a stored message in one of its forms, by those bits of its sysFlag that tell them."""
    holds = (_BodyContent(),) if flag & (COMPRESSED | INNER_BATCH) else ()
    steps = (
        _make_hidden_leaf("totalSize", INT32),
        _make_hidden_leaf("magicCode", UINT32),
        _make_leaf("bodyCRC", INT32),
        _make_leaf("queueId", INT32),
        _make_leaf("flag", INT32),
        _make_leaf("queueOffset", INT64),
        _make_leaf("commitLogOffset", INT64),
        _make_leaf("sysFlag", INT32, format_sys_flag),
        _make_leaf("bornTimestamp", INT64, timestamp),
        _make_leaf("bornHost", _HOST[flag & BORN_V6 != 0]),
        _make_leaf("storeTimestamp", INT64, timestamp),
        _make_leaf("storeHost", _HOST[flag & STORE_V6 != 0]),
        _make_leaf("reconsumeTimes", INT32),
        _make_leaf("preparedTransactionOffset", INT64),
        _make_leaf("body", _BODY, None, Crc32(CRC_VALID, "bodyCRC", "body", 0x7FFF_FFFF), *holds),
        _make_leaf("topic", _TOPIC[two_bytes]),
        _PROPERTIES,
    )
    return Plan("StoredMessage", 0, steps)


_FORM = COMPRESSED | BORN_V6 | STORE_V6 | INNER_BATCH


def find_message_plan(data: bytes, at: int, path: Callable[[str], str]) -> Plan:
    """Returns the layout of the stored message that begins there; a sysFlag that is cut off matters no more."""
    magic, flag = _HEAD.unpack_from(data.ljust(at + MINIMUM, b"\0"), at)
    if magic not in MAGICS:
        raise MalformedField(path("magicCode"), at + 4, f"is {magic:#x}, which is none")
    return make_message_plan(MAGICS[magic], flag & _FORM)


_ITEMS = Many("messages", "array")
MESSAGES = Items(_ITEMS, find_message_plan, _ITEM_HEAD.size, _ITEM_MINIMUM, QUEUE_OFFSET)
BATCH = Items(_ITEMS, lambda data, at, path: ITEM, _ITEM_HEAD.size, _ITEM_MINIMUM, QUEUE_OFFSET)


def can_be_stored(reader: Reader, stop: int) -> bool:
    """Whether a stored message may begin here, in a body that ends at `stop` even if fewer bytes were captured."""
    head = reader.data[reader.at : reader.at + 8]
    size, magic = _ITEM_HEAD.unpack(head.ljust(8, b"\0"))
    return MINIMUM <= size <= stop - reader.at and (len(head) < 8 or magic in MAGICS)


def can_be_item(reader: Reader, stop: int) -> bool:
    """Tells whether an item of a batch may begin here, in a body that ends at `stop`."""
    head = reader.data[reader.at : reader.at + 4]
    return _ITEM_MINIMUM <= int.from_bytes(head, signed=True) <= stop - reader.at


def decompress_body(flag: int, body: bytes, budget: Budget, at: int) -> bytes:
    """Returns the content of a body that the message's sysFlag calls compressed. Raises DecodeError."""
    name = find_codec(flag)
    if name is None:
        raise MalformedField("body", at, f"has compression {flag >> 8 & 7}, which is none")
    return decompress(name, body, budget, "body", at)


def add_uncompressed(reader: Reader, flag: int) -> Reader | None:
    """Adds what the body added last holds, as a source of its own; None where it can't be decompressed."""
    node = reader.into[-1]
    try:
        plain = decompress_body(flag, node.value, reader.budget, node.offset + node.head)
    except DecodeError as error:
        reader.find(error)
        return None
    inner = reader.read_decoded(node, f"{reader.path(node.spec.name)}, {find_codec(flag)}", plain)
    inner.leaf(UNCOMPRESSED, plain, len(plain))
    return inner
