"""RocketMQ's tables: request codes, header classes, names of numbers; JSON beside this file, a row for each entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from os.path import dirname, join
from typing import Any


@cache
def table(name: str) -> Mapping[str, Any]:
    """Returns the content of `name`.json, which is read on first use."""
    with open(join(dirname(__file__), f"{name}.json"), encoding="utf-8") as rows:
        content: dict[str, Any] = json.load(rows)
    return content
