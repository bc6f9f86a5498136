"""The columns are those that docs/reference/tables.md promises."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.pipeline.table_schemas import EVERY_TABLE, PARTITIONED_BY, VERSION, build_ddl, build_schema
from tests.analyzer.pipeline.house import ROOT

PAGE = (ROOT / "docs" / "reference" / "tables.md").read_text()


@pytest.mark.parametrize("table", EVERY_TABLE)
def test_the_columns_are_written_down(table: str) -> None:
    (text,) = re.findall(rf"\| `{table}` \| type \|.*?\n\n", PAGE, re.DOTALL)
    promised = {
        name: kind.strip()
        for names, kind in re.findall(r"^\| ([a-z_, ]+) \| ([A-Z][^|]+)\|", text, re.MULTILINE)
        for name in names.split(", ")
    }
    columns = re.findall(r"`(\w+)` ((?:[^,<]|<.*?>+)+)", build_ddl(table))
    assert {name: kind for name, kind in columns if name not in PARTITIONED_BY} == promised
    assert f"`wireanalyze.tables`: {VERSION}" in PAGE


def test_bodies_may_be_left_out() -> None:
    assert set(build_schema("messages").names) - set(build_schema("messages", fields=False).names) == {"fields"}
    assert all(column.meaning for columns in EVERY_TABLE.values() for column in columns)
