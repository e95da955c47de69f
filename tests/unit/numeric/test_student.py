"""Quantiles of Student's t, compared with tables."""

import pytest

from tacit.errors import InvalidValue
from tacit.numeric.binomial_interval import student_quantile

TABLE = {
    (0.95, 1): 12.7062,
    (0.95, 2): 4.3027,
    (0.95, 10): 2.2281,
    (0.95, 29): 2.0452,
    (0.99, 29): 2.7564,
    (0.9, 5): 2.0150,
    (0.95, 1_000_000): 1.96,
}


@pytest.mark.parametrize(("confidence", "degrees"), TABLE)
def test_a_quantile_is_that_of_the_table(confidence: float, degrees: int) -> None:
    wanted = TABLE[confidence, degrees]
    assert student_quantile(confidence, degrees) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(("confidence", "degrees"), [(0.0, 5), (1.0, 5), (0.5, 0)])
def test_what_has_no_quantile_is_refused(confidence: float, degrees: int) -> None:
    with pytest.raises(InvalidValue, match="confidence between 0 and 1"):
        student_quantile(confidence, degrees)
