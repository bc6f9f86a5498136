"""Messages that may hold a secret: their unreadable bytes are hidden (wire.hiding)."""

from __future__ import annotations

from functools import lru_cache

from dissectors.kafka.header import ENVELOPE, has_client
from dissectors.kafka.schemas import apis, body_schema, record_schema
from dissectors.kafka.tables import table
from dissectors.wire.plan import Step, leaves_of, resolve

FETCH, FETCH_SNAPSHOT = 1, 59
METADATA = "metadata"
SENSITIVE_MODULES = frozenset({METADATA})
"""Whose records hold credentials (nested/structures.py)."""


@lru_cache(maxsize=1024)
def is_sensitive_message(key: int | None, response: bool) -> bool:
    """Returns whether messages of this kind may contain a secret. An Envelope may contain any message."""
    api = None if key is None else apis().get(key)
    if api is None:
        return False
    if api.key == ENVELOPE or (api.key == FETCH_SNAPSHOT and response):
        return True
    schema = body_schema(api.key, response)
    return any(holds_secrets(resolve(schema, version).steps) for version in (api.versions.low, api.versions.high))


def holds_secrets(steps: tuple[Step, ...]) -> bool:
    """Returns whether a layout has a field that is a secret, or may be one."""
    return any(leaf.spec.secret or leaf.secret_by is not None for leaf in leaves_of(steps))


def may_hide(message: bytes, key: int | None, response: bool) -> bool:
    """Returns whether the unread part of a frame may hold a secret: by what it is, or by what it looks like.

    What a client sends under a key that no table knows is a request of the future only if it has a client id; else it
    may well be a SASL token whose handshake was not seen.
    """
    if key in apis():
        return is_sensitive_message(key, response) or (key == FETCH and response and _names_metadata(message))
    return response or not has_client(message)


def _names_metadata(message: bytes) -> bool:
    return any(name in message for name in _metadata_topics())


@lru_cache(maxsize=1)
def _metadata_topics() -> tuple[bytes, ...]:
    """How a message names the topic of the cluster's metadata: by name, or by id."""
    from base64 import urlsafe_b64decode

    rules = table("quirks")
    names = {name for name, module in rules["internalTopics"].items() if module == METADATA}
    ids = (urlsafe_b64decode(number + "==") for number, name in rules["topicIds"].items() if name in names)
    return (*(name.encode() for name in sorted(names)), *ids)


def is_sensitive_record(value: bytes) -> bool:
    """Returns whether a metadata record that fits no layout may contain a secret, by its type."""
    from dissectors.kafka.nested.payload_detection import read_framed_kind  # only a record that fits nothing asks

    kind = read_framed_kind(value)
    schema = None if kind is None else record_schema(METADATA, METADATA, kind[0])
    return schema is None or holds_secrets(resolve(schema, schema.versions.high).steps)
