"""Finds the write that caused an event: by path, by transaction, by client.

Theory. A server sends an event before it answers the write, so at the event the write has no transaction id yet, unless
the quorum's traffic is captured: a PROPOSAL has both the id and the session. From 3.9 on an event has the id, too.
Otherwise the latest write to the node that did not fail is taken; of several that have no answer yet, the first,
because a server processes them in order.
"""

from __future__ import annotations

from collections import deque

from dissectors.correlator import BoundedTable
from dissectors.slotted import make_slotted
from dissectors.zookeeper.reports.fields import Write

_LAST = 16
"""Writes of a node that are remembered."""

_CHILDREN = "NodeChildrenChanged"
_FORMATTERS = {"NodeCreated": "created", "NodeDeleted": "deleted", "NodeDataChanged": "set"}


@make_slotted(frozen=False, eq=False)
class Cause:
    """A write. zxid: its transaction, as far as it is known; failed: it was refused."""

    row: int
    time: int
    zxid: int | None = None
    answered: bool = False
    failed: bool = False


class Causes:
    """A table of the latest writes, to find what made a watch fire."""

    def __init__(self) -> None:
        self._by_node: BoundedTable[tuple[str, str], deque[Cause]] = BoundedTable(make=lambda: deque(maxlen=_LAST))
        self._by_zxid: BoundedTable[int, Cause] = BoundedTable()
        self._by_call: BoundedTable[tuple[str, int], Cause] = BoundedTable()

    def ask(self, call: tuple[str, int], cause: Cause, written: list[Write]) -> None:
        """Notes the request of a client for a write; call: its session and xid."""
        self._by_call[call] = cause
        for write in written:
            self.name(cause, write)

    def name(self, cause: Cause, write: Write) -> None:
        """Notes a write of a node; creating or deleting it also changes the children of its parent."""
        nodes = [(write.verb, write.path)]
        if write.verb != "set":
            nodes.append((_CHILDREN, write.path.rpartition("/")[0] or "/"))
        for node in nodes:
            known = self._by_node.find(node)
            if not known or known[-1] is not cause:
                known.append(cause)

    def answer(self, cause: Cause, zxid: int, *, failed: bool) -> None:
        """Completes a write by its answer."""
        cause.answered, cause.failed = True, failed
        if zxid >= 0 and not failed:
            cause.zxid = zxid
            self._by_zxid[zxid] = cause

    def propose(self, call: tuple[str, int], zxid: int, row: int, time: int) -> None:
        """Handles a PROPOSAL: servers send each other a transaction."""
        if zxid not in self._by_zxid:
            cause = self._by_call.get(call)
            if cause is None or cause.zxid not in (None, zxid):
                cause = Cause(row, time)
            cause.zxid = zxid
            self._by_zxid[zxid] = cause

    def find(self, event: str, path: str, zxid: int) -> Cause | None:
        """Finds the write that caused an event. zxid: the event's own; -1 if it has none."""
        found = self._by_zxid.get(zxid)
        if found is not None:
            return found
        node = _FORMATTERS.get(event, _CHILDREN), path
        known = [each for each in self._by_node.get(node) or () if not each.failed]
        if zxid >= 0:  # a write with another id is not it
            known = [each for each in known if each.zxid is None]
        waiting = next((each for each in known if not each.answered), None)
        return waiting or (known[-1] if known else None)
