"""The pages whose lines unfold: problems, the conversation of a stream, and the packets of a message.

Theory. Findings of messages must be decoded, which takes seconds, so problems are shown as far as they are known after
each portion of messages. Those of connections and files come last, and then problems that explain others take these in.
Enter on a message of a problem selects it and, if the finding has a place, the field there. The finding is searched in
the message then: of equal messages, which are examined together, only one has been asked where its finding lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from analyzer.decode.endpoints import name_stream
from analyzer.decode.jsonable import Limits
from analyzer.decode.masking import Span
from analyzer.decode.name_resolver import NameResolver
from analyzer.insight.diagnosis import diagnose, diagnose_rows
from analyzer.insight.frames import CapturedFrame, LostBytes, find_lost_bytes, frame_bytes, frames_of
from analyzer.insight.problems import ProblemTable
from analyzer.insight.root_causes import MOST_EXAMPLES, settle_problems
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.session import Session
from dissectors.finding import Severity
from tui.model.dialogue import DecodedMessage, Dialogue
from tui.model.findings import FindingList, ShownProblem, copy_problem
from tui.model.packets import PacketLines
from tui.model.row_sets import PageScope
from tui.model.views import Cancellation, ViewWork
from tui.screens.folding import FoldingPage
from tui.theme import Palette
from tui.widgets.bars import BarPart

PART_LIMITS = (16_384, 4 << 20)
"""Rows, and bytes of their messages, that are examined before their findings are shown."""


class ScanPortion(NamedTuple):
    """What problems tell by now, and the number of rows that were examined. is_whole: whether nothing is left."""

    problems: Sequence[ShownProblem]
    rows: int
    is_whole: bool = False


class FindingScan:
    """Examines all rows of a scope in a thread of its own.

    post: gets what problems tell by now, and the number of examined rows.
    """

    def __init__(self, session: Session, scope: PageScope, post: Callable[[ScanPortion], object]) -> None:
        self.scope = scope
        self.work = ViewWork(lambda text: None)
        self._session, self._post = session, post
        self._problems = ProblemTable(session, MOST_EXAMPLES)

    def run(self) -> ScanPortion | None:
        """Posts problems as they come, and returns them all; None if they are not wanted any more."""
        session, scope = self._session, self.scope
        whole = scope.ended and scope.matches is None
        mask = scope.make_mask()
        found = (
            diagnose(session, self._post_part, PART_LIMITS)
            if whole
            else diagnose_rows(session, scope.rows, self._post_part, PART_LIMITS)
        )
        try:
            for each in found:
                row = -1 if each.row is None else each.row - scope.first
                if (whole and each.row is None) or (row >= 0 and (mask is None or mask[row])):
                    self._problems.add(each)
        except Cancellation:
            return None
        return ScanPortion(list(map(copy_problem, settle_problems(session, self._problems))), scope.rows, True)

    def _post_part(self, rows: int) -> None:
        self.work.raise_if_cancelled()
        self._post(ScanPortion(list(map(copy_problem, self._problems.list_problems())), rows))


class FindingsPage(FoldingPage):
    """The page of findings.

    scope: returns the present rows.
    """

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], PageScope]) -> None:
        super().__init__(palette, "Findings")
        self._session, self._scope = session, scope
        self._examination: FindingScan | None = None
        self._findings = FindingList(session)
        self._rows, self._is_whole = 0, False

    def begin(self) -> None:
        """Starts the scan, with an empty list."""
        self.stop()
        self._findings, self._rows, self._is_whole = FindingList(self._session), 0, False
        self.pane.show_text("working ...")
        self._examination = examination = FindingScan(
            self._session,
            self._scope(),
            lambda part: self._worker.post(lambda: self._take_part(examination, part)),
        )
        self._worker.submit("page", examination.run, partial(self._take_part, examination))
        self._show_title()

    def stop(self) -> None:
        """Cancels the scan of the capture for findings, if one is running."""
        if self._examination is not None:
            self._examination.work.cancel()

    def on_unmount(self) -> None:
        """Cancels the scan for findings when Textual removes the page."""
        self.stop()

    def _take_part(self, examination: FindingScan, part: ScanPortion | None) -> None:
        if examination is not self._examination or part is None:
            return
        problems, self._rows, self._is_whole = part
        pane, findings = self.pane, self._findings
        if pane.contents is None:
            findings.show(problems)
            if problems:
                pane.show_contents(findings)
        else:
            # Who is at the top sees what is gravest by now; nobody else is moved.
            marks = [
                findings.get_position(pane.current_line if pane.cursor else None),
                findings.get_position(pane.top_line if pane.top else None),
            ]
            findings.show(problems)
            pane.restore_lines(*map(findings.find_line, marks))
        self._show_title()

    def _show_title(self) -> None:
        assert self._examination is not None
        scope, counts = self._examination.scope, self._findings.count_by_severity()
        ended = self._is_whole
        parts = [BarPart(_STYLES[severity], f"  {format_count(count, severity)}") for severity, count in counts.items()]
        if ended:
            done = f"   {'' if counts else 'no findings '}in {scope.row_count:,} messages"
        else:
            share = max(self._rows - scope.first, 0) / max(scope.row_count, 1)
            done = f"   {int(100 * share)} % of {scope.row_count:,} messages examined"
        self.show_title(*parts, BarPart("bar-dim", done + (f" ({scope.description})" if scope.description else "")))
        if ended and not counts:
            self.pane.show_text("no findings")


_STYLES = {Severity.NOTE: "bar", Severity.WARNING: "bar-warning", Severity.ERROR: "bar-error"}


def format_count(count: int, severity: Severity) -> str:
    """Formats a number of findings: `1 error`, `2,000 warnings`."""
    return f"{count:,} {severity.name.lower()}{'' if count == 1 else 's'}"


SIDE_TITLES = {None: "", FROM_CLIENT: ", messages of the client", FROM_SERVER: ", messages of the server"}
"""The sides whose messages are shown, in the order in which a key cycles through them."""


class FollowPage(FoldingPage):
    """The page of a stream; the cursor begins at a row of it.

    resolver: resolved names.
    """

    HINTS = (
        ("Enter", "go there"),
        ("Space", "fields"),
        ("= -", "all, none"),
        ("o", "one side"),
        ("r", "anew"),
        ("Esc", "back"),
    )

    def __init__(
        self,
        palette: Palette,
        session: Session,
        stream: int,
        row: int | None,
        scope: Callable[[], PageScope],
        limits: Limits,
        resolver: NameResolver,
    ) -> None:
        super().__init__(palette, f"Stream {stream}: {name_stream(session, stream)}")
        self._session, self._stream, self._scope, self._limits, self._resolver = (
            session,
            stream,
            scope,
            limits,
            resolver,
        )
        self._row = row
        self._side: int | None = None
        self._dialogue: Dialogue | None = None

    def begin(self) -> None:
        """Lists the messages of the stream by now."""
        if self._dialogue is not None and self.pane.current_line is not None:
            self._row = int(self._dialogue.rows[self.pane.current_line.head])
        scope, index = self._scope(), self._session.rows
        every = scope.first + np.flatnonzero(index.column("stream")[scope.first : scope.rows] == self._stream)
        began = int(index.column("time")[every[:1]].sum())
        rows = scope.drop_ignored(every)
        if self._side is not None:
            rows = rows[index.column("side")[rows] == self._side]
        self._dialogue = Dialogue(self._session, rows, began, self._limits, self._resolver, self._request)
        if len(rows):
            self.pane.show_contents(self._dialogue, 0 if self._row is None else self._dialogue.find_head(self._row))
        else:
            self.pane.show_text("no message")
        limits = f"   ({scope.description_of_all})" if scope.description_of_all else ""
        self.show_title(
            BarPart("bar", f"  {len(rows):,} messages{SIDE_TITLES[self._side]}"), BarPart("bar-dim", limits)
        )

    def _request(self, row: int) -> None:
        dialogue = self._dialogue
        assert dialogue is not None
        work = partial(dialogue.decode_message, row)
        self._worker.submit(f"row {row}", work, lambda decoded: self._take_decoded(dialogue, row, decoded))

    def _take_decoded(self, dialogue: Dialogue, row: int, decoded: DecodedMessage) -> None:
        if dialogue is self._dialogue:
            self.pane.add_lines(*dialogue.add_decoded(row, decoded))

    def _action_one_side(self) -> None:
        sides = list(SIDE_TITLES)
        self._side = sides[(sides.index(self._side) + 1) % len(sides)]
        self.begin()


class PacketsPage(FoldingPage):
    """The page of a message's packets."""

    HINTS = (("Enter", "its bytes"), ("= -", "all, none"), ("r", "anew"), ("Esc", "back"))

    def __init__(
        self, palette: Palette, session: Session, row: int, scope: Callable[[], PageScope], *, show_secrets: bool
    ) -> None:
        super().__init__(palette, f"Packets of message {row + 1}")
        self._session, self._row, self._scope, self._show_secrets = session, row, scope, show_secrets
        self._lines: PacketLines | None = None

    def begin(self) -> None:
        """Reads the frames of the message in the worker thread."""
        session, row = self._session, self._row
        self.pane.show_text("working ...")
        self.show_title()
        self._worker.submit(
            "frames", lambda: (frames_of(session, row), find_lost_bytes(session, row)), self._show_frames
        )

    def _show_frames(self, read: tuple[Sequence[CapturedFrame], Sequence[LostBytes]]) -> None:
        frames, lost = read
        client = self._session.rows.cell("side", self._row) == FROM_CLIENT
        self._lines = PacketLines(frames, lost, from_client=client, wish=self._request)
        self.pane.show_contents(self._lines, 1)
        packets, again = (
            len({each.number for each in some}) for some in (frames, [each for each in frames if each.again])
        )
        missing = sum(each.length for each in lost)
        parts = [BarPart("bar", f"  {packets:,} packet{'' if packets == 1 else 's'}")]
        if again:
            parts.append(BarPart("bar-warning", f"  {again:,} retransmitted"))
        if missing:
            parts.append(BarPart("bar-error", f"  {missing:,} bytes missing"))
        if not self._scope().ended:
            parts.append(BarPart("bar-dim", "   (so far)"))
        self.show_title(*parts)

    def _request(self, place: int) -> None:
        assert self._lines is not None
        session, row, frame, rows = self._session, self._row, self._lines.frames[place], self._scope().rows
        work = partial(frame_bytes, session, row, frame, rows, show_secrets=self._show_secrets)
        self._worker.submit(f"frame {place}", work, partial(self._show_bytes, frame, place))

    def _show_bytes(self, frame: CapturedFrame, place: int, read: tuple[bytes, Sequence[Span]]) -> None:
        lines = self._lines
        if lines is not None and lines is self.pane.contents and lines.frames[place] is frame:
            self.pane.add_lines(lines.fold_list.find_line(place + 1), lines.add_bytes(place, *read))
