"""What stories and watches keep of earlier messages, bounded: the oldest is forgotten first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
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


class Weighed(Remembered[_Key, _Value]):
    """The same of values that hold many things, which do not become more while they are kept: `most` is the bound of
    all things together. A value counts as one at least; the latest is kept, however much it holds.
    """

    def __init__(self, weight: Callable[[_Value], int], most: int = MOST) -> None:
        super().__init__(most)
        self._weight = weight
        self._sum = 0

    def keep(self, key: _Key, value: _Value) -> None:
        """One more, or another."""
        self.take(key)
        self._kept[key] = value
        self._sum += max(self._weight(value), 1)
        while self._sum > self._most and len(self._kept) > 1:
            self.take(next(iter(self._kept)))

    def take(self, key: _Key | None) -> _Value | None:
        """See Remembered."""
        found = super().take(key)
        if found is not None:
            self._sum -= max(self._weight(found), 1)
        return found
