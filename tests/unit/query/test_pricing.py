"""The noise that a price chooses, its variance, and what an owner could declare."""

from dataclasses import replace
from fractions import Fraction

import pytest
from ward import CATALOG, asked, field, ward

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.sensitivity import Norm
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.grid_quantiles import GridQuantile, TreeQuantile
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.optimal_keys import TruncatedGeometricKeys
from tacit.mechanisms.threshold_keys import GaussianKeys, LaplaceKeys
from tacit.plan.bounding import bound
from tacit.plan.expression import Expression, Period, Span
from tacit.plan.plan import CountRows, Mean, Quantile
from tacit.query.pricing import advice_on, losses, price, to_declare, variance

F = Fraction
DAYS = Period(Span.DAYS, field("day"))
MONTHS = Period(Span.MONTHS, field("seen"))
DELTA = F(1, 10**6)


@pytest.mark.parametrize(
    ("loss", "groups", "kind", "norm"),
    [
        (Loss.approximate(1, "1e-6"), 1, Laplace, Norm.L1),
        (Loss.approximate(1, "1e-6"), 100, Gaussian, Norm.L2),
        (Loss.approximate(1, 0), 100, Laplace, Norm.L1),
        (Loss.pure(1), 100, Laplace, Norm.L1),
        (Loss.zcdp("0.1"), 1, Gaussian, Norm.L2),
    ],
)
def test_the_noise_with_the_least_error_is_chosen(
    loss: Loss, groups: int, kind: type[Mechanism], norm: Norm
) -> None:
    catalog = ward(visits=Limits(groups, 1))
    (tally,) = price(asked(CountRows(), by=(DAYS,)), catalog, loss).tallies
    assert isinstance(tally.mechanism, kind)
    assert tally.sensitivity.norm is norm


def test_public_groups_share_the_delta_and_secret_ones_give_it_to_their_selection() -> None:
    loss = Loss.approximate(1, "1e-6")
    public = losses(bound(asked(CountRows(), Mean(field("cost"))), CATALOG), loss)
    assert [part.delta for part in public] == [DELTA / 3] * 3
    assert [part.amount for part in public] == [F(1, 2), F(3, 10), F(1, 5)]
    secret = bound(asked(CountRows(), Mean(field("cost")), by=(field("note"),)), CATALOG)
    parts = losses(secret, loss)
    assert [part.delta for part in parts] == [DELTA, 0, 0, 0]
    assert [part.amount for part in parts] == [F(1, 3), F(1, 3), F(1, 5), F(2, 15)]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ((field("note"),), "declare the keys of 'visits.note'"),
        ((MONTHS,), "declare the bounds of 'visits.seen'"),
        (
            (MONTHS, field("note"), field("ward")),
            "declare the bounds of 'visits.seen' and the keys of 'visits.note'",
        ),
        ((DAYS, field("ward")), ""),
    ],
)
def test_groups_are_public_once_their_keys_or_bounds_are_declared(
    by: tuple[Expression, ...], said: str
) -> None:
    assert to_declare(bound(asked(CountRows(), by=by), CATALOG).plan) == said


def test_the_advice_on_days_without_bounds_names_their_bounds() -> None:
    quote = price(asked(CountRows(), by=(MONTHS,)), CATALOG, Loss.zcdp("0.1", DELTA))
    (advice,) = advice_on(quote)
    assert advice.change == "declare the bounds of 'visits.seen'"
    # a selection takes half of the loss, and noise shrinks with the root of its part
    assert str(advice) == "declare the bounds of 'visits.seen': noise 29% smaller"


@pytest.mark.parametrize(
    ("mechanism", "square"),
    [
        (Gaussian(F(7)), 7),
        (GaussianKeys(F(20), DELTA, 3), 20),
        (TreeQuantile(F(5), 2, 4), 5),
        (Laplace(F(10)), 200),
        (LaplaceKeys(F(1, 2), DELTA, max_keys=3), 72),
        (TruncatedGeometricKeys(F(1, 2), DELTA, max_keys=3), 72),
    ],
)
def test_a_released_number_has_the_variance_of_its_noise(
    mechanism: Mechanism, square: int
) -> None:
    assert variance(mechanism) == square


def test_a_quantile_has_the_variance_of_its_rank() -> None:
    (tally,) = price(asked(Quantile(field("stay"), F(1, 2))), CATALOG, Loss.zcdp("0.1")).tallies
    assert isinstance(tally.mechanism, GridQuantile)
    assert variance(replace(tally.mechanism, rate=F(1, 3))) == 18
