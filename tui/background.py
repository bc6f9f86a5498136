"""One thread for what takes longer than the time between two keys: long messages are decoded here.

Theory. Only the newest wish of each kind counts: whoever scrolls over ten long messages wants to see the last. So there
is one place for each kind of work, and a new wish takes the place of one that has not begun.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from textual.message import Message

Work = Callable[[], Message]


class Failed(Message):
    """The work has a defect."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class Background(threading.Thread):
    """Does the work and posts the message that comes of it. A daemon: the program's end does not wait for it."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        super().__init__(name="background", daemon=True)
        self._post = post
        self._wishes: dict[str, Work] = {}
        self._changed = threading.Condition()
        self._over = False

    def ask(self, kind: str, work: Work) -> None:
        """Wishes for work; it takes the place of what was wished before and has not begun."""
        with self._changed:
            self._wishes[kind] = work
            self._changed.notify()

    def forget(self, kind: str) -> None:
        """Nobody wants the work of a kind any more."""
        with self._changed:
            self._wishes.pop(kind, None)

    def stop(self) -> None:
        """Nobody wants anything any more; does not wait for what is being done."""
        with self._changed:
            self._over = True
            self._changed.notify()

    def run(self) -> None:
        """See Thread."""
        while True:
            with self._changed:
                while not self._wishes and not self._over:
                    self._changed.wait()
                if self._over:
                    return
                work = self._wishes.pop(next(iter(self._wishes)))
            message: Message
            try:
                message = work()
            except Exception as error:  # raised again where defects are reported
                message = Failed(error)
            with contextlib.suppress(RuntimeError):  # the program has ended since
                self._post(message)
