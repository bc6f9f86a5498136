"""Which messages may hold a secret, and what is hidden of one that cannot be read to its end.

Theory. In a message that fits its layout each secret is known by its field. Where the bytes break, a secret may stand
anywhere: in what could not be read, and, since a wrong length shifts all that follows, in fields of other names. So of
a delicate message that breaks, or goes on behind its end, the body is one secret. One that was only cut short is right
up to the cut: there what was not read is hidden, and nothing else.
"""

from __future__ import annotations

from functools import lru_cache

from dissectors.field import Field, FieldSpec, Tree
from dissectors.kafka.header import ENVELOPE, has_client
from dissectors.kafka.schemas import apis, body_schema, record_schema
from dissectors.kafka.tables import table
from dissectors.wire.message import REST
from dissectors.wire.plan import Array, Leaf, Step, Tags, resolve
from dissectors.wire.secret import Secret
from dissectors.wire.specs import UNDECODED, Layout

FETCH, FETCH_SNAPSHOT = 1, 59
METADATA = "metadata"
DELICATE_MODULES = frozenset({METADATA})
"""Whose records hold credentials (embedded/structures.py)."""

HIDDEN = FieldSpec("payload", "undecoded", secret=True)
"""All of a body, or of a frame, that may hold a secret."""

_UNREAD = Layout(UNDECODED.name, UNDECODED.type, secret=True)
_REST = FieldSpec(REST.name, REST.type, secret=True)


@lru_cache(maxsize=1024)
def is_delicate(key: int | None, response: bool) -> bool:
    """Whether messages of this kind may hold a secret, in whatever version. An Envelope may hold any message."""
    api = None if key is None else apis().get(key)
    if api is None:
        return False
    if api.key == ENVELOPE or (api.key == FETCH_SNAPSHOT and response):
        return True
    schema = body_schema(api.key, response)
    return any(holds_secrets(resolve(schema, version).steps) for version in (api.versions.low, api.versions.high))


def holds_secrets(steps: tuple[Step, ...]) -> bool:
    """Whether a layout has a field that is a secret, or may be one."""
    return any(map(_holds_secret, steps))


def _holds_secret(step: Step) -> bool:
    if isinstance(step, Leaf):
        return step.spec.secret or step.secret_by is not None
    if isinstance(step, Array):
        return _holds_secret(step.element)
    return holds_secrets(tuple(step.steps.values()) if isinstance(step, Tags) else step.steps)


def may_hide(message: bytes, key: int | None, response: bool) -> bool:
    """Whether the unread part of a frame may hold a secret: by what it is, or by what it looks like.

    What a client sends under a key that no table knows is a request of the future only if it has a client id; else it
    may well be a SASL token whose handshake was not seen.
    """
    if key in apis():
        return is_delicate(key, response) or (key == FETCH and response and _names_metadata(message))
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


def is_delicate_record(value: bytes) -> bool:
    """Whether a record of the metadata that fits no layout may hold a secret: by its type, if that is known."""
    from dissectors.kafka.embedded.fits import framed_kind  # only a record that fits nothing asks

    kind = framed_kind(value)
    schema = None if kind is None else record_schema(METADATA, METADATA, kind[0])
    return schema is None or holds_secrets(resolve(schema, schema.versions.high).steps)


def hide_node(node: Field, data: bytes) -> None:
    """Makes a leaf a secret; `data` is its source."""
    spec = node.spec
    node.spec = FieldSpec(spec.name, spec.type, None, True)
    node.value = Secret(data[node.offset + node.head : node.offset + node.length])


def hide_broken(tree: Tree, body: Field | None, message: bytes, *, newer: bool) -> None:
    """Hides what may be a secret in the tree of a delicate message that was not read to its end.

    newer: it was read by an older version, to which a later one may have added something behind.
    """
    whole = int.from_bytes(message[:4]) + 4 <= len(message)
    if whole and body is not None and any(_is_broken(node, newer) for node in tree.fields):
        at = next(index for index, node in enumerate(tree.fields) if node is body)
        tree.fields[at:] = [Field(HIDDEN, Secret(message[body.offset :]), body.offset, len(message) - body.offset)]
        del tree.sources[1:]
        return
    hide_unread(tree.fields)
    for node in tree.fields:
        if node.spec is REST:
            node.spec, node.value = _REST, Secret(node.value)
    if not whole and tree.fields and not tree.fields[-1].spec.secret:
        # What was captured behind a gap is not ours to read, but the last leaf says whether it is to be shown.
        tree.fields.append(Field(_UNREAD, None, len(message), 0))


def _is_broken(node: Field, newer: bool) -> bool:
    """Whether a node says that its message is not what its layout says. Zeros behind a body are a client's habit."""
    return node.spec is UNDECODED or (node.spec is REST and not newer and any(node.value))


def hide_unread(nodes: list[Field]) -> None:
    """Hides what could not be read, here and below."""
    for node in nodes:
        if node.spec is UNDECODED:
            node.spec = _UNREAD
        elif node.spec.type == "partial":
            node.spec = FieldSpec(node.spec.name, node.spec.type, None, True)
        hide_unread(node.children)
