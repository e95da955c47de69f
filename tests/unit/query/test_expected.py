import pytest
from clinic import catalog

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.errors import InvalidValue
from tacit.query.intervals import SIZES, Expected, expected_errors
from tacit.query.pricing import price
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 1))


def of(sql: str, loss: Loss | None = None) -> Expected:
    text = f"SELECT {sql} FROM visits"  # noqa: S608
    (found,) = expected_errors(price(parse(text, CLINIC), CLINIC, loss or Loss.zcdp("0.5")))
    return found


def test_counts_and_sums_have_one_error_that_is_exact() -> None:
    count, total = of("COUNT(*)"), of("SUM(age)")
    assert count.always == 2  # P(|noise| <= 2) >= 95% at a variance of 1
    assert count.by_size == ()
    assert total.always is not None
    assert 120 * 1.9 < total.always < 120 * 2.1


@pytest.mark.parametrize("loss", [Loss.zcdp("0.5"), Loss.pure(1)])
@pytest.mark.parametrize(
    "sql",
    ["AVG(age)", "VARIANCE(age)", "STDDEV_POP(pay)", "MEDIAN(pay)", "MIN(age)", "MAX(age)"],
)
def test_greater_groups_have_smaller_errors(sql: str, loss: Loss) -> None:
    found = of(sql, loss)
    assert found.always is None
    assert [size for size, _ in found.by_size] == list(SIZES)
    errors = [error for _, error in found.by_size]
    assert errors == sorted(errors, reverse=True)
    assert 0 < errors[-1] < errors[0] / 2


def test_more_loss_has_smaller_errors() -> None:
    for sql in ("COUNT(*)", "AVG(age)", "VARIANCE(age)", "MEDIAN(pay)"):
        dear, cheap = of(sql, Loss.zcdp(1)), of(sql, Loss.zcdp("0.01"))
        if dear.always is not None and cheap.always is not None:
            assert dear.always < cheap.always
        for (_, less), (_, more) in zip(dear.by_size, cheap.by_size, strict=True):
            assert less <= more


def test_an_assumed_size_is_told_for() -> None:
    quote = price(parse("SELECT AVG(age) FROM visits", CLINIC), CLINIC, Loss.zcdp(1))
    (found,) = expected_errors(quote, assume_size=[50])
    assert [size for size, _ in found.by_size] == [50]
    with pytest.raises(InvalidValue, match="1 to 1000000000000 rows; 0 was given"):
        expected_errors(quote, assume_size=[0])
