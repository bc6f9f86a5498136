"""Apache ZooKeeper 3.3 to 3.9: clients (here), the members of a quorum (quorum), candidates (election)."""

from dissectors.zookeeper.dissector import ZooKeeper

__all__ = ["ZooKeeper"]
