"""What a broker registers with a name server, when it compresses it.

Facts. Before version 5 the body of REGISTER_BROKER is zlib by default, whether or not the header says so. Inside, each
part stands behind an int32 length: a DataVersion as JSON; behind a count a topic each, as words between spaces; a list
of filter servers as JSON; and in version 5, behind another count, the queue mappings as JSON. It is sent every thirty
seconds, so there is one way to read it, and values are folded out of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dissectors.errors import Malformed
from dissectors.field import FieldSpec, Label
from dissectors.rocketmq.labels import format_permission
from dissectors.rocketmq.secrets import SECRETS
from dissectors.wire.json_text import read_json
from dissectors.wire.primitive import Length
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Layout, Many

ZLIB = b"\x78"
"""The first byte of a zlib stream with a window of 32 KiB, as Java writes it; no JSON begins with it."""

_LENGTH = Length("int32", "i")
_SIZE = Layout("length", "int32")
_COUNT = Layout("count", "int32")
_WRAPPER = FieldSpec("topicConfigSerializeWrapper", "struct")
_TOPICS = FieldSpec("topicConfigTable", "map")
_MAPPINGS = Many("topicQueueMappingInfos", "array")
_NUMBERS: Mapping[str, Label | None] = {"readQueueNums": None, "writeQueueNums": None, "perm": format_permission}


def read_registration(reader: Reader) -> None:
    """Reads the uncompressed body into the node that is open."""
    reader.enter(_WRAPPER)
    _read_sized(reader, "dataVersion", partial(read_json, name="dataVersion", secrets=SECRETS))
    reader.enter(_TOPICS)
    for _ in range(_read_count(reader, "topicConfigTable")):
        _read_sized(reader, "topic", _read_topic)
    reader.leave()
    reader.leave()
    _read_sized(reader, "filterServerList", partial(read_json, name="filterServerList", secrets=SECRETS))
    if reader.at < reader.end:
        reader.enter(_MAPPINGS)
        for index in range(_read_count(reader, _MAPPINGS.name)):
            _read_sized(reader, f"[{index}]", partial(read_json, name=f"[{index}]", secrets=SECRETS))
        reader.leave()
    if reader.at < reader.end:
        raise Malformed(reader.path("body"), reader.at, f"has {reader.end - reader.at} bytes more than its parts")


def _read_count(reader: Reader, name: str) -> int:
    count, at = reader.number(_LENGTH, reader.at, name)
    reader.need(max(count, 0) * _LENGTH.size, at, f"{name} ({count} elements)")
    reader.leaf(_COUNT, count, at)
    return count


def _read_sized(reader: Reader, name: str, read: Callable[[Reader], None]) -> None:
    size, at = reader.number(_LENGTH, reader.at, name)
    if size < 0:
        raise Malformed(reader.path(name), reader.at, f"has length {size}")
    reader.need(size, at, name)
    reader.leaf(_SIZE, size, at)
    before, reader.end = reader.end, at + size
    read(reader)
    if reader.at != reader.end:
        raise Malformed(reader.path(name), at, f"takes {reader.at - at} of its {size} bytes")
    reader.end = before


def _read_topic(reader: Reader) -> None:
    """Name, numbers of queues, permission, filter type, and from version 5 on attributes as JSON."""
    name, _, rest = reader.data[reader.at : reader.end].partition(b" ")
    words = rest.split(b" ", len(_NUMBERS) + 1)
    if len(words) <= len(_NUMBERS) or not all(word.isdigit() for word in words[: len(_NUMBERS)]):
        raise Malformed(reader.path("topic"), reader.at, "is no topic")
    reader.enter(FieldSpec(name.decode("utf-8", "backslashreplace"), "struct"))
    _add_word(reader, FieldSpec("topicName", "string"), _decode_lenient(name), len(name))
    for (field, label), word in zip(_NUMBERS.items(), words, strict=False):
        _add_word(reader, FieldSpec(field, "int", label), int(word), len(word))
    _add_word(
        reader, FieldSpec("topicFilterType", "string"), _decode_lenient(words[len(_NUMBERS)]), len(words[len(_NUMBERS)])
    )
    if reader.at < reader.end:
        read_json(reader, "attributes", SECRETS)
    reader.leave()


def _add_word(reader: Reader, spec: FieldSpec, value: object, length: int) -> None:
    """A word and the space behind it."""
    reader.leaf(spec, value, min(reader.at + length + 1, reader.end))


def _decode_lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
