from fractions import Fraction

import numpy as np
from clinic import catalog

from tacit.accounting.pricing import loss_of
from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.plan.bounding import bound
from tacit.query.pricing import MEAN_SHARE, SQUARES_SHARE, TOTAL_SHARE, price, shares
from tacit.sql.parser import parse

CLINIC = catalog(Limits(1, 1))


def found(sql: str) -> list[Fraction]:
    text = f"SELECT {sql} FROM visits"  # noqa: S608
    return shares(bound(parse(text, CLINIC), CLINIC))


def test_equal_parts_for_what_was_asked() -> None:
    assert found("COUNT(*), SUM(age)") == [Fraction(1, 2), Fraction(1, 2)]
    assert found("MEDIAN(age), COUNT(*)") == [Fraction(1, 2), Fraction(1, 2)]


def test_what_shares_a_tally_adds_to_it() -> None:
    assert found("MIN(age), MAX(age)") == [1]
    assert found("MEDIAN(age), QUANTILE(age, 0.9)") == [Fraction(1, 2), Fraction(1, 2)]
    both = found("AVG(age), VARIANCE(age)")
    assert len(both) == 3
    assert sum(both) == 1
    assert sorted(both) == [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]


def test_a_mean_pays_for_its_sum_and_its_count() -> None:
    for loss in (Loss.zcdp("0.1"), Loss.pure(1), Loss.approximate(1, "1e-6")):
        event = price(parse("SELECT AVG(age) FROM visits", CLINIC), CLINIC, loss).event
        assert len(event.events) == 2
        assert loss_of(event, loss.measure, loss.delta / 2) <= loss
    assert found("AVG(age)") == [TOTAL_SHARE, 1 - TOTAL_SHARE]


def test_no_other_shares_make_a_mean_or_a_variance_much_better() -> None:
    """By how much each total moves the answer, so far off the centre as is said there."""
    for moves, chosen in (
        ((1, 2 / 3), (TOTAL_SHARE, 1 - TOTAL_SHARE)),
        ((1 / 2, 1 / 2, 7 / 24), (SQUARES_SHARE, MEAN_SHARE, 1 - SQUARES_SHARE - MEAN_SHARE)),
    ):
        own = sum(move**2 / float(share) for move, share in zip(moves, chosen, strict=True))
        tried = np.random.default_rng(1).dirichlet(np.ones(len(moves)), 20_000)
        best = (np.array(moves) ** 2 / tried).sum(axis=1).min()
        assert own <= 1.02 * best
