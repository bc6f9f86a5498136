"""ZooKeeper's layouts as text and JSON: operations, packets, votes, records, and what stands in tables beside them.

Theory. The tables that decode a message also describe it: layouts.py makes rows of a table into entries; clients.py,
servers.py know which pages there are. guide.json has what no table needs for decoding.
"""

from dissectors.zookeeper.guide.clients import CLIENTS
from dissectors.zookeeper.guide.servers import ELECTION, QUORUM

__all__ = ["CLIENTS", "ELECTION", "QUORUM"]
