"""Pulsar's tables: commands, messages and enums as data, and the way to read them.

Theory. All tables are JSON beside this file, one field a line, so a new field is a new row. A file is read at its first
use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from os.path import dirname, join
from typing import Any


@cache
def table(name: str) -> Mapping[str, Any]:
    """Returns the content of `name`.json. The names are this folder's own, so the cache is bounded."""
    with open(join(dirname(__file__), f"{name}.json"), encoding="utf-8") as rows:
        content: dict[str, Any] = json.load(rows)
    return content
