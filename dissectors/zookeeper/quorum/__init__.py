"""The quorum protocol, by which a leader and its learners keep their trees equal."""

from dissectors.zookeeper.quorum.dissector import ZooKeeperQuorum

__all__ = ["ZooKeeperQuorum"]
