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
        self.changed: Callable[[], object] = lambda: None
        self.scope, self.count, self.progress, self.is_whole = ask_scope(), 0, "", False
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
        mask = self.scope.mask()
        self.count = self.scope.many if mask is None else int(mask.sum())
        self._work = work = ViewWork(lambda text: self._worker.post(partial(self._say_progress, work, text)))
        self._worker.ask("views", partial(self._make, self.scope, work), partial(self._take, work, whole=True))
        self.changed()

    def stop(self) -> None:
        """Nobody wants the views any more."""
        if self._work is not None:
            self._work.stop()

    def _make(self, scope: PageScope, work: ViewWork) -> Sequence[View] | None:
        """Makes all views, in the worker's thread; None where nobody wants them any more."""
        views: Sequence[View] = ()
        try:
            for views in self._make_views(scope, work):
                work.check()
                self._worker.post(partial(self._take, work, views))
        except Cancellation:
            return None
        return views

    def _say_progress(self, work: ViewWork, text: str) -> None:
        if work is self._work and not self.is_whole:
            self.progress = text
            self.changed()

    def _take(self, work: ViewWork, views: Sequence[View] | None, *, whole: bool = False) -> None:
        if work is self._work and views is not None:
            self.views = views
            if whole:
                self.is_whole, self.progress = True, ""
            self.changed()
