"""What lines say of what follows a SEND or MESSAGE: how much it is, how it is packed, what it is for.

Facts. A batch says how many messages it has and how large it is before compression. Names of properties that clients
and brokers write themselves: RetryMessageUtil of the Java client (retries and dead letters), and the replicator's
__MSG_PROP_REPL_SOURCE_POSITION.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from dissectors.holes import derived, made
from dissectors.pulsar.tables import table
from dissectors.wire.amounts import count_text, length_text, size_text
from dissectors.wire.embedded import Embedded
from dissectors.wire.phrases import MOST, Say, Values, is_number, joined, said, shown_in
from dissectors.wire.times import timestamp


def content(value: Any, values: Values) -> Iterator[str]:
    """Of the metadata and the payload behind it. PRODUCER and SUBSCRIBE call their properties metadata, too."""
    if not isinstance(value, dict):
        return
    if "marker_type" in value:
        yield from _marker(value["marker_type"])
    yield from _amount(value, values.get("payload"))
    for name, say in _SAYINGS.items():
        if name in value:
            yield from say(value[name], value)
    if "transaction" not in values and "txnid_least_bits" in value:
        yield f"transaction ({value.get('txnid_most_bits', 0)},{value['txnid_least_bits']})"
    properties = value.get("properties")
    yield from _history(properties if isinstance(properties, list) else ())


def _amount(metadata: Values, payload: Any) -> Iterator[str]:
    """`3 messages, 240 bytes`, `2 bytes`, `chunk 2 of 3, 1000 bytes of 2.9 KiB`; of a null none of it."""
    if "num_messages_in_batch" in metadata:
        yield count_text(metadata["num_messages_in_batch"], "message")
        yield from _batch_size(metadata, payload)
        out = metadata.get("compacted_batch_indexes")
        if isinstance(out, list) and out:
            yield f"{len(out)} compacted away"
    elif metadata.get("null_value") is True:
        yield "null"
    elif "chunk_id" in metadata:
        yield from _chunk(metadata, payload)
    elif "marker_type" not in metadata:
        yield from _size(payload)


def _batch_size(metadata: Values, payload: Any) -> Iterator[str]:
    """That of its messages, without what stands around them; of an encrypted one as its producer says."""
    size: Any = metadata.get("uncompressed_size")
    if isinstance(payload, dict) and isinstance(payload.get("messages"), list):
        yield made(size_text, derived(_total, payload["messages"]))
    elif is_number(size) and size > 0:
        yield made(size_text, size)
    else:
        yield from _size(payload)


def _total(messages: list[Any]) -> int:
    found = [each.get("payload") for each in messages if isinstance(each, dict)]
    return sum(len(each) for each in found if isinstance(each, bytes))


def _size(payload: Any) -> Iterator[str]:
    """Of bytes; those that were decompressed are a list where they stand for many (holes.Nested)."""
    data = payload.data if isinstance(payload, Embedded) else payload
    if isinstance(data, bytes):
        yield length_text(data)
    elif isinstance(data, list):
        yield made(size_text, derived(len, data))


def _chunk(metadata: Values, payload: Any) -> Iterator[str]:
    """They are counted from 0 on the wire, and from 1 here."""
    number, total = metadata["chunk_id"], metadata.get("num_chunks_from_msg", "?")
    yield f"chunk {made(lambda index: f'{index + 1}', number)} of {total}"
    whole = metadata.get("total_chunk_msg_size")
    of = f" of {made(size_text, whole)}" if is_number(whole) and whole > 0 else ""
    yield from (size + of for size in _size(payload))


def _marker(kind: Any) -> Iterator[str]:
    if is_number(kind):
        yield f"marker {made(_marker_name, kind)}"


def _marker_name(kind: int) -> str:
    return _marker_names().get(kind, f"{kind}")


@cache
def _marker_names() -> Mapping[int, str]:
    return {int(number): name for number, name in table("enums")["MarkerType"].items()}


def _compression(value: Any, _: Values) -> Iterable[str]:
    return (f"{value}",) if value != "NONE" else ()


def _encrypted(value: Any, _: Values) -> Iterable[str]:
    """By the names of the keys that the data's key is encrypted with."""
    return joined("encrypted with ", value, shown_in("key"))


def _key(value: Any, metadata: Values) -> Iterable[str]:
    """One that was bytes stands there in base64."""
    if isinstance(value, str):
        yield f"key {value} (base64)" if metadata.get("partition_key_b64_encoded") is True else f"key {value}"


def _delayed(value: Any, _: Values) -> Iterable[str]:
    if is_number(value) and 0 < value <= MOST:
        yield f"deliver at {made(lambda moment: timestamp(moment) or f'{moment}', value)}"


_SAYINGS: Mapping[str, Say] = {
    "compression": _compression,
    "encryption_keys": _encrypted,
    "partition_key": _key,
    "deliver_at_time": _delayed,
    "replicated_from": said("from cluster {}"),
}


def _history(properties: Iterable[Any]) -> Iterator[str]:
    """Where a message that was sent again comes from."""
    for each in properties:
        if isinstance(each, dict):
            key, value = each.get("key"), each.get("value")
            if isinstance(key, str) and isinstance(value, str):
                for name, words in _HISTORY:
                    if key == name:
                        yield f"{words} {value}"


_HISTORY = (
    ("RECONSUMETIMES", "retry"),
    ("REAL_TOPIC", "from"),
    ("__MSG_PROP_REPL_SOURCE_POSITION", "source"),
)
