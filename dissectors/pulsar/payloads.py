"""Payloads of SEND and MESSAGE, each message of a batch by itself.

Facts. Neither command names its topic: the command that created the producer or consumer did. A message is identified
by its producer and sequence id when it is sent, and by ledger and entry when it is delivered. Encrypted content, or one
chunk of several, is returned as it is. A key that is not a text is written in base64 (partition_key_b64_encoded).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dissectors.api import Role
from dissectors.message import Values
from dissectors.payload import Carriers, LoadRequest, Payload, Payloads, Record, number
from dissectors.pulsar.commands import MESSAGE, SEND
from dissectors.wire.inner import content

_UNKNOWN = "unknown"


def list_carriers() -> Carriers:
    """Lists the commands that may carry a payload."""
    return frozenset((code, role) for code in (SEND, MESSAGE, None) for role in Role)


def list_payloads(values: Values, load_request: LoadRequest) -> Iterator[Payload]:
    """Lists the payloads of a decoded frame, one for each message of a batch."""
    payload = values.get("payload")
    if isinstance(payload, dict):
        messages = payload.get("messages")
        if isinstance(messages, list) and messages:
            partition, time = _read_log_place(values)
            name = _make_name(values)
            for index, each in enumerate(messages):
                data = content(each.get("payload")) if isinstance(each, dict) else None
                if data is not None:
                    record = Record(None, partition, None, time, _find_key(each.get("metadata")))
                    place = ("payload", "messages", index, "payload")
                    yield Payload(place, "payload", data, (*name, str(index)), record)
    elif (data := content(payload)) is not None:
        partition, time = _read_log_place(values)
        record = Record(None, partition, None, time, _find_key(values.get("metadata")))
        yield Payload(("payload",), "payload", data, _make_name(values), record)


def _read_log_place(values: Values) -> tuple[Any, Any]:
    """Partition and time of a frame's records. Offsets are a ledger and an entry here, which are no number."""
    entry, metadata = values.get("message_id"), values.get("metadata")
    partition = number(entry.get("partition")) if isinstance(entry, dict) else None
    time = number(metadata.get("publish_time")) if isinstance(metadata, dict) else None
    return None if partition == -1 else partition, time


def _find_key(metadata: object) -> object:
    """The key of one message, from its own metadata."""
    if not isinstance(metadata, dict):
        return None
    key = metadata.get("partition_key")
    if metadata.get("partition_key_b64_encoded") is True and isinstance(key, str):
        with suppress(ValueError):
            return b64decode(key, validate=True)
    return key


def _make_name(values: Values) -> tuple[str, ...]:
    entry = values.get("message_id")
    if isinstance(entry, dict):
        return "ledger", _read_text(entry, "ledgerId"), _read_text(entry, "entryId")
    metadata = values.get("metadata")
    producer = metadata.get("producer_name") if isinstance(metadata, dict) else None
    chunk = values.get("chunk")
    part = (f"chunk{_read_text(chunk, 'id')}",) if isinstance(chunk, dict) else ()
    return str(producer or f"producer{_read_text(values, 'producer_id')}"), _read_text(values, "sequence_id"), *part


def _read_text(values: Values | dict[str, Any], name: str) -> str:
    return str(values.get(name, _UNKNOWN))


PAYLOADS = Payloads(list_payloads, list_carriers)
