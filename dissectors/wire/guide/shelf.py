"""Pages by name, of one protocol. Names that differ in their case alone (stat, a word; Stat, a record) are two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dissectors.guide import Guide, Page
from dissectors.wire.guide.text import columns, suggest_names

Pages = Mapping[str, Callable[[], Page]]


class Shelf(Guide):
    """Pages of a protocol called `title`, made when they are asked for.

    numbers: names by what stands on the wire. normalize: what is the same of a name however it is written.
    """

    def __init__(
        self,
        title: str,
        pages: Callable[[], Pages],
        numbers: Callable[[], Mapping[int, str]],
        normalize: Callable[[str], str] = str.lower,
    ) -> None:
        self._title, self._pages, self._numbers, self._normalize = title, pages, numbers, normalize

    def names(self) -> Sequence[str]:
        """Returns the names of all pages."""
        return tuple(self._pages())

    def versions(self, name: str) -> Sequence[int]:
        """Returns nothing: messages of such protocols have no versions."""
        return ()

    def page(self, name: str, version: int | None) -> Page:
        """Returns the page of a name or a number."""
        numbers = {f"{number}": each for number, each in self._numbers().items()}
        wanted = numbers.get(name, name)
        alike = [each for each in self._pages() if self._normalize(each) == self._normalize(wanted)]
        if not alike:
            raise KeyError(
                f"{self._title} has no page called {name!r}{suggest_names(self._normalize(wanted), self.names())}"
            )
        found = wanted if wanted in alike else alike[0]
        if version is not None:
            raise KeyError(f"{found} has no versions")
        return self._pages()[found]()


def list_page(head: Sequence[str], rows: Sequence[Sequence[str]], key: str) -> Page:
    """Makes a page from a table; as JSON a list of objects under a key, without empty members."""
    data = [{name: cell for name, cell in zip(head, row, strict=True) if cell} for row in rows]
    return Page(columns([head, *rows], ""), {key: data})
