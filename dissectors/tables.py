"""Tables of a protocol: JSON files beside a module, each read at its first use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from os.path import dirname, join
from typing import Any

ReadTable = Callable[[str], Mapping[str, Any]]


def find_tables(module_file: str) -> ReadTable:
    """Returns what reads `NAME.json` beside a module, by that name. Names are the protocol's own, so the cache ends."""

    @cache
    def table(name: str) -> Mapping[str, Any]:
        with open(join(dirname(module_file), f"{name}.json"), encoding="utf-8") as rows:
            content: dict[str, Any] = json.load(rows)
        return content

    return table
