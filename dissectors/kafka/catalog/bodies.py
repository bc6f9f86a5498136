"""The members of Kafka's bodies, of all versions together.

Theory. A message that no layout reads is its `payload`, and what a client leaves behind a body is `_rest`.
"""

from __future__ import annotations

from functools import lru_cache

from dissectors.catalog import Member
from dissectors.kafka.catalog.structures import members
from dissectors.kafka.schemas import body_schema

_AROUND = (
    Member("_rest", "bytes", about="bytes behind the body"),
    Member("payload", "undecoded", about="a body that no layout reads"),
)


@lru_cache(maxsize=256)
def body_members(key: int, response: bool) -> tuple[Member, ...]:
    """The members of a request's or response's body; KeyError for an unknown key."""
    return (*members(body_schema(key, response), _expand_records), *_AROUND)


def _expand_records(member: Member) -> Member:
    if member.type != "records":
        return member
    return member._replace(type="struct", repeated=True, members=_record_data)


def _record_data() -> tuple[Member, ...]:
    from dissectors.kafka.catalog.records import record_data  # most paths do not lead there

    return record_data()
