"""Writes a Config as a configuration file that shows each current entry and its origin, to read or to start from.

Loading the result gives an equal Config.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzer.config.model import TIME_FORMATS, Config
from analyzer.messages.decode_as import PortRange

BUILT_IN, OWN = "built-in", "from the file"

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def format_config(config: Config, presets: Mapping[str, Sequence[str]]) -> str:
    """Returns the whole configuration as TOML; presets: the built-in sets of columns."""
    return "\n".join(_lines(config, presets)) + "\n"


def _lines(config: Config, presets: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield "# " + ("no configuration file: these are the defaults" if config.path is None else _comment(config.path))
    yield from ("", "[list]")
    if config.time_format is None:
        yield f"# time-format = {_text(TIME_FORMATS[0])}  # not set; one of {', '.join(TIME_FORMATS)}"
    else:
        yield f"time-format = {_text(config.time_format)}  # {OWN}"
    yield f"names = {str(config.names).lower()}  # {BUILT_IN if config.names else OWN}"
    yield from ("", "[columns]")
    for name, keys in {**presets, **config.columns}.items():
        source = OWN if name in config.columns else BUILT_IN
        yield f"{_key(name)} = [{', '.join(map(_text, keys))}]  # {source}"
    yield from ("", "[filters]")
    yield from (f"{_key(name)} = {_text(filter_)}  # {OWN}" for name, filter_ in config.filters.items())
    yield from ("", "[ports]")
    yield from (f"{_key(_port(where))} = {_text(protocol)}  # {OWN}" for where, protocol in config.ports.items())
    if config.key_logs:
        yield from ("", "[tls]", f"keylog = [{', '.join(map(_text, config.key_logs))}]  # {OWN}")
    for rule in config.colors:
        yield from ("", f"[[colors]]  # {OWN if rule in config.own_colors else BUILT_IN}")
        yield from (f"name = {_text(rule.name)}", f"filter = {_text(rule.filter)}", f"style = {_text(rule.style)}")


def _port(where: int | PortRange) -> str:
    return str(where) if isinstance(where, int) else f"{where.first}-{where.last}"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    """Returns a basic string of TOML; characters that could act on a terminal are escaped."""
    return '"' + "".join(_ESCAPES.get(each) or (each if each.isprintable() else _escape(each)) for each in text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else _escape(each) for each in text)
