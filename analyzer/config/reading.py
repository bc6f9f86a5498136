"""Parses the configuration file to a Config. An error is one sentence: file, line, key, and the expected value.

Theory. The TOML parser reports lines only for its own errors. So the line of a key is searched in the text: it begins
with the key, and follows the head of the key's table. Only messages use the line. It is omitted if it is not found (for
an inline table).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from analyzer.config.model import TIME_FORMATS, ColorRule, Config, TimeFormat
from analyzer.errors import UserError
from analyzer.messages.decode_as import PortRange, check_protocol, parse_target

_NAME = r"[A-Za-z0-9_-]+"
_HEAD = r"\s*\[(\[?)\s*([^\]]+?)\s*\]"
_KEY = r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*="""

Value: TypeAlias = "object"
"""The types of TOML: text, numbers, booleans, times, lists, dicts."""


class Wrong(Exception):
    """An error in a key of a table; `index` counts tables of the same name."""

    def __init__(self, what: str, table: str, key: str | None = None, index: int = 0) -> None:
        super().__init__(what)
        self.table, self.key, self.index = table, key, index


def read_config(path: str, data: bytes) -> Config:
    """Reads a configuration file. Raises UserError, with the place, if it cannot be read or is invalid."""
    try:
        text = data.decode()
        found = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(_syntax(path, str(error))) from None
    except RecursionError:
        raise UserError(f"{path} is nested too deeply for a configuration file.") from None
    try:
        return _config(path, found)
    except Wrong as error:
        raise UserError(f"{path}{_find_config(text, error)}: {error}") from None


