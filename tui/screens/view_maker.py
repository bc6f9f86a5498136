"""Has the views of a page made by a thread, each time more of them (tui.model.views)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tui.background import BackgroundWorker
from tui.model.scope import PageScope
from tui.model.views import Cancellation, TextView, View, ViewWork

MakeViews = Callable[[PageScope, ViewWork], Iterator[Sequence[View]]]
"""Makes views of what is in a scope, each time more of them. Raises views.Stopped."""


class ViewMaker:
    """The views by now. changed: called when there are others, or more is said of how far it has come.

    scope: what they are about; count: how many messages that is. progress: nothing when all views are there.
    """

    def __init__(
        self, worker: BackgroundWorker, names: Sequence[str], ask_scope: Callable[[], PageScope], make: MakeViews
    ) -> None:
        self.views: Sequence[View] = [TextView(name, "working ...") for name in names]
        self.on_change: Callable[[], object] = lambda: None
        self.scope, self.message_count, self.progress, self.is_whole = ask_scope(), 0, "", False
        self._worker, self._ask_scope, self._make_views = worker, ask_scope, make
        self._work: ViewWork | None = None

    @property
    def has_begun(self) -> bool:
        """Whether views have been asked for."""
        return self._work is not None

    def begin(self) -> None:
        """Has the views made of what there is by now."""
        self.stop()
        self.scope, self.progress, self.is_whole = self._ask_scope(), "working ...", False
        mask = self.scope.make_mask()
        self.message_count = self.scope.row_count if mask is None else int(mask.sum())
        self._work = work = ViewWork(lambda text: self._worker.post(partial(self._show_progress, work, text)))
        self._worker.submit("views", partial(self._make, self.scope, work), partial(self._take_views, work, whole=True))
        self.on_change()

    def stop(self) -> None:
        """Nobody wants the views any more."""
        if self._work is not None:
            self._work.cancel()

    def _make(self, scope: PageScope, work: ViewWork) -> Sequence[View] | None:
        """Makes all views, in the worker's thread; None where nobody wants them any more."""
        views: Sequence[View] = ()
        try:
            for views in self._make_views(scope, work):
                work.raise_if_cancelled()
                self._worker.post(partial(self._take_views, work, views))
        except Cancellation:
            return None
        return views

    def _show_progress(self, work: ViewWork, text: str) -> None:
        if work is self._work and not self.is_whole:
            self.progress = text
            self.on_change()

    def _take_views(self, work: ViewWork, views: Sequence[View] | None, *, whole: bool = False) -> None:
        if work is self._work and views is not None:
            self.views = views
            if whole:
                self.is_whole, self.progress = True, ""
            self.on_change()
