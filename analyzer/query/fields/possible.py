"""Lists the values that a field can have, if they are few and known before a packet is read.

Theory. If a filter compares a field with a value that it can never have, this is a typing mistake. Operations and
errors are those of all protocols. If a plug-in does not list its own, any value is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.query.fields.keys import FIELDS
from analyzer.query.fields.path import FieldKind, FieldPath, RowKey, find_names
from dissectors import registry
from dissectors.finding import CODES, Severity


def list_possible_values(field: FieldPath) -> Sequence[str]:
    """Returns the texts that a field can have, in the usual order; none if they are unknown."""
    if field.kind is FieldKind.FLAG:
        return ("true", "false")
    if not isinstance(field.origin, RowKey):
        return sorted(find_names(field.label) or ())
    name = field.origin.name
    if name == "protocol":
        return (*registry.names(), "unknown")
    if name == "operation":
        return _list_operations()
    if name in ("error", "error.name"):
        return _list_errors()
    if name == "findings":
        return tuple(CODES)
    if name == "findings.severity":
        return tuple(severity.name.lower() for severity in Severity)
    return FIELDS[name].among


@registry.cache_by_plugins
def _list_operations() -> tuple[str, ...]:
    catalogs = [registry.by_name(name).catalog for name in registry.names()]
    known = [layout.operation for catalog in catalogs if catalog is not None for layout in catalog.layouts()]
    return () if None in catalogs else tuple(dict.fromkeys(known))


@registry.cache_by_plugins
def _list_errors() -> tuple[str, ...]:
    catalogs = [registry.by_name(name).catalog for name in registry.names()]
    known = [catalog.errors() for catalog in catalogs if catalog is not None]
    if None in catalogs or None in known:
        return ()
    return tuple(dict.fromkeys(name for names in known for name in names or ()))
