"""The captures of the project as filters meet them, and as they are printed: each read once for all tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_tree
from analyzer.decode.content import read_messages
from analyzer.decode.jsonable import JsonWriter, Limits
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.render.tree_json import make_node_object
from analyzer.session import Session
from tests.analyzer.query.filter.oracle import Row, is_masked

FOLDER = Path(__file__).parents[4] / "captures"
NAMES = (
    "kafka.pcap",
    "mixed.pcapng",
    "kafka-0.10.pcap.zst",
    "kafka-3.9-zookeeper.pcap.zst",
    "kafka-4.4-share.pcap.zst",
    "kafka-4.4.pcap.zst",
)
WHOLE = Limits(None, None)
_ASKABLE = re.compile(r"[A-Za-z0-9_@#$%-]+")


class Captured(NamedTuple):
    """A capture. printed: what `list --format ndjson --fields` says of each row, and its bytes. fields: where each path
    of a body has a value that is not null, as numbers of rows.
    """

    name: str
    session: Session
    reader: RowReader
    printed: list[Row]
    fields: dict[str, list[int]]

    @property
    def all_rows(self) -> Ints:
        """The numbers of all rows."""
        return np.arange(len(self.printed))


@cache
def captured(name: str) -> Captured:
    """One of NAMES."""
    return read(FOLDER / name)


def read(*paths: Path, streaming: bool = False) -> Captured:
    """Any captures, as one timeline."""
    session = Session(list(paths)).load()
    reader = RowReader(session, streaming=streaming)
    printed = rows_as_printed(reader)
    return Captured(paths[0].name, session, reader, printed, _fields(printed))


def printed(value: object) -> Any:
    """A value as it is printed, read back."""
    return json.loads(JsonWriter(WHOLE).format_line(value))


def rows_as_printed(reader: RowReader) -> list[Row]:
    """All rows, read back from JSON."""
    rows = np.arange(len(reader.session.rows))
    writer = JsonWriter(WHOLE)
    found: list[dict[str, Any]] = []
    for row, message in zip(
        reader.read_objects((*ROW_KEYS, "fields"), rows), read_messages(reader.session, rows), strict=True
    ):
        found.append(json.loads(writer.format_line(row)))
        found[-1]["bytes"] = {"hex": message.hex(), "length": len(message)}
    return found


def _fields(printed: list[Row]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, row in enumerate(printed):
        if row["operation"] is None or row["protocol"] == "unknown":
            continue
        for path in dict.fromkeys(_paths(row["fields"], prefix(row))):
            found.setdefault(path, []).append(number)
    return found


def prefix(row: Row) -> str:
    """What the paths of a row's body begin with; messages without a side of their own have none."""
    side = {"request": ".request", "response": ".response"}.get(row["role"], "")
    return f"{row['protocol']}.{row['operation']}{side if row['protocol'] == 'kafka' else ''}"


def _paths(value: Any, around: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _paths(each, around)
    elif isinstance(value, dict) and not is_masked(value):
        for name, each in value.items():
            if _ASKABLE.fullmatch(name) and each is not None:
                yield f"{around}.{name}"
                yield from _paths(each, f"{around}.{name}")


@cache
def labels_of(name: str, number: int) -> dict[int, list[tuple[str, str]]]:
    """What a row's tree calls its numbers: of each the path and the name. Paths are without places in arrays, and
    without `value`, for a tree has the content of bytes directly below them.
    """
    session = captured(name).session
    writer = JsonWriter(WHOLE)
    found: dict[int, list[tuple[str, str]]] = {}
    for field in decode_tree(session, number).fields:
        _label(json.loads(writer.format_line(make_node_object(field))), "", found)
    return found


def _label(node: dict[str, Any], around: str, found: dict[int, list[tuple[str, str]]]) -> None:
    path = around if node["name"].startswith("[") or node["name"] == "value" else f"{around}.{node['name']}"
    if isinstance(node.get("value"), int) and "text" in node:
        found.setdefault(node["value"], []).append((path, node["text"]))
    for child in node.get("children", ()):
        _label(child, path, found)


def label_of(capture: Captured, row: int, path: str, value: int) -> str | None:
    """What the row's tree says beside a number at a path."""
    parts = [part for part in path.split(".") if part != "value"]
    end = "." + ".".join(parts[3 if capture.printed[row]["protocol"] == "kafka" else 2 :])
    named = labels_of(capture.name, row).get(value, ())
    return next((text for place, text in named if place.endswith(end)), None)
