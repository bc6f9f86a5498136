"""Guide pages: a protocol's layouts for people, without any message (`wireanalyze protocols`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple


class Page(NamedTuple):
    """A page of `wireanalyze protocols`: `lines` for people, and `data` with the same content for JSON."""

    lines: Sequence[str]
    data: dict[str, Any]


class Guide(ABC):
    """The pages of one protocol, by name and, where the protocol numbers them, by version."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Returns all names that page() accepts."""

    @abstractmethod
    def versions(self, name: str) -> Sequence[int]:
        """Returns the versions of one of them; none where it has none, or is not known."""

    @abstractmethod
    def page(self, name: str, version: int | None) -> Page:
        """Returns the page of a name, upper or lower case; KeyError with a sentence where there is none."""
