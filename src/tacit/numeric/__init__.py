"""Exact numbers: fractions, directed rounding, fixed-point grids, probability bounds.

`tacit.numeric.entropy` is the only source of randomness. An import contract names the
packages that may use it.
"""

from tacit.numeric.binomial_interval import (
    greatest_probability,
    least_probability,
    regularised_beta,
    student_quantile,
)
from tacit.numeric.exact_numbers import (
    LONGEST_TEXT,
    Interval,
    Number,
    ceil_to,
    exact,
    exp_bounds,
    floor_to,
    log_bounds,
    plain,
    sqrt_bounds,
)
from tacit.numeric.grid import Grid

__all__ = [
    "LONGEST_TEXT",
    "Grid",
    "Interval",
    "Number",
    "ceil_to",
    "exact",
    "exp_bounds",
    "floor_to",
    "greatest_probability",
    "least_probability",
    "log_bounds",
    "plain",
    "regularised_beta",
    "sqrt_bounds",
    "student_quantile",
]
