"""The quorum: what a leader and its learners say to keep their trees equal."""

from dissectors.zookeeper.quorum.dissector import ZooKeeperQuorum

__all__ = ["ZooKeeperQuorum"]
