"""Finds the messages that have a text, bytes, or a filter's fields, in another thread, and the place in each.

Theory. The begin of the input says what is searched: `0x` or a quote begins bytes, `=` a filter, anything else is a
text. Only rows in the list are searched. The worker also decodes the message that it found, because finding the place
in a long message takes time. The place is a path of indexes in the tree and holds for any decoding of that message. The
first message found is shown at once. The search goes on and counts the others; when it has ended, all are known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_tree
from analyzer.session import Session
from dissectors.field import Field, Tree
from tui.background import BackgroundWorker
from tui.filter_worker import RowReaders
from tui.model.detail import ByteRange, find_fields

if TYPE_CHECKING:
    from analyzer.query.search import SearchTarget, TreePlace

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
    place: TreePlace | None = None

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


class SearchHits(NamedTuple):
    """The messages that a search has found so far: `rows` in the order of the search.

    percent: how many of the rows were searched, 0 to 100. seconds_left: an estimate, None if it is not known yet.
    is_final: the input has ended, so that another search would find the same.
    """

    search: Search
    rows: Ints
    percent: int = 0
    seconds_left: float | None = None
    is_final: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether all rows have been searched."""
        return self.percent == 100

    def describe(self, row: int) -> str:
        """Describes which of the messages found a row is, such as `3 of 17`."""
        rows = np.sort(self.rows)
        place = int(np.searchsorted(rows, row)) + 1
        if self.is_complete:
            return f"{place:,} of {len(rows):,}"
        return f"{len(rows):,} found in {self.percent} %{format_rest(self.seconds_left)}"


def format_rest(seconds: float | None) -> str:
    """Formats the time that a search still takes, with a comma before it; nothing if it is unknown or short."""
    return "" if seconds is None or seconds < 1 else f", {seconds:.0f} s left"


class SearchWorker:
    """Runs searches; used by the thread that paints.

    on_progress: gets what is found, while searching; on_end: gets the first message found, or that there is none;
    on_failure: called when a defect has ended the search. All are called only for the current search.
    """

    def __init__(self, session: Session, readers: RowReaders, worker: BackgroundWorker) -> None:
        self.text = ""
        self.result: SearchResult | None = None
        self.hits: SearchHits | None = None
        self.on_progress: Callable[[SearchHits], object] = lambda hits: None
        self.on_end: Callable[[SearchResult], object] = lambda found: None
        self.on_failure: Callable[[], object] = lambda: None
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
        self.hits = None
        self.text, self._sought = words, sought

    def start(self, row: int, among: Ints, *, forward: bool) -> None:
        """Searches from a row on, among ascending rows."""
        assert self._sought is not None
        self.stop()
        self.result = None
        self._search = Search(self._sought, row, among, forward=forward)
        known = self.hits
        if known is not None and known.is_complete and known.is_final and np.array_equal(known.search.among, among):
            self.hits = known._replace(search=self._search)
            work = partial(self._pick, self._search, known.rows)
        else:
            self.hits = None
            work = partial(self._run_guarded, self._search)
        self._worker.submit("find", work, self._take_hits)

    def stop(self) -> bool:
        """Stops the search; returns whether there was one."""
        search, self._search = self._search, None
        self._worker.cancel("find")
        if search is not None:
            search.is_stopped.set()
        return search is not None

    def is_searching(self, *, forward: bool) -> bool:
        """Returns whether a search in that direction is running that has found nothing yet."""
        return self._search is not None and self._search.forward is forward and self.result is None

    def get_result_in(self, row: int) -> SearchResult | None:
        """Returns the last result if it is in this row; otherwise drops it."""
        if self.result is not None and self.result.row != row:
            self.result = None
        return self.result

    def _take_result(self, found: SearchResult) -> None:
        """Takes the first message that the current search has found; ignores others."""
        if found.search is self._search:
            self.result = found
            self.on_end(found)

    def _take_progress(self, hits: SearchHits) -> None:
        if hits.search is self._search:
            self.hits = hits
            self.on_progress(hits)

    def _take_hits(self, hits: SearchHits) -> None:
        """Takes all that the current search has found; ignores others."""
        if hits.search is not self._search:
            return
        self._search, self.hits = None, hits
        self.on_progress(hits)

    def _take_failure(self, search: Search) -> None:
        if search is self._search:
            self.on_failure()

    def _run_guarded(self, search: Search) -> SearchHits:
        """Searches, in the worker thread. An error ends the search before it is raised."""
        try:
            return self._run(search)
        except Exception:
            self._worker.post(partial(self._take_failure, search))
            raise

    def _run(self, search: Search) -> SearchHits:
        """Searches, in the worker thread."""
        from analyzer.processes.jobs import choose_jobs
        from analyzer.query import search as find

        reader, has_ended = self._readers.get_reader()
        jobs = choose_jobs(self._session.packets.counts.bytes) if has_ended else 1
        hits, began = SearchHits(search, np.zeros(0, np.int64)), time.monotonic()
        last_report = began
        for step in find.iterate_matches(
            search.sought,
            reader,
            search.start,
            forward=search.forward,
            among=search.among,
            jobs=jobs,
            stop=search.is_stopped.is_set,
        ):
            now = time.monotonic()
            percent = min(100 * step.examined // len(search.among), 99)
            rest = (now - began) * (len(search.among) - step.examined) / step.examined
            is_first = not len(hits.rows) and len(step.matches)
            hits = SearchHits(search, np.concatenate((hits.rows, step.matches)), percent, rest)
            if search.is_stopped.is_set():
                return hits
            if is_first:
                self._worker.post(partial(self._take_result, self._locate(search, int(step.matches[0]))))
            if now > last_report + PROGRESS_INTERVAL:
                last_report = now
                self._worker.post(partial(self._take_progress, hits))
        if search.is_stopped.is_set():
            return hits
        if not len(hits.rows):
            self._worker.post(partial(self._take_result, SearchResult(search, None)))
        return hits._replace(percent=100, seconds_left=None, is_final=has_ended)

    def _pick(self, search: Search, known: Ints) -> SearchHits:
        """Picks the next of all messages that have the target, in the worker thread."""
        rows = np.sort(known)
        turn = int(np.searchsorted(rows, search.start, "right" if search.forward else "left"))
        row = int(rows[turn % len(rows)] if search.forward else rows[turn - 1]) if len(rows) else None
        found = SearchResult(search, None) if row is None else self._locate(search, row)
        self._worker.post(partial(self._take_result, found))
        return SearchHits(search, rows, 100, is_final=True)

    def _locate(self, search: Search, row: int) -> SearchResult:
        """Finds the place of the target in a message, in the worker thread."""
        from analyzer.query.search import find_places

        places = find_places(search.sought, decode_tree(self._session, row))
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
