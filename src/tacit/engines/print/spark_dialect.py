"""Spark's words, but for sums: those of 64 bits fail where a person has enough rows."""

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator


class WideSumGenerator(SparkGenerator):
    """Prints what Spark's own does, and sums of 38 digits, which no number of rows fills."""

    TRANSFORMS = SparkGenerator.TRANSFORMS | {
        exp.Sum: lambda self, node: self.func("SUM", exp.cast(node.this, "DECIMAL(38, 0)"))
    }


class TacitSpark(Spark):
    """Spark with wide sums.

    Example:
        >>> exp.Sum(this=exp.column("v0")).sql(dialect=DIALECT)
        'SUM(CAST(v0 AS DECIMAL(38, 0)))'
    """

    Generator = WideSumGenerator


DIALECT = "tacitspark"
"""The name that sqlglot knows it by: that of its class."""
