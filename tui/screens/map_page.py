"""The page of the service map: who speaks to whom, how much, how fast and with which errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from analyzer.render.service_map_files import write_dot, write_mermaid, write_svg
from analyzer.session import Session
from tui import keys
from tui.model.row_sets import PageScope
from tui.model.service_map import MAP_VIEWS, MapSource
from tui.screens.file_lines import save_file
from tui.screens.views_page import ViewsPage
from tui.theme import Palette

WRITERS = {".svg": write_svg, ".dot": write_dot, ".mmd": write_mermaid}
"""Writers of a map by the end of the file's name."""


class MapPage(ViewsPage):
    """The service map of the rows in a scope. scope: returns the present rows."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("map")
    MORE_HINTS = (("w", "save", "save"),)

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], PageScope]) -> None:
        self._source = MapSource(session)
        super().__init__(palette, "Service map", MAP_VIEWS, scope, self._source.make_views)

    def _action_save(self) -> None:
        found = self._source.found
        if found is not None and self.maker.is_whole:
            save_file(self, "NAME.svg, NAME.dot (Graphviz) or NAME.mmd (Mermaid)", "map.svg", self._write)

    def _write(self, path: str) -> str:
        """Writes the map as text in the format of the name."""
        assert self._source.found is not None
        writer = next((write for end, write in WRITERS.items() if path.endswith(end)), write_svg)
        return writer(self._source.found)
