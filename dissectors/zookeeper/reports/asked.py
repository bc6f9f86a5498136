"""Requests that wait for their answers: what a story keeps of each."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from dissectors.old_report import MessageEvent

MOST = 65_536
"""Requests that are remembered."""

_Kept = TypeVar("_Kept")


class Asked(Generic[_Kept]):
    """By row what was kept of a request until its answer comes; the oldest is forgotten first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def keep(self, told: MessageEvent, kept: _Kept) -> None:
        """Of a request; one without an answer is not kept."""
        if told.partner is not None:
            self._kept[told.row] = kept
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def answered(self, told: MessageEvent) -> _Kept | None:
        """What was kept of the request that this answers."""
        return None if told.partner is None else self._kept.pop(told.partner, None)


def session_of(told: MessageEvent) -> str:
    """The session of a message; where nobody told which it is, its connection stands for it."""
    return told.client_name or f"stream {told.stream}"
