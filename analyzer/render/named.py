"""Puts names in place of ids in lines for people, for output forms."""

from __future__ import annotations

from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader
from dissectors.api import Body, Context, Dissector


class LineNamer:
    """Resolves ids in lines to names, for the rows of one reader."""

    def __init__(self) -> None:
        self._naming: TopicNamer | None = None

    @property
    def edition(self) -> int:
        """A number that rises when new names make earlier texts outdated."""
        return 0 if self._naming is None else self._naming.edition

    def bind_reader(self, reader: RowReader) -> TopicNamer:
        """Returns the namer for the rows of a reader."""
        found = self._naming
        if found is None or found.session is not reader.session or found.streaming is not reader.streaming:
            found = self._naming = TopicNamer(reader.session, streaming=reader.streaming)
        return found

    def fill_in_names(self, body: Body, dissector: Dissector, context: Context) -> Body:
        """Returns a body with names, for the rows last passed to the namer."""
        return body if self._naming is None else self._naming.fill_in_names(dissector, body, context)
