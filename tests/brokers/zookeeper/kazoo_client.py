"""kazoo, a client in Python: nodes of all its kinds, watches, transactions, who may do what; and a leader that is lost.

Arguments: addresses, the first one to go to first; `create2` where servers know that operation (3.5 and later): older
ones answer that they do not, and close.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.client import KazooClient, KazooState, TransactionRequest
from kazoo.exceptions import KazooException
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.security import ACL, make_digest_acl

from tests.brokers.zookeeper.recipe import OWNER, OWNER_PASSWORD

ANYONE = [{"perms": 31, "id": {"scheme": "world", "id": "anyone"}}]
LONG = b"0123456789abcdef" * 4_000


def printed(kind: str, content: dict[str, Any]) -> None:
    """A line of the journal, in one piece: steps and events come from threads of their own."""
    print(f"{kind} {json.dumps(content)}\n", end="", flush=True)


def seen(event: WatchedEvent) -> None:
    """What every watch here does."""
    # kazoo calls a state by what it means for its users; a server that tells events is connected.
    printed("EVENT", {"type": TYPES[event.type], "state": "SyncConnected", "path": event.path})


TYPES = {
    "CREATED": "NodeCreated",
    "DELETED": "NodeDeleted",
    "CHANGED": "NodeDataChanged",
    "CHILD": "NodeChildrenChanged",
}


class Steps:
    """The client's operations by the names of the protocol, each printed as it was done."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client

    def create(self, path: str, data: bytes = b"content", acl: Sequence[ACL] | None = None, flags: int = 0) -> None:
        requested = {"path": path, "data": _hex(data), "flags": flags, "acl": ANYONE if acl is None else _acls(acl)}
        ephemeral, sequence = bool(flags & 1), bool(flags & 2)
        self._step("create", requested, lambda: {"path": self.client.create(path, data, acl, ephemeral, sequence)})

    def create2(self, path: str, flags: int) -> None:
        def call() -> dict[str, Any]:
            name, stat = self.client.create(
                path, b"", ephemeral=bool(flags & 1), sequence=bool(flags & 2), include_data=True
            )
            return {"path": name, "stat": _stat(stat)}

        self._step("create2", {"path": path, "data": _hex(b""), "flags": flags}, call)

    def exists(self, path: str, watch: bool = False) -> None:
        def call() -> dict[str, Any] | None:
            stat = self.client.exists(path, seen if watch else None)
            return None if stat is None else {"stat": _stat(stat)}

        self._step("exists", {"path": path, "watch": watch}, call)

    def get(self, path: str, watch: bool = False) -> None:
        def call() -> dict[str, Any]:
            data, stat = self.client.get(path, seen if watch else None)
            return {"data": _hex(data), "stat": _stat(stat)}

        self._step("getData", {"path": path, "watch": watch}, call)

    def children(self, path: str, watch: bool = False) -> None:
        def call() -> dict[str, Any]:
            return {"children": self.client.get_children(path, seen if watch else None)}

        self._step("getChildren", {"path": path, "watch": watch}, call)

    def children2(self, path: str) -> None:
        def call() -> dict[str, Any]:
            names, stat = self.client.get_children(path, include_data=True)
            return {"children": names, "stat": _stat(stat)}

        self._step("getChildren2", {"path": path, "watch": False}, call)

    def set(self, path: str, data: bytes, version: int = -1) -> None:
        requested = {"path": path, "data": _hex(data), "version": version}
        self._step("setData", requested, lambda: {"stat": _stat(self.client.set(path, data, version))})

    def delete(self, path: str, version: int = -1) -> None:
        self._step("delete", {"path": path, "version": version}, lambda: self.client.delete(path, version) and {})

    def acls(self, path: str) -> None:
        def call() -> dict[str, Any]:
            found, stat = self.client.get_acls(path)
            return {"acl": _acls(found), "stat": _stat(stat)}

        self._step("getACL", {"path": path}, call)

    def set_acls(self, path: str, acl: Sequence[ACL]) -> None:
        requested = {"path": path, "acl": _acls(acl), "version": -1}
        self._step("setACL", requested, lambda: {"stat": _stat(self.client.set_acls(path, acl))})

    def sync(self, path: str) -> None:
        self._step("sync", {"path": path}, lambda: {"path": self.client.sync(path)})

    def transaction(self, fill: Callable[[TransactionRequest], None]) -> None:
        def call() -> dict[str, Any]:
            return {"operations": [_result(each) for each in transaction.commit()]}

        transaction = self.client.transaction()
        fill(transaction)
        requested = [{"path": each.path} for each in transaction.operations]
        self._step("multi", {"operations": requested}, call)

    def _step(self, operation: str, asked: dict[str, Any], call: Callable[[], dict[str, Any] | None]) -> None:
        """`call` gives None where kazoo makes an answer of what is an error to ZooKeeper: there is no such node."""
        try:
            answer = call()
            error = -101 if answer is None else 0
        except KazooException as failed:
            answer, error = None, failed.code
        printed("STEP", {"operation": operation, "asked": asked, "error": error, "answer": answer or {}})


