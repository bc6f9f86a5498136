"""The defects of this program that the TUI survives, and the limit after which it gives up.

Theory. Textual ends the program with the first exception that a handler does not catch, and a widget whose handler
raised receives no further messages. But a handler that fails leaves the panes as they were, and the user's open work is
worth more than a clean end. So each handler is guarded, and the user sees the defect and decides. A failure while a
screen is composed leaves nothing to go on with. Defects that come again and again, as in painting, end the program.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, runtime_checkable

from textual.events import Compose, Mount
from textual.message import Message
from textual.message_pump import MessagePump

TOO_MANY, WITHIN = 3, 10.0
"""The number of defects, and the seconds within which they end the program."""

SURVIVABLE_CALLERS = frozenset({"_tick", "_flush_next_callbacks", "_refresh_layout", "_display"})
"""Textual's functions that catch exceptions and go on: timers, deferred calls, painting."""

_BEGINNING = (Compose, Mount)


@runtime_checkable
class DefectHandler(Protocol):
    """An application that may survive a defect."""

    def handle_defect(self, error: Exception) -> bool:
        """Shows a defect; returns whether the program goes on."""


class DefectCounter:
    """Counts defects of the last seconds, to end the program when there are TOO_MANY."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=TOO_MANY)

    def count_defect(self, now: float) -> bool:
        """Counts a defect at `now`, in seconds; returns whether there have been too many."""
        self._times.append(now)
        return len(self._times) == TOO_MANY and now - self._times[0] <= WITHIN


def is_survivable(error: Exception) -> bool:
    """Returns whether the caller that caught the exception goes on: the traceback begins in that caller."""
    trace = error.__traceback__
    return trace is not None and trace.tb_frame.f_code.co_name in SURVIVABLE_CALLERS


class CrashGuard(MessagePump):
    """The first base of every app, screen and widget of ours: a defect in a handler does not end the program.

    Outside of a DefectHandler nothing is guarded.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            app = self.app
            if isinstance(message, _BEGINNING) or not isinstance(app, DefectHandler) or not app.handle_defect(error):
                raise
