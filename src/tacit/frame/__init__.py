"""Data frames: questions as method calls, which build the same plans as SQL."""

from tacit.frame.expression import (
    Expr,
    case,
    col,
    count,
    count_distinct,
    count_units,
    greatest,
    least,
    median,
    quantile,
    total,
)
from tacit.frame.table import FrameQuery, Table

__all__ = [
    "Expr",
    "FrameQuery",
    "Table",
    "case",
    "col",
    "count",
    "count_distinct",
    "count_units",
    "greatest",
    "least",
    "median",
    "quantile",
    "total",
]
