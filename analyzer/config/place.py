"""Where the configuration file is (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from collections.abc import Mapping

VARIABLE = "WIREANALYZE_CONFIG"
FOLDER, NAME = "wireanalyze", "config.toml"


def find(environment: Mapping[str, str], told: str | None = None) -> tuple[str, bool]:
    """The file's path, and whether somebody named it, so that it must be there.

    told: what the command line says; it goes before the environment's VARIABLE, and that before the usual place. A
    relative XDG_CONFIG_HOME counts for nothing, as the specification wants it.
    """
    named = told or environment.get(VARIABLE)
    if named:
        return named, True
    home = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(home, FOLDER, NAME), False
