"""What was asked of the data source `wireanalyze`: options, as given to option() and load(), and columns."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from analyzer.errors import UserError
from analyzer.messages.decode_as import StreamNumber, make_rules, parse_rule
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.tables.options import WINDOW, Options
from analyzer.tables.table_schemas import ALL_TABLES
from analyzer.tables.typed_bodies import parse_bodies

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAMES = (
    *("path", "paths", "table", "capture", "fields", "fields_of", "window", "partitions", "decode_as", "keylog"),
    *("state", "settle"),
)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What was given to option() and load(). capture: a regular expression that names captures.

    state, settle: for streams, see data_stream.py.
    """

    table: str
    paths: Sequence[str]
    options: Options
    capture: str | None = None
    state: str | None = None
    settle: float | None = None

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> SourceOptions:
        """Raises UserError for what is unknown or wrong."""
        unknown = sorted(name for name in given if name.lower() not in NAMES)
        if unknown:
            raise UserError(f"The data source has no option {unknown[0]!r}. It has {', '.join(NAMES)}.")
        table = given.get("table", "messages")
        if table not in ALL_TABLES:
            raise UserError(f"There is no table {table!r}. Give one of {', '.join(ALL_TABLES)}.")
        paths = json.loads(given["paths"]) if "paths" in given else [given["path"]] if "path" in given else []
        if not paths:
            raise UserError('No capture was given. Give files or folders: load("captures/").')
        try:
            rules = [parse_rule(rule) for rule in _split(given.get("decode_as", ""))]
            if any(isinstance(where, StreamNumber) for where, _ in rules):
                raise ValueError("Streams have no numbers. Give the ends of the stream: CLIENT>SERVER=PROTOCOL.")
            make_rules(dict(rules))
            fields = _parse_bool(given, "fields")
            options = Options(
                decode_as=tuple(rules),
                fields=fields is not False,
                bodies=parse_bodies(_split(given.get("fields_of", "")), fields),
                window=_parse_whole(given, "window") or WINDOW,
                partitions=_parse_whole(given, "partitions"),
                key_logs=tuple(map(os.path.abspath, filter(None, [given.get("keylog")]))),
            )
            settle = float(given["settle"]) if "settle" in given else None
        except ValueError as error:
            raise UserError(f"An option of the data source is wrong: {error}") from error
        return cls(table, paths, options, given.get("capture"), given.get("state"), settle)

    def find_files(self, *, needed: bool = True) -> tuple[CaptureFile, ...]:
        """Returns the captures. Raises UserError for one that only Spark reads."""
        found = find_captures(self.paths, self.capture, needed=needed)
        if found.remote:
            raise UserError(
                f"The data source reads files that workers can open, and {found.remote[0]} is none. Mount its file "
                "system, or write tables with the command `pipeline`, which reads URIs."
            )
        return found.files


def _split(text: str) -> list[str]:
    """Returns what stands between commas."""
    return [each.strip() for each in text.split(",") if each.strip()]


def _parse_whole(given: Mapping[str, str], name: str) -> int | None:
    """Returns a whole number above 0; None if it was not given. Raises ValueError."""
    if name not in given:
        return None
    number = int(given[name])
    if number < 1:
        raise ValueError(f"{name} is {number}. Give 1 or more.")
    return number


def _parse_bool(given: Mapping[str, str], name: str) -> bool | None:
    """Returns true or false; None if it was not given. Raises ValueError."""
    if name not in given:
        return None
    text = given[name].lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} is {text!r}. Give true or false.")
    return text == "true"


class ColumnMaker:
    """Makes the columns that a query asks for from those of a table."""

    def __init__(self, table: str, schema: StructType) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._table = table

    def has(self, name: str) -> bool:
        """Whether a column is asked for."""
        return name in self._schema.names

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns a batch of the table as Spark wants it."""
        missing = [name for name in self._schema.names if name not in batch.schema.names]
        if missing:
            raise UserError(
                f"The table {self._table} has no column {missing[0]!r}. Leave schema() out to see its columns."
            )
        return batch.select(self._schema.names).cast(self._schema)
