"""kazoo again, over SASL with DIGEST-MD5: a node that only who logged in may read.

Arguments: addresses, user, password.
"""

from __future__ import annotations

import sys

from kazoo.client import KazooClient
from kazoo.security import make_acl

from tests.brokers.zookeeper.kazoo_client import Steps, printed


def main(addresses: str, user: str, password: str) -> None:
    """Does it all."""
    options = {"mechanism": "DIGEST-MD5", "username": user, "password": password}
    client = KazooClient(addresses, timeout=8.0, randomize_hosts=False, sasl_options=options)
    client.start(timeout=20)
    print("SESSION", hex(client.client_id[0]), flush=True)
    steps = Steps(client)
    steps.create("/logged-in", acl=[make_acl("sasl", user, all=True)])
    steps.get("/logged-in")
    client.stop()
    printed("STEP", {"operation": "closeSession"})
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
