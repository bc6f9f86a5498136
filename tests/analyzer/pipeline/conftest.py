"""One Spark session and one folder of captures for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.analyzer.pipeline.house import Rows


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")
    from analyzer.errors import UserError
    from analyzer.pipeline.java_gateway import find_java
    from analyzer.pipeline.spark_sessions import open_session

    try:
        find_java()
    except UserError as error:
        pytest.skip(str(error))
    # A query of a test has few rows: two hundred tasks for each exchange cost more than all else.
    conf = {"spark.executorEnv.PYTHONWARNINGS": "ignore", "spark.sql.shuffle.partitions": "2"}
    with open_session("local[2]", conf) as session:
        yield session


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.analyzer.pipeline.house import build

    folder = tmp_path_factory.mktemp("captures") / "house"
    build(folder)
    return folder


@pytest.fixture(scope="session")
def expected(house: Path) -> Rows:
    from tests.analyzer.pipeline.house import single

    return single(house)
