"""The tables hang together: what an operation names is there, and every record has a plan in each of its versions."""

from __future__ import annotations

import pytest

from dissectors.zookeeper.schemas import ZooKeeperOperation, operations, plan_of, record
from dissectors.zookeeper.tables import table

UNIONS = ("Multi", "MultiResponse")
"""No records: runs of items, each with a record of its own (schemas.py)."""


@pytest.mark.parametrize("operation", operations().values(), ids=lambda each: each.name)
def test_the_records_of_an_operation_exist(operation: ZooKeeperOperation) -> None:
    named = {operation.request, operation.response, *operation.txn} - {None, *UNIONS}
    for name in filter(None, named):
        assert record(name).fields, f"{operation.name} names {name}"


@pytest.mark.parametrize("name", table("records")["records"])
def test_a_record_has_plans(name: str) -> None:
    versions = record(name).versions
    for version in range(versions.low, versions.high + 1):
        assert plan_of(name, version)
