"""The terminal user interface: a reader of analyzer.session, painted with Textual.

`run(session, title)` shows a session, whoever made it. The rooms: `model` knows what line shows what and needs no
terminal, `widgets` paint it, `screens` say what belongs together, `loader` reads beside them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyzer.filter import Filter
    from analyzer.render.jsonable import Limits
    from analyzer.session import Session

FRAMES = "250"
"""How often in a second Textual may paint. Its 60 have a key wait for up to 17 ms until anybody looks at it."""


def run(
    session: Session,
    title: str,
    *,
    limits: Limits | None = None,
    colours: str = "auto",
    following: bool = False,
    wanted: Filter | None = None,
    named: Mapping[str, str] | None = None,
) -> None:
    """Reads a session to its end and shows it until the user quits; does not close it.

    title: what is open, for the first line. colours: a name of tui.theme.CHOICES. following: new rows are selected as
    they come. wanted: only messages that fulfil it are shown, until the user says otherwise. named: filters that
    another may refer to. Raises what kept the session from being read at all, and our own defects.
    """
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)  # before Textual is loaded
    from tui.app import show  # Textual is half of the start

    show(session, title, limits=limits, colours=colours, following=following, wanted=wanted, named=named)
