"""Plain values of structures within bytes fields, by the rules of rules.py, behind a plan's emitted decoder.

Theory. Most messages have none of these fields, and their decoder is unchanged. Most records belong to applications:
topics that hold no structure are skipped by name, and topics that have only an id by the first key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dissectors.kafka.nested.payload_detection import DetectedPayload
from dissectors.kafka.nested.rules import (
    RECORDS,
    TOPIC_ID,
    Hints,
    RecordSite,
    list_sites,
    modules_by,
    topic_key,
    unfold_partition,
    unfold_sites,
)
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import embed
from dissectors.wire.emit import Decode
from dissectors.wire.flat import FlatRows, RowTable
from dissectors.wire.plan import Array, Plan, Struct, members_of
from dissectors.wire.secret import Secret


class ValueAccess:
    """Access to plain values."""

    def get(self, struct: dict[str, Any], name: str) -> object:
        """See Access."""
        return struct.get(name)

    def list_structs(self, struct: dict[str, Any], name: str) -> Sequence[dict[str, Any]]:
        """See Access."""
        found = struct.get(name)
        if isinstance(found, RowTable):  # whose rows are made anew each time, and these are to be changed
            found = struct[name] = FlatRows(found)
        return (found,) if isinstance(found, dict) else found or ()

    def attach_structure(self, struct: dict[str, Any], name: str, fit: DetectedPayload, hints: Hints) -> None:
        """See Access."""
        unfold_sites(self, fit.values, fit.decoder.name, hints)
        struct[name] = embed(struct[name], fit.values, fit.decoder.name)

    def hide(self, struct: dict[str, Any], name: str) -> None:
        """See Access."""
        struct[name] = Secret(struct[name])

    def settle(self, batch: dict[str, Any]) -> None:
        """Rows that hold more than bytes are not alike any more (FlatRows)."""
        if "records" in batch:
            batch["records"] = list(batch["records"])


VALUES = ValueAccess()


def make_unfolding_decoder(decode: Decode, plan: Plan, key: int, response: bool, hints: Hints) -> Decode:
    """A decoder of this plan that also unfolds its bytes fields; the same one where it has none that hold anything."""
    site = RECORDS.get((key, response))
    if site is not None:
        return _make_records_decoder(decode, site, _topic_key(plan, site))
    if not list_sites(plan.name):
        return decode

    def decode_and_unfold(data: bytes, at: int, budget: Budget) -> tuple[dict[str, Any], int]:
        values, at = decode(data, at, budget)
        unfold_sites(VALUES, values, plan.name, hints)
        return values, at

    return decode_and_unfold


def _topic_key(plan: Plan, site: RecordSite) -> str:
    """By which name topics are known in a version."""
    topics = next(step for step in plan.steps if isinstance(step, Array) and step.spec.name == site.topics)
    assert isinstance(topics.element, Struct)
    return topic_key({step.spec.name for step in members_of(topics.element.steps)})


def _make_records_decoder(decode: Decode, site: RecordSite, name: str) -> Decode:
    """Every message with records goes this way, and few have anything to unfold: what can be known before is.

    The control batches of these values are unfolded already, in records/values.py.
    """
    topics, partitions, field, by_content = site
    from dissectors.kafka.records.values import fill  # a message without records does not pay for them

    by_content = by_content and name == TOPIC_ID
    known = modules_by(name)

    def decode_and_unfold(data: bytes, at: int, budget: Budget) -> tuple[dict[str, Any], int]:
        budget.later = []
        values, at = decode(data, at, budget)
        if budget.later:
            fill(budget.later)
        for topic in values[topics]:
            module = known.get(topic[name])
            if module is not None or by_content:
                for partition in topic[partitions]:
                    entries = partition[field]
                    if entries and (module is not None or may_tell(entries)):
                        unfold_partition(VALUES, partition, site, module, by_content)
        return values, at

    return decode_and_unfold


def may_tell(entries: list[dict[str, Any]]) -> bool:
    """Returns whether there is a first key that begins as all types of coordinators' keys do, or an older message."""
    for entry in entries:
        if entry.get("magic", 2) < 2:
            return True
        rows = entry.get("records")
        if rows and not entry["control"] and (rows[0]["key"] or b"")[:1] == b"\0":
            return True
    return False
