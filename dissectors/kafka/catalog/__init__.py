"""Catalog of Kafka's field names: all APIs, structures in their bytes fields, and short names across them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial

from dissectors.api import Role
from dissectors.catalog import Alias, Catalog, FieldAlias, Layout
from dissectors.kafka.catalog.structures import body_members
from dissectors.kafka.labels import error_names
from dissectors.kafka.schemas import apis


class KafkaCatalog(Catalog):
    """The catalog of field names: every API has a request and a response layout."""

    def layouts(self) -> Sequence[Layout]:
        """Returns the request and response layouts of all APIs, in the order of their keys."""
        return _layouts()

    def field_aliases(self) -> Sequence[FieldAlias]:
        """Topics, groups, and what else information lines say most."""
        from dissectors.kafka.catalog.field_aliases import field_aliases  # to name a field needs none

        return field_aliases()

    def aliases(self) -> Mapping[str, Alias]:
        """Returns tshark's names for Kafka fields."""
        from dissectors.kafka.catalog.field_aliases import aliases  # the same

        return aliases()

    def errors(self) -> Collection[str]:
        """Returns the names of the errors of every release."""
        return error_names()


@cache
def _layouts() -> tuple[Layout, ...]:
    return tuple(
        Layout(api.name, role, partial(body_members, api.key, role is Role.RESPONSE))
        for api in apis().values()
        for role in (Role.REQUEST, Role.RESPONSE)
    )


CATALOG = KafkaCatalog()
