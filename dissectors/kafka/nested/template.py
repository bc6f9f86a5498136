"""Symbolic values of structures within bytes fields, by the rules of rules.py.

Theory. The rules look at the bytes of a field, so other messages must have the same bytes: get() specialises them. If
the version at their beginning is all that the rules decide by, only the version must be the same, and the structure is
read as the message around it is.
"""

from __future__ import annotations

from typing import Any

from dissectors.kafka.nested.payload_detection import VERSION, DetectedPayload, NestedDecoder, Structure
from dissectors.kafka.nested.rules import Hints, list_sites, unfold_sites
from dissectors.kafka.nested.values import VALUES, ValueAccess
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import Bytes, plain
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.plan import Plan
from dissectors.wire.template import Cursor, template_members


class SymbolicAccess(ValueAccess):
    """Access to symbolic values. Raises NotTemplatable, and what Cursor raises."""

    def __init__(self, builder: TemplateBuilder) -> None:
        self._builder = builder

    def get(self, struct: dict[str, Any], name: str) -> object:
        """Returns a plain value; other messages must now have the same bytes."""
        return plain(struct.get(name))

    def attach_structure(self, struct: dict[str, Any], name: str, fit: DetectedPayload, hints: Hints) -> None:
        """Unfolds the bytes `name`: symbolically behind a version, else as they are."""
        data: object = struct[name]
        plan = _find_open_plan(fit.decoder)
        if type(data) is not Bytes or plan is None:
            struct[name] = plain(data)
            VALUES.attach_structure(struct, name, fit, hints)
            return
        shown: Any = self._builder.open_bytes(data)
        cursor = Cursor(self._builder, data.extent.begin, data.extent.end)
        values = template_members(cursor, plan)
        if cursor.at != cursor.end:
            raise NotTemplatable
        values[VERSION.spec.name] = plain(values[VERSION.spec.name])
        unfold_sites(self, values, fit.decoder.name, hints)
        struct[name] = EmbeddedValue(shown, values, fit.decoder.name)

    def hide(self, struct: dict[str, Any], name: str) -> None:
        """Gives up, because a secret is hidden in each message by itself."""
        raise NotTemplatable


def _find_open_plan(decoder: NestedDecoder) -> Plan | None:
    """Returns the plan of a structure that is chosen by the version at its beginning alone."""
    if not isinstance(decoder, Structure) or decoder.newer or decoder.framed or decoder.body is not None:
        return None
    return decoder.head if decoder.head.steps[0] is VERSION else None


def unfold_template(builder: TemplateBuilder, values: dict[str, Any], name: str, hints: Hints) -> None:
    """Unfolds the bytes fields, other than records, in the symbolic values of a message. Raises NotTemplatable."""
    if any(site.may_be_secret is not None for site in list_sites(name)):
        raise NotTemplatable
    unfold_sites(SymbolicAccess(builder), values, name, hints)
