"""Captures for Apache Spark: `spark.read.format("wireanalyze")`, after `register(spark)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wireanalyze.errors import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Makes the format `wireanalyze` known to a Spark session, also to one of Spark Connect.

        wireanalyze.spark.register(spark)
        spark.read.format("wireanalyze").option("table", "exchanges").load("captures/").show()

    Workers need this package, too. Filters of the session are offered to Python data sources from then on. Raises
    MissingExtra.
    """
    require_extra("pipeline", "Spark")
    from analyzer.pipeline.data_source import CaptureSource

    spark.conf.set(PUSHDOWN, "true")
    spark.dataSource.register(CaptureSource)
