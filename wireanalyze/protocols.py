"""Protocols of one's own."""

from __future__ import annotations

from os import PathLike

from analyzer.config.plugin_files import load_plugin_file
from dissectors import registry
from dissectors.api import Dissector
from wireanalyze.errors import UsageError, translate_errors


def register(protocol: Dissector | type[Dissector] | str | PathLike[str]) -> tuple[str, ...]:
    """Adds a protocol for captures that are opened, and messages that are decoded, from now on; returns its name.

    protocol: a class derived from `dissectors.api.Dissector`, an object of one, or the name of a Python file that
    defines one or several. Raises UsageError for what is no dissector, and for a name that another one has.
    """
    with translate_errors():
        if isinstance(protocol, str | PathLike):
            return tuple(each.name for each in load_plugin_file(protocol))
        try:
            return (registry.register(protocol).name,)
        except TypeError as error:
            raise UsageError(f"{protocol!r} cannot be registered: {error}.") from None
