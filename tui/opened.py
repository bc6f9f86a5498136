"""What the user asked for when the program was started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.config.model import Config
from analyzer.decode.jsonable import Limits
from dissectors.slotted import field, slotted

if TYPE_CHECKING:
    from analyzer.query.filter import Filter


@slotted
class Opened:
    """title: what is open, for the first line. colours: a name of tui.theme.CHOICES. following: new rows are selected
    as they come. wanted: only messages that fulfil it are shown, until the user says otherwise. config: its filters
    may be referred to by others; colour rules, sets of columns, the format of times. memory: bytes that tables may hold
    while packets come; None: all that there are.
    """

    title: str
    limits: Limits = field(default_factory=Limits)
    colours: str = "auto"
    following: bool = False
    wanted: Filter | None = None
    config: Config = field(default_factory=Config)
    memory: int | None = None
