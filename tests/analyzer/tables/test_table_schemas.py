"""The columns are those that docs/reference/tables.md promises."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.tables.table_schemas import (
    EVERY_TABLE,
    PARTITIONED_BY,
    PORT,
    TABLE_DURATION,
    TABLE_TIME,
    VERSION,
    build_schema,
)
from tests.analyzer.pipeline.house import ROOT

_SQL = {
    pa.string(): "STRING",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.date32(): "DATE",
    PORT: "INT",
    TABLE_TIME: "TIMESTAMP",
    TABLE_DURATION: "INTERVAL DAY TO SECOND",
}


def _format_type(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{field.name}: {_format_type(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{_format_type(kind.value_type)}>"
    return _SQL[kind]


PAGE = (ROOT / "docs" / "reference" / "tables.md").read_text()


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_the_columns_are_written_down(table: str) -> None:
    (text,) = re.findall(rf"\| `{table}` \| type \|.*?\n\n", PAGE, re.DOTALL)
    promised = {
        name: kind.strip()
        for names, kind in re.findall(r"^\| ([a-z_, ]+) \| ([A-Z][^|]+)\|", text, re.MULTILINE)
        for name in names.split(", ")
    }
    inside = [field for field in build_schema(table) if field.name not in PARTITIONED_BY]
    assert {field.name: _format_type(field.type) for field in inside} == promised
    assert f"`wireanalyze.tables`: {VERSION}" in PAGE


def test_bodies_may_be_left_out() -> None:
    assert set(build_schema("messages").names) - set(build_schema("messages", fields=False).names) == {"fields"}
    assert all(column.meaning for columns in EVERY_TABLE.values() for column in columns)
