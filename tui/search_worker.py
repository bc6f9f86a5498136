"""Finds the next message that has a text, bytes, or a filter's fields, in another thread, and the place in the message.

Theory. The begin of the input says what is searched: `0x` or a quote begins bytes, `=` a filter, anything else is a
text. Only rows in the list are searched. The worker also decodes the message that it found, because finding the place
in a long message takes time. The place is a path of indexes in the tree and holds for any decoding of that message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_tree
from analyzer.session import Session
from dissectors.field import Field, Tree
from tui.background import BackgroundWorker
from tui.filter_worker import RowReaders
from tui.model.detail import ByteRange, find_fields

if TYPE_CHECKING:
    from analyzer.query import search as find
    from analyzer.query.search import SearchTarget

FILTER_SIGN, BYTES_SIGNS = "=", ("0x", "0X", '"', "'")
"""The signs that begin a filter, and bytes."""

LIST_KEYS = ("operation", "client")
"""Keys of the list that a text is searched in besides the body."""

PROGRESS_INTERVAL = 0.2
"""Seconds between two reports of progress."""


class Search:
    """One search among rows: from row `start` on, forwards or backwards.

    is_stopped: set when the result is not wanted any more.
    """

    def __init__(self, sought: SearchTarget, start: int, among: Ints, *, forward: bool) -> None:
        self.sought, self.start, self.among, self.forward = sought, start, among, forward
        self.is_stopped = Event()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The end of a search: the row and the place in it, or None if no row has the target."""

    search: Search
    row: int | None
    place: find.TreePlace | None = None

    @property
    def has_wrapped(self) -> bool:
        """Whether the search passed the end of the list and went on at the other end."""
        search = self.search
        return self.row is not None and (self.row > search.start) is not search.forward

    def locate_in(self, tree: Tree) -> tuple[list[Field], ByteRange] | None:
        """Returns the fields around the place, from the outermost to the innermost, and its bytes.

        None if the result has a row only.
        """
        place = self.place
        if place is None:
            return None
        path: list[Field] = []
        nodes = tree.fields
        for index in place.path:
            path.append(nodes[index])
            nodes = nodes[index].children
        where = ByteRange(place.source, place.offset, place.length)
        return path or find_fields(tree, where.source, where.offset), where


class SearchWorker:
    """Runs searches; used by the thread that paints.

    on_progress: gets the progress, 0 to 100; on_end: gets the result. Both are called only for the current search.
    """

    def __init__(self, session: Session, readers: RowReaders, worker: BackgroundWorker) -> None:
        self.text = ""
        self.result: SearchResult | None = None
        self.on_progress: Callable[[int], object] = lambda percent: None
        self.on_end: Callable[[SearchResult], object] = lambda found: None
        self._session, self._readers, self._worker = session, readers, worker
        self._sought: SearchTarget | None = None
        self._search: Search | None = None

    @property
    def has_target(self) -> bool:
        """Whether a target was set."""
        return self._sought is not None

    def set_target(self, words: str, sought: SearchTarget) -> None:
        """Sets the target, and stops the search for another one."""
        self.stop()
        self.text, self._sought = words, sought

    def start(self, row: int, among: Ints, *, forward: bool) -> None:
        """Searches from a row on, among ascending rows."""
        assert self._sought is not None
        self.stop()
        self.result = None
        self._search = Search(self._sought, row, among, forward=forward)
        self._worker.submit("find", partial(self._run, self._search), self._take_result)

    def stop(self) -> bool:
        """Stops the search; returns whether there was one."""
        search, self._search = self._search, None
        self._worker.cancel("find")
        if search is not None:
            search.is_stopped.set()
        return search is not None

    def is_searching(self, *, forward: bool) -> bool:
        """Returns whether a search in that direction is running."""
        return self._search is not None and self._search.forward is forward

    def get_result_in(self, row: int) -> SearchResult | None:
        """Returns the last result if it is in this row; otherwise drops it."""
        if self.result is not None and self.result.row != row:
            self.result = None
        return self.result

    def _take_result(self, found: SearchResult) -> None:
        """Takes the result of the current search; ignores others."""
        if found.search is self._search:
            self._search, self.result = None, found
            self.on_end(found)

    def _report_progress(self, search: Search, percent: int) -> None:
        if search is self._search:
            self.on_progress(percent)

    def _run(self, search: Search) -> SearchResult:
        """Searches, in the worker thread."""
        from analyzer.query import search as find

        reader, _ = self._readers.get_reader()
        searched, last_report = 0, time.monotonic()

        def is_stopped() -> bool:
            nonlocal searched, last_report
            now = time.monotonic()
            if now > last_report + PROGRESS_INTERVAL and not search.is_stopped.is_set():
                last_report = now
                percent = min(100 * searched // max(len(search.among), 1), 99)
                self._worker.post(partial(self._report_progress, search, percent))
            searched += find.STEP
            return search.is_stopped.is_set()

        row = find.find_row(
            search.sought, reader, search.start, forward=search.forward, among=search.among, stop=is_stopped
        )
        if row is None:
            return SearchResult(search, None)
        places = find.find_places(search.sought, decode_tree(self._session, row))
        return SearchResult(search, row, places[0] if places else None)


def parse_search(words: str, named: Mapping[str, str]) -> SearchTarget:
    """Parses the input of a search.

    named: filters that it may refer to. Raises UserError, and FilterError for a wrong filter.
    """
    from analyzer.query.filter import compile_filter
    from analyzer.query.filter.literals import quote
    from analyzer.query.search import SearchTarget, parse_bytes, parse_text

    if words.startswith(FILTER_SIGN):
        return SearchTarget(compile_filter(words.removeprefix(FILTER_SIGN), named))
    if words.startswith(BYTES_SIGNS):
        return parse_bytes(words)
    parsed = parse_text(words)
    shown = (f"lower({key}) contains {quote(words.lower())}" for key in LIST_KEYS)
    return SearchTarget(compile_filter(" or ".join((parsed.filter.text, *shown)), named), text=parsed.text)
