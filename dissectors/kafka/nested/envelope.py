"""The content of an Envelope: a request or a response as in a frame, header and body.

Facts (KIP-590). A broker forwards a client's request to the controller, and the answer returns the same way. The
content is read as a message of its own, with its bytes fields and records. A response has the code and version of its
request, which its own bytes do not contain: both are leaves without bytes. No client nests envelopes, so only a few
levels are read; otherwise hostile bytes could nest as deep as they are long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dissectors.field import FieldSpec
from dissectors.kafka.nested.payload_detection import DetectedPayload, detect, read_leading_number
from dissectors.kafka.nested.rules import INNER_KEY, INNER_VERSION, Hints
from dissectors.kafka.nested.values import make_unfolding_decoder
from dissectors.kafka.schemas import apis, body_schema, header_version, load_named_schema
from dissectors.kafka.sensitive import is_sensitive_message
from dissectors.slotted import make_slotted, replace
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, Decode, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Leaf, Plan, Step, resolve
from dissectors.wire.reader import Reader

DEEPEST = 4
"""So many envelopes are read, one in another."""

DEPTH, SEPARATOR = "envelopes", ","
"""The hint that counts them, and what stands between what is told of one and of those in it."""

_FIELDS = FieldSpec("fields", "struct")
_NAMES = {
    "requestApiKey": "code",
    "requestApiVersion": "version",
    "correlationId": "correlation",
    "clientId": "client",
}


@make_slotted(eq=False)
class EnvelopedMessage:
    """A message within a bytes field, a NestedDecoder: the steps of its header, and below `fields` its body.

    request_fields: of a response what its request says of both, the code and the version.
    """

    name: str
    head: Plan
    body: Plan
    key: int
    response: bool
    hints: Mapping[str, str]
    request_fields: tuple[tuple[FieldSpec, int], ...] = ()
    inflates: bool = True

    def values(self, data: bytes) -> dict[str, Any] | None:
        """Returns the header and the body as values; None unless they take all bytes."""
        try:
            head, at = values_decoder(self.head)(data, 0, Budget())
            values: dict[str, Any] = {**{spec.name: value for spec, value in self.request_fields}, **head}
            values[_FIELDS.name], at = self._decode()(data, at, Budget())
        except FAILURES:
            return None
        return values if at == len(data) else None

    def _decode(self) -> Decode:
        return make_unfolding_decoder(values_decoder(self.body), self.body, self.key, self.response, self.hints)

    def unfold(self, reader: Reader) -> None:
        """Adds the header and the body as nodes."""
        from dissectors.kafka.nested.fields import unfold_bytes  # it unfolds envelopes, too

        for spec, value in self.request_fields:
            reader.leaf(spec, value, reader.at)
        read_members(reader, self.head.steps)
        reader.enter(_FIELDS)
        fields = reader.open[-1]
        read_members(reader, self.body.steps)
        reader.leave()
        unfold_bytes(reader.tree, reader.budget, fields, self.body.name, self.key, self.response, self.hints)


def detect_request(_: str, data: bytes, hints: Hints) -> DetectedPayload | None:
    """Decodes the request in an Envelope; None if the bytes are no known request."""
    depth = _depth(hints)
    return detect(
        _message(read_leading_number(data), read_leading_number(data[2:]), False, depth, "", "") if depth else None,
        data,
    )


def detect_response(_: str, data: bytes, hints: Hints) -> DetectedPayload | None:
    """Decodes the response in an answered Envelope (KIP-590); None if the hints do not tell its request."""
    depth, keys, versions = _depth(hints), hints.get(INNER_KEY), hints.get(INNER_VERSION)
    if not depth or not isinstance(keys, str) or not isinstance(versions, str):
        return None
    key, _, keys = keys.partition(SEPARATOR)
    version, _, versions = versions.partition(SEPARATOR)
    return detect(_message(int(key), int(version), True, depth, keys, versions), data)


def may_hide_request(data: bytes, _: Hints) -> bool:
    """Returns whether an undecoded request may contain a secret."""
    return is_sensitive_message(read_leading_number(data), False)


def may_hide_response(_: bytes, hints: Hints) -> bool:
    """Returns whether an undecoded response may contain a secret; it may if its request is unknown."""
    key = str(hints.get(INNER_KEY, "")).partition(SEPARATOR)[0]
    return not key or is_sensitive_message(int(key), True)


def _depth(hints: Hints) -> int:
    """The number of an Envelope among those around it, from 1; 0 for one too deep."""
    depth = int(str(hints.get(DEPTH, 0))) + 1
    return depth if depth <= DEEPEST else 0


@lru_cache(maxsize=256)
def _message(key: int, version: int, response: bool, depth: int, keys: str, versions: str) -> EnvelopedMessage | None:
    """How to read it; `keys` and `versions` are told of the envelopes in it."""
    api = apis().get(key)
    if api is None or version not in api.versions:
        return None
    head = _head("ResponseHeader" if response else "RequestHeader", header_version(key, version, response))
    body = resolve(body_schema(key, response), version)
    hints = {INNER_KEY: keys, INNER_VERSION: versions} if keys else {}
    return EnvelopedMessage(
        body.name,
        head,
        body,
        key,
        response,
        {DEPTH: str(depth), **hints},
        _make_request_leaves(key, version) if response else (),
    )


def _head(name: str, version: int) -> Plan:
    """A header, with the names that a row has."""
    head = resolve(load_named_schema(name), version)
    return replace(head, steps=tuple(map(_rename_step, head.steps)))


def _make_request_leaves(key: int, version: int) -> tuple[tuple[FieldSpec, int], ...]:
    """Code and version of a request, as its header has them."""
    head = _head("RequestHeader", header_version(key, version, False))
    specs = {step.spec.name: step.spec for step in head.steps if isinstance(step, Leaf)}
    return (specs["code"], key), (specs["version"], version)


def _rename_step(step: Step) -> Step:
    return replace(step, spec=replace(step.spec, name=_NAMES[step.spec.name])) if isinstance(step, Leaf) else step
