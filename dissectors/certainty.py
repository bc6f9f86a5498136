"""Which protocols need not be asked whose bytes these are, once one of them is nearly certain.

Theory. To ask a dissector is to import it, which takes longer than to decode a message. Of bytes that look like a
request of Kafka, most others could not be surer than Kafka is, whatever they found: by their first bytes. This table
says so ahead of them; tests/dissectors/test_certainty.py holds the dissectors to it.
"""

from __future__ import annotations

from collections.abc import Mapping

ENOUGH = 95
"""What the table is about: who has said that much (Dissector.probe) is outdone only by what stands in it."""

OUTDONE: Mapping[str, tuple[tuple[int, bytes], ...]] = {
    "kafka": (),
    "zookeeper": ((4, b"\0\0\0\0"), (16, b"/")),
    "zookeeper-quorum": (),
    "zookeeper-election": ((0, b"\xff\xff\xff\xff"),),
    "pulsar": ((8, b"\x08"),),
    "rocketmq": (),
    "rocketmq-ha": (),
}
"""By name, offsets and bytes of which one must stand in a message for a probe of it to say more than ENOUGH."""


def may_be_surer(name: str, prefix: bytes) -> bool:
    """Whether the dissector of this name may say more than ENOUGH; of one that is not in the table, yes."""
    return name not in OUTDONE or any(prefix.startswith(sign, at) for at, sign in OUTDONE[name])
