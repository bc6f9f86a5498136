"""Profiles: columns, colour rules, layout, time format, view, theme and filter under a name, kept with the saved state.

Theory. A profile is a copy of the saved values that it is about, with the filter and the theme in force. So whatever
these values are kept for at a start is used when a profile is put in force, too. A value is a line of text: its name, a
tabulator, and JSON; a list has a line for each entry, because a line cannot be of any length.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tui.model.activity_height import HEIGHT_KEY, HEIGHTS
from tui.model.colour_rules import RULES_KEY
from tui.model.row_lines import COLUMNS_KEY
from tui.model.timeline import FLAT_KEY
from tui.model.times import TIME_FORMAT_KEY
from tui.saved_state import SavedState, SavedValue, convert_value

PROFILES_KEY = "profiles"
"""The key of the names of profiles, the one in force first."""

MOST_PROFILES, LONGEST_NAME = 32, 40

FILTER, THEME = "filter", "theme"
"""The names of the filter and of the theme in a profile."""

_DEFAULTS: Mapping[str, SavedValue] = {
    COLUMNS_KEY: [],
    RULES_KEY: [],
    TIME_FORMAT_KEY: "",
    FLAT_KEY: False,
    HEIGHT_KEY: HEIGHTS[0],
    "layout": "auto",
    "hidden": [],
    "shares": {},
}
"""The saved values that a profile has, with what they are without one."""


def list_profiles(saved_state: SavedState) -> list[str]:
    """Returns the names of profiles, the one that was used last first."""
    return saved_state.get(PROFILES_KEY, list[str]())


def save_profile(saved_state: SavedState, name: str, filter_text: str, theme: str) -> None:
    """Saves the present values under a name, with the filter and the theme."""
    lines = [_write_value(FILTER, filter_text), _write_value(THEME, theme)]
    for key, default in _DEFAULTS.items():
        value = saved_state.get(key, default)
        lines += [_write_value(key, each) for each in (value if isinstance(value, list) else [value])]
    saved_state.set(_make_key(name), lines)
    _put_first(saved_state, name)


def restore_profile(saved_state: SavedState, name: str) -> tuple[str, str]:
    """Makes the values of a profile the present ones; returns its filter and its theme, empty if it has none."""
    found: dict[str, list[object]] = {}
    for line in saved_state.get(_make_key(name), list[str]()):
        key, _, text = line.partition("\t")
        try:
            found.setdefault(key, []).append(json.loads(text))
        except ValueError:
            continue
    for key, default in _DEFAULTS.items():
        values = found.get(key, [])
        value = values if isinstance(default, list) else next(iter(values), default)
        saved_state.set(key, convert_value(value, default))
    _put_first(saved_state, name)
    filter_text, theme = (next(filter(None, map(_read_text, found.get(key, []))), "") for key in (FILTER, THEME))
    return filter_text, theme


def remove_profile(saved_state: SavedState, name: str) -> None:
    """Forgets a profile."""
    saved_state.set(PROFILES_KEY, [each for each in list_profiles(saved_state) if each != name])
    saved_state.set(_make_key(name), [])


def _put_first(saved_state: SavedState, name: str) -> None:
    names = [name, *(each for each in list_profiles(saved_state) if each != name)]
    saved_state.set(PROFILES_KEY, names[:MOST_PROFILES])


def _make_key(name: str) -> str:
    return f"profile {name}"


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _write_value(key: str, value: object) -> str:
    return f"{key}\t{json.dumps(value)}"
