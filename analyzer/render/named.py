"""Names in the place of ids in lines for people, for forms: they write rows of a reader at a time."""

from __future__ import annotations

from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import Rows
from dissectors.api import Body, Context, Dissector


class LineNames:
    """Who names ids: another one for another reader."""

    def __init__(self) -> None:
        self._naming: Naming | None = None

    @property
    def edition(self) -> int:
        """See Form."""
        return 0 if self._naming is None else self._naming.edition

    def of(self, reader: Rows) -> Naming:
        """Who names ids in the rows of a reader."""
        found = self._naming
        if found is None or found.session is not reader.session or found.streaming is not reader.streaming:
            found = self._naming = Naming(reader.session, streaming=reader.streaming)
        return found

    def seen(self, body: Body, dissector: Dissector, context: Context) -> Body:
        """A body of the rows that of() was asked about last, with names in it."""
        return body if self._naming is None else self._naming.named(dissector, body, context)