def _syntax(path: str, message: str) -> str:
    """Returns tomllib's message, with the place in front."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return f"{path} is not TOML: {message}."
    place = f"line {match[2]}, column {match[3]}" if match[2] else "last line"
    return f"{path}, {place}: this is not TOML: {match[1][:1].lower()}{match[1][1:]}."


def _find_config(text: str, wrong: Wrong) -> str:
    """Returns `, line 3`, or an empty text if the line is not found."""
    table, index, counts = "", 0, dict[str, int]()
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(_HEAD, line):
            table = head[2].strip("\"' ")
            index = counts[table] = counts.get(table, -1) + 1
            found = wrong.key is None and (table, index) == (wrong.table, wrong.index)
        elif key := re.match(_KEY, line):
            name = next(group for group in key.groups() if group is not None)
            found = (table, index, name) == (wrong.table, wrong.index, wrong.key)
            found |= not table and wrong.key is None and name == wrong.table
        else:
            found = False
        if found:
            return f", line {number}"
    return ""


def _config(path: str, found: Mapping[str, Value]) -> Config:
    for name in found:
        if name not in _TABLES:
            raise Wrong(f"There is no table {name!r}. {_near(name, _TABLES, _LIST)}", name)
    columns = {name: _column_names(name, value) for name, value in _table(found, "columns")}
    filters = {name: _text("filters", name, value) for name, value in _table(found, "filters")}
    for table in ("columns", "filters"):
        for name, _ in _table(found, table):
            if re.fullmatch(_NAME, name) is None:
                raise Wrong(f"{table}.{name!r} is not a name. Use letters, digits, - and _.", table, name)
    options = dict(_table(found, "list"))
    for name in options:
        if name not in _LIST:
            raise Wrong(f"There is no key list.{name}. {_near(name, _LIST)}", "list", name)
    return Config(
        path,
        columns,
        _colors(found),
        dict(_port(name, value) for name, value in _table(found, "ports")),
        filters,
        _time_format(options["time-format"]) if "time-format" in options else None,
        _flag("list", "names", options["names"]) if "names" in options else True,
        _key_logs(found),
    )


def _table(found: Mapping[str, Value], name: str) -> Iterable[tuple[str, Value]]:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise Wrong(f"{name} is {_kind(table)}. It must be a table, [{name}].", name)
    return table.items()


def _column_names(name: str, value: Value) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
        raise Wrong(
            f'columns.{name} is {_kind(value)}. It must be a list of fields, such as ["number", "time"].',
            "columns",
            name,
        )
    return tuple(value)


def _colors(found: Mapping[str, Value]) -> tuple[ColorRule, ...]:
    tables = found.get("colors", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise Wrong(f"colors is {_kind(tables)}. It must be a list of tables, [[colors]].", "colors")
    rules: list[ColorRule] = []
    for index, table in enumerate(tables):
        for key in table:
            if key not in _RULE:
                raise Wrong(f"There is no key colors.{key}. {_near(key, _RULE)}", "colors", key, index)
        for key in _RULE:
            if key not in table:
                raise Wrong(f"The colour rule has no {key}. It needs name, filter and style.", "colors", None, index)
        rule = ColorRule(*(_text("colors", key, table[key], index) for key in _RULE))
        if rule.name in (other.name for other in rules):
            raise Wrong(f"There are two colour rules with the name {rule.name!r}. Rename one.", "colors", "name", index)
        rules.append(rule)
    return tuple(rules)


def _port(name: str, value: Value) -> tuple[int | PortRange, str]:
    protocol = _text("ports", name, value)
    try:
        where = parse_target(name)
        if not isinstance(where, int | PortRange):
            raise ValueError(f"{name!r} is no port")
    except ValueError:
        text = f'ports.{name!r} is not a port. Give a port from 1 to 65535, or a range: 19092 or "8000-8010".'
        raise Wrong(text, "ports", name) from None
    try:
        check_protocol(protocol)
    except ValueError as error:
        raise Wrong(f"ports.{name}: {error}", "ports", name) from None
    return where, protocol


def _time_format(value: Value) -> TimeFormat:
    for known in TIME_FORMATS:
        if value == known:
            return known
    text = f"list.time-format is {_kind(value)}. It must be one of {', '.join(TIME_FORMATS)}."
    raise Wrong(text, "list", "time-format")


def _text(table: str, key: str, value: Value, index: int = 0) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Wrong(f"{table}.{key} is {_kind(value)}. It must be a text.", table, key, index)
    return value


def _key_logs(found: Mapping[str, Value]) -> tuple[str, ...]:
    options = dict(_table(found, "tls"))
    for name in options:
        if name != "keylog":
            raise Wrong(f"There is no key tls.{name}. Use keylog.", "tls", name)
    value = options.get("keylog", [])
    files = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each.strip() for each in files):
        raise Wrong(f"tls.keylog is {_kind(value)}. It must be a file, or a list of files.", "tls", "keylog")
    return tuple(str(each) for each in files)


def _flag(table: str, key: str, value: Value) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"{table}.{key} is {_kind(value)}. It must be true or false.", table, key)
    return value


def _kind(value: Value) -> str:
    """Returns the name of a value's type, for a message."""
    if isinstance(value, str):
        return f"the text {value[:40]!r}" if value.strip() else "an empty text"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        what = "list" if isinstance(value, list) else "table"
        return f"a {what} of {len(value)}" if value else f"an empty {what}"
    return f"{str(value)[:40]}"


def _near(name: str, known: Iterable[str], of_list: Iterable[str] = ()) -> str:
    """Suggests known names for a wrong one. of_list: keys that belong in the table [list]."""
    from difflib import get_close_matches  # only for a rare error message

    if inner := get_close_matches(name, list(of_list), 1, 0.6):
        return f"Did you mean {inner[0]} in the table [list]?"
    near = get_close_matches(name, list(known), 2, 0.5)
    return f"Did you mean {' or '.join(near)}?" if near else f"Use {', '.join(known)}."


_TABLES = ("columns", "colors", "ports", "filters", "list", "tls")
_RULE = ("name", "filter", "style")
_LIST = ("time-format", "names")
