"""What stories and watches keep of earlier messages, bounded: the oldest is forgotten first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

MOST = 65_536
"""Values that are remembered."""

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Remembered(Generic[_Key, _Value]):
    """Values by key; beyond `most` the oldest is forgotten."""

    def __init__(self, most: int = MOST) -> None:
        self._kept: OrderedDict[_Key, _Value] = OrderedDict()
        self._most = most

    def keep(self, key: _Key, value: _Value) -> None:
        """One more, or another."""
        self._kept[key] = value
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def get(self, key: _Key | None) -> _Value | None:
        """What was kept."""
        return None if key is None else self._kept.get(key)

    def take(self, key: _Key | None) -> _Value | None:
        """The same, which is then forgotten."""
        return None if key is None else self._kept.pop(key, None)
