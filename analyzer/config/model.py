"""The settings that can be configured, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from analyzer.messages.decode_as import PortRange
from dissectors import registry
from dissectors.slotted import field, make_slotted

TimeFormat = Literal["iso", "relative", "delta", "epoch"]

TIME_FORMATS: tuple[TimeFormat, ...] = ("iso", "relative", "delta", "epoch")
"""iso: UTC; relative: since the first packet of the input; delta: since the previous printed row; epoch: since 1970."""


@make_slotted
class ColorRule:
    """The look of rows that match a filter; `style` in rich's syntax: `bold red`, `white on blue`, `#ff8800`.

    The code that applies a rule checks its filter and style. If several rules match a row, the first one wins.
    """

    name: str
    filter: str
    style: str


STATE_COLORS: Sequence[ColorRule] = (
    ColorRule("gap", "state == partial", "magenta"),
    ColorRule("error", "error", "red"),
    ColorRule("slow", "slow", "yellow"),
    ColorRule("retransmitted", "retransmissions", "bright_magenta"),
    ColorRule("guessed", "state == guessed", "cyan"),
    ColorRule("orphaned", "not partner and (role == request or role == response)", "cyan"),
    ColorRule("raw", "role == raw", "bright_black"),
)
"""Rules for unusual states of messages."""


@registry.cache_by_plugins
def protocol_colors() -> tuple[ColorRule, ...]:
    """Returns the colour rules of the protocols (Dissector.color). They apply if an input has several protocols."""
    known = ((each.name, each.color) for each in registry.dissectors())
    return tuple(ColorRule(name, f"protocol == {name}", color) for name, color in known if color is not None)


def list_built_in_colors() -> tuple[ColorRule, ...]:
    """Returns the rules that need no file."""
    return (*STATE_COLORS, *protocol_colors())


@make_slotted
class Config:
    """The current configuration.

    path: the file that it was read from, None without one. columns: the file's presets only, which precede built-in
    ones of the same name. own_colors: the file's rules. ports: the protocols of their servers, unless the command line
    overrides them. filters: by the name that follows `$` in a filter. time_format: one of TIME_FORMATS; with None, each
    form of output has its own. names: whether to show the names that captures contain for addresses. key_logs: of TLS,
    with ~ and environment variables as in the file.
    """

    path: str | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own_colors: tuple[ColorRule, ...] = ()
    ports: Mapping[int | PortRange, str] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)
    time_format: TimeFormat | None = None
    names: bool = True
    key_logs: tuple[str, ...] = ()

    @property
    def colors(self) -> tuple[ColorRule, ...]:
        """Returns all colour rules by priority: the file's, then the built-in ones that it does not replace."""
        own = {rule.name for rule in self.own_colors}
        return (*self.own_colors, *(rule for rule in list_built_in_colors() if rule.name not in own))
