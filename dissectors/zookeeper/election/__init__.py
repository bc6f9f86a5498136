"""The election of a leader: who may lead, voted for on connections of its own."""

from dissectors.zookeeper.election.dissector import ZooKeeperElection

__all__ = ["ZooKeeperElection"]
