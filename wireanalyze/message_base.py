"""The base of messages from captures and from hex: a decoded body, and its display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from analyzer.render.lines import STYLES, Line, strip_styles
from dissectors.api import Body

if TYPE_CHECKING:
    from rich.text import Text

SHOWN = 300
"""Lines of a message in a notebook."""


class ReportedError(NamedTuple):
    """The first error that a message reports."""

    code: int
    name: str


class MessageBase:
    """Base of messages: a body, shown as `text`, as HTML in a notebook, and on a rich console."""

    __slots__ = ()

    def __getitem__(self, field: str) -> Any:
        """Returns a field of the body. Raises KeyError, which names the fields that there are."""
        values = self.values
        try:
            return values[field]
        except KeyError:
            raise KeyError(f"There is no field {field!r}. This message has {', '.join(values) or 'none'}.") from None

    @property
    def values(self) -> Mapping[str, Any]:
        """The decoded fields by name: numbers, texts, bytes, lists, dictionaries; passwords and tokens are Secret."""
        return self._decode().values

    @property
    def error(self) -> ReportedError | None:
        """The first error that the message reports."""
        error = self._decode().error
        return None if error is None else ReportedError(*error)

    def _decode(self) -> Body:
        raise NotImplementedError

    def format_lines(self, *, show_secrets: bool = False) -> Iterator[Line]:
        """Yields the lines of `text` with their styles."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The message as the command line shows it, with secrets masked: fields with their places, then the bytes."""
        return "\n".join(map(strip_styles, self.format_lines()))

    def _repr_html_(self) -> str:
        lines = [*islice(self.format_lines(), SHOWN + 1)]
        text = "\n".join(map(strip_styles, lines[:SHOWN]))
        return f"<pre>{escape(text)}{'' if len(lines) <= SHOWN else chr(10) + '...'}</pre>"

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text("\n").join(
            Text.assemble(*((text, STYLES[style]) for style, text in line)) for line in self.format_lines()
        )
