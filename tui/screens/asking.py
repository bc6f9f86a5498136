"""The half of the main screen that asks the whole capture something: a display filter, and a search.

Theory. Both are typed into a line at the foot of the screen and done beside the keys (tui.sifting, tui.seeking), by one
worker that does nothing else. Here it is decided which rows the list shows, where a search begins, and what is said.
What another filter hides stays on the screen until its first portion has been asked: most have asked all by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.screen import Screen

from analyzer.session import Session
from tui.background import Background
from tui.remembered import Remembered
from tui.screens.bars import Filtered
from tui.seeking import FILTER, Found, Searching, Seeker, sought_by
from tui.sifting import Readers, Sifted, Sifter
from tui.surviving import Fenced
from tui.theme import Palette
from tui.widgets.timeline import TimelinePane

if TYPE_CHECKING:
    from analyzer.query.filter import Filter
    from analyzer.query.search import Sought
    from tui.model.earlier import Earlier
    from tui.model.seen import Seen

FILTER_HINT = "Enter applies it, Esc leaves; empty: all messages"
FIND_HINT = 'a text; 0x00ff or "text": bytes; =FILTER: what fulfils it'


class AskingScreen(Fenced, Screen[None]):
    """Shows in `timeline` what the filter in force keeps. named: filters that a filter may refer to."""

    remembered: Remembered

    def __init__(
        self, session: Session, palette: Palette, timeline: TimelinePane, named: Mapping[str, str] | None
    ) -> None:
        super().__init__()
        self.palette, self.named = palette, named or {}
        self.timeline = timeline
        self._asker = Background(self.post_message)
        readers = Readers(session)
        self._sifter = Sifter(session, readers, self._asker)
        self._seeker = Seeker(session, readers, self._asker, self.post_message)
        self._session = session
        self._histories: dict[str, Earlier] = {}

    def say(self, text: str, style: str = "bar") -> None:
        """A sentence in the status line, until something else is selected."""
        raise NotImplementedError

    def show_soon(self, *, now: bool = False) -> None:
        """Has show_kept() called: at once, or when the screen has time for it."""
        raise NotImplementedError

    def point(self) -> None:
        """The selected message is the one that was found: shows the place in it."""
        raise NotImplementedError

    def start_asking(self, wanted: Filter | None) -> None:
        """Starts the worker; before the first rows."""
        self._asker.start()
        if wanted is not None:
            self._sifter.apply(wanted, 0, 0)
            self.show_kept()

    def stop_asking(self, patience: float) -> None:
        """Ends it; waits that many seconds for it at most."""
        self._seeker.stop()
        self._asker.stop()
        if self._asker.ident is not None:
            self._asker.join(patience)

    @property
    def filtered(self) -> Filtered | None:
        """What there is to say of the filter in force."""
        sieve = self._sifter.sieve
        if sieve is None:
            return None
        return Filtered(sieve.filter.text, len(sieve.kept), sieve.percent if sieve.left else None)

    # A filter.

    def apply(self, wanted: Filter | None) -> None:
        """Puts a filter in force, or none."""
        self._seeker.stop()
        listed = self.timeline
        self._sifter.apply(wanted, listed.timeline.rows, listed.around, listed.timeline.first)
        self._turn_over()

    def _turn_over(self) -> None:
        self.timeline.hold()
        self.show_soon(now=True)

    @on(Sifted)
    def _sifted(self, message: Sifted) -> None:
        first = message.sieve.is_new
        if self._sifter.take(message):
            self.show_soon(now=first)

    def show_kept(self) -> None:
        """Shows what the filter has kept by now; until it has been asked, what was shown before."""
        sifter, listed = self._sifter, self.timeline
        if sifter.sieve is not None and sifter.sieve.is_new and listed.timeline.rows:
            return
        if sifter.kept is listed.timeline.kept and sifter.is_settled is listed.settled:
            return
        listed.show_rows(sifter.kept, settled=sifter.is_settled)
        self.say_if_empty()

    def say_if_empty(self) -> None:
        """Says why there is nothing in the list, if it is for the filter."""
        sieve = self._sifter.sieve
        if sieve is not None and sieve.settled and not len(sieve.kept):
            self.say("no message fulfils the filter", "bar-warning")

    def _action_filter(self) -> None:
        from analyzer.query.filter import compiled
        from tui.model.prompting import Prompter
        from tui.screens.ask import Question  # stock widgets: only who asks pays for them
        from tui.screens.filter_bar import FilterBar

        def read(text: str) -> Filter | None:
            return compiled(text, self.named) if text.strip() else None

        sieve = self._sifter.sieve
        question = Question("filter", FILTER_HINT, "" if sieve is None else sieve.filter.text, read)
        prompter = Prompter(self._history("filters"), self.named, self._sampled())
        self.app.push_screen(FilterBar(self.palette, question, prompter), self._answer_filter)

    def _answer_filter(self, answer: tuple[Filter | None] | None) -> None:
        self._keep_history("filters")
        if answer is not None:
            self.apply(*answer)

    def _sampled(self) -> Callable[[str], Sequence[Seen]]:
        """Reads the values of a field by its name, as they are by now; for another thread."""
        from tui.model.seen import seen

        listed, around = self.timeline.timeline, self.timeline.around
        rows, first = listed.rows, listed.first
        return lambda name: seen(self._session, name, rows, around, first)

    def _history(self, kind: str) -> Earlier:
        """What was typed into a line earlier, in this run and before."""
        from tui.model.earlier import Earlier

        if kind not in self._histories:
            self._histories[kind] = Earlier(self.remembered.get(kind, list[str]()))
        return self._histories[kind]

    def _keep_history(self, kind: str) -> None:
        self.remembered.keep(kind, self._histories[kind].entries)

    def _action_give_up(self) -> None:
        if self._seeker.stop():
            self.say("the search was stopped", "bar-warning")
        elif self._sifter.give_up():
            self._turn_over()
            self.say("the filter was given up", "bar-warning")

    # A search.

    def _action_find(self) -> None:
        from tui.model.prompting import FindPrompter
        from tui.screens.ask import Question
        from tui.screens.filter_bar import FilterBar

        def read(words: str) -> tuple[str, Sought]:
            return words, sought_by(words, self.named)

        question = Question("find", FIND_HINT, self._seeker.words, read)
        history = self._history("sought")
        prompter = FindPrompter(history, self.named, self._sampled(), sign=FILTER, read=read)
        self.app.push_screen(FilterBar(self.palette, question, prompter), self._answer_find)

    def _answer_find(self, answer: tuple[tuple[str, Sought]] | None) -> None:
        self._keep_history("sought")
        if answer is not None:
            self._seeker.aim(*answer[0])
            self._seek(forward=True)

    def _action_find_next(self) -> None:
        self._seek(forward=True)

    def _action_find_previous(self) -> None:
        self._seek(forward=False)

    def _seek(self, *, forward: bool) -> None:
        if not self._seeker.has_aim:
            self.say("nothing is sought yet: Ctrl+F asks for it", "bar-warning")
            return
        if self._seeker.is_searching(forward=forward):
            return
        listed = self.timeline
        at = listed.around
        if forward and (listed.selected is None or listed.selected.row is None):
            at -= 1  # the first message of a stream comes behind the stream's own line
        self._seeker.start(at, listed.said.marks.without_ignored(listed.timeline.shown), forward=forward)

    @on(Searching)
    def _searching(self, message: Searching) -> None:
        if self._seeker.knows(message.search):
            self.say(f"searching for {self._seeker.words}: {message.percent} %, Esc stops it")

    @on(Found)
    def _found(self, message: Found) -> None:
        if not self._seeker.take(message):
            return
        listed = self.timeline
        if message.row is None or not listed.timeline.shows(message.row):
            which = "no message" if self._sifter.sieve is None else "no message that the filter keeps"
            self.say(f"{which} has {self._seeker.words}", "bar-warning")
        elif listed.selected is not None and listed.selected.row == message.row:
            self.point()
        else:
            listed.select_row(message.row)