def _hex(data: bytes) -> dict[str, Any]:
    return {"hex": data.hex(), "length": len(data)}


def _stat(stat: ZnodeStat) -> dict[str, int]:
    return stat._asdict()


def _acls(acls: Sequence[ACL]) -> list[dict[str, Any]]:
    return [{"perms": each.perms, "id": {"scheme": each.id.scheme, "id": each.id.id}} for each in acls]


def _result(result: Any) -> dict[str, Any]:
    """One of a transaction: a path, a Stat, an exception, or that it was done."""
    if isinstance(result, KazooException):
        return {"type": "error", "err": result.code}
    if isinstance(result, str):
        return {"type": "create", "path": result}
    return {"stat": _stat(result)} if isinstance(result, ZnodeStat) else {}


def nodes(steps: Steps, create2: bool) -> None:
    """All kinds of nodes, and what is refused."""
    steps.create("/kazoo")
    steps.create("/kazoo/ephemeral", b"mine", flags=1)
    steps.create("/kazoo/sequential-", flags=2)
    if create2:
        steps.create2("/kazoo/both-", 3)
    steps.create("/kazoo/\u017elu\u0165ou\u010dk\u00fd")
    steps.create("/kazoo/long", LONG)
    steps.create("/kazoo")
    steps.create("/nowhere/child")
    steps.create("/kazoo/ephemeral/child")
    steps.get("/kazoo/long")
    steps.children("/kazoo")
    steps.children2("/kazoo")
    steps.set("/kazoo", b"other", 7)
    steps.delete("/kazoo")
    steps.sync("/kazoo")


def watches(steps: Steps) -> None:
    """Each fires once."""
    steps.exists("/kazoo/later", watch=True)
    steps.get("/kazoo", watch=True)
    steps.children("/kazoo", watch=True)
    steps.create("/kazoo/later")
    steps.set("/kazoo", b"changed", 0)
    steps.get("/kazoo/later", watch=True)
    steps.delete("/kazoo/later", 0)


def transactions(steps: Steps) -> None:
    """One that is done and one that is not."""

    def good(transaction: TransactionRequest) -> None:
        transaction.check("/kazoo", 1)
        transaction.create("/kazoo/in-multi", b"1")
        transaction.set_data("/kazoo/in-multi", b"2")
        transaction.delete("/kazoo/sequential-0000000001")

    def bad(transaction: TransactionRequest) -> None:
        transaction.create("/kazoo/never")
        transaction.check("/kazoo", 99)
        transaction.delete("/kazoo/in-multi")

    steps.transaction(good)
    steps.transaction(bad)


def rights(steps: Steps) -> None:
    """A node of somebody who is not known yet, and then is."""
    steps.create("/kazoo/private", acl=[make_digest_acl(OWNER, OWNER_PASSWORD, all=True)])
    steps.get("/kazoo/private")
    steps.client.add_auth("digest", f"{OWNER}:{OWNER_PASSWORD}")
    steps.get("/kazoo/private")
    steps.acls("/kazoo/private")
    steps.set_acls("/kazoo/private", [make_digest_acl(OWNER, OWNER_PASSWORD, read=True, admin=True)])
    steps.set("/kazoo/private", b"")


def main(addresses: str, *known: str) -> None:
    """Does it all."""
    client = KazooClient(addresses, timeout=8.0, randomize_hosts=False)
    client.start(timeout=20)
    print("SESSION", hex(client.client_id[0]), flush=True)
    steps = Steps(client)
    nodes(steps, "create2" in known)
    watches(steps)
    transactions(steps)
    rights(steps)
    again = threading.Event()
    client.add_listener(lambda state: again.set() if state == KazooState.CONNECTED else None)
    print("HOLD", flush=True)
    sys.stdin.readline()
    assert again.wait(20), "not connected again"
    steps.get("/kazoo/ephemeral", watch=True)
    steps.set("/kazoo/ephemeral", b"still mine")
    steps.get("/kazoo/private")
    client.stop()
    printed("STEP", {"operation": "closeSession"})
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
