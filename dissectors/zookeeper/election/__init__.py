"""The election of a leader: votes on connections of their own."""

from dissectors.zookeeper.election.dissector import ZooKeeperElection

__all__ = ["ZooKeeperElection"]
