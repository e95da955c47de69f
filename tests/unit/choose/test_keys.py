from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting.pricing import delta_at, loss_of
from tacit.choose.keys import HALF, choose_keys, price_delta
from tacit.core.loss import Loss, Measure
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.optimal_keys import OptimalKeys, TruncatedGeometricKeys
from tacit.mechanisms.threshold_keys import GaussianKeys, LaplaceKeys

Keys = OptimalKeys | TruncatedGeometricKeys | LaplaceKeys | GaussianKeys

MILLIONTH = Fraction(1, 10**6)


def once(counts: int) -> Sensitivity:
    """Of counting a unit once in each of so many groups."""
    return Sensitivity(Fraction(counts), Norm.L2, Rule("a unit counts once in a group"))


@pytest.mark.parametrize(
    ("loss", "counts", "counted", "kind", "half"),
    [
        (Loss.approximate(1, MILLIONTH), 1, False, OptimalKeys, 14),
        (Loss.approximate(1, MILLIONTH), 1, True, TruncatedGeometricKeys, 15),
        (Loss.approximate("0.1", MILLIONTH), 1, False, OptimalKeys, 109),
        (Loss.approximate(1, MILLIONTH), 100, False, GaussianKeys, None),
        (Loss.zcdp("0.1", MILLIONTH), 1, False, GaussianKeys, 13),
        (Loss.zcdp("0.1", MILLIONTH), 1, True, GaussianKeys, 13),
        (Loss.zcdp("0.1", "0.02"), 1, False, OptimalKeys, 7),
    ],
)
def test_the_law_that_the_smallest_groups_survive_is_taken(
    loss: Loss,
    counts: int,
    counted: bool,  # noqa: FBT001
    kind: type[Keys],
    half: int | None,
) -> None:
    best = choose_keys(once(counts), loss, counted=counted)
    assert isinstance(best.mechanism, kind)
    assert half is None or best.error == half


LOSSES = st.one_of(
    st.builds(
        Loss.zcdp,
        st.fractions(Fraction(1, 1000), 20),
        st.sampled_from([Fraction(1, 10**12), MILLIONTH, Fraction(1, 50), HALF]),
    ),
    st.builds(
        Loss.approximate,
        st.fractions(Fraction(1, 20), 10),
        st.sampled_from([Fraction(1, 10**12), MILLIONTH, Fraction(1, 50), HALF]),
    ),
)


@given(LOSSES, st.integers(1, 40), st.booleans())
def test_its_price_fits_and_no_other_law_keeps_smaller_groups(
    loss: Loss,
    counts: int,
    counted: bool,  # noqa: FBT001
) -> None:
    best = choose_keys(once(counts), loss, counted=counted)
    event = best.mechanism.event(once(counts))
    assert loss_of(event, loss.measure, price_delta(loss)) <= loss
    # all of the delta is used, and all but a trace of the amount
    spent = loss_of(event, loss.measure, price_delta(loss))
    assert spent.delta == loss.delta
    assert spent.amount > loss.amount * Fraction(999, 1000)
    amount = loss.amount
    if loss.measure is Measure.ZCDP:
        root = Fraction((2 * float(loss.amount) * counts) ** 0.5)
        amount = root * (1 - Fraction(1, 10**6))
    others = [TruncatedGeometricKeys(amount, loss.delta, counts).reach + 1]
    others.append(LaplaceKeys(amount, loss.delta, counts).threshold)
    if loss.measure is Measure.ZCDP:
        variance = counts / (2 * loss.amount)
        others.append(GaussianKeys(variance, loss.delta, counts).threshold)
    assert best.error <= min(others) + 1  # one more where a root was rounded


@given(
    st.fractions(Fraction(1, 200), 8),
    st.sampled_from([Fraction(1, 10**15), MILLIONTH, Fraction(1, 50), Fraction(2, 5)]),
)
def test_the_optimal_law_gains_one_unit_at_most_on_the_truncated_one(
    epsilon: Fraction, delta: Fraction
) -> None:
    # this is why it need not be tried where another law is one unit better
    optimal = OptimalKeys(epsilon, delta, max_keys=1)
    reach = TruncatedGeometricKeys(epsilon, delta, max_keys=1).reach
    assert optimal.probability(reach - 1) < HALF <= optimal.probability(reach + 1)


@lru_cache
def outputs(mechanism: Keys, units: int, reach: int = 40) -> dict[int, float]:
    """What one key of so many units releases, apart from the code that draws it."""
    match mechanism:
        case OptimalKeys():
            kept = float(mechanism.probability(units))
            return {0: 1 - kept, 1: kept}
        case GaussianKeys(variance, _, _):
            weight = {y: exp(-(y**2) / (2 * float(variance))) for y in range(-reach, reach + 1)}
            threshold = mechanism.threshold
        case TruncatedGeometricKeys(epsilon, _, max_keys):
            ends = range(-mechanism.reach, mechanism.reach + 1)
            weight = {y: exp(-abs(y) * float(epsilon / max_keys)) for y in ends}
            threshold = mechanism.reach + 1
        case LaplaceKeys(epsilon, _, max_keys):
            ends = range(-reach, reach + 1)
            weight = {y: exp(-abs(y) * float(epsilon / max_keys)) for y in ends}
            threshold = mechanism.threshold
    total, found = sum(weight.values()), {0: 0.0}
    for noise, part in weight.items():
        shown = units + noise if units >= 1 and units + noise >= threshold else 0
        found[shown] = found.get(shown, 0.0) + part / total
    return found


def stick(mechanism: Keys, before: list[int], after: list[int], epsilon: float) -> float:
    """The exact delta at an epsilon between two tables of two keys."""
    laws = []
    for units in (before, after):
        one, other = (outputs(mechanism, count) for count in units)
        laws.append({(a, b): one[a] * other[b] for a, b in product(one, other)})
    left, right = laws
    places = left.keys() | right.keys()
    gaps = [left.get(p, 0.0) - exp(epsilon) * right.get(p, 0.0) for p in places]
    return float(np.maximum(gaps, 0).sum())


TABLES = [
    ([n, m], [n - 1, m + 1]) for n, m in [(1, 0), (2, 0), (1, 1), (6, 5), (1, 9), (4, 12)]
]


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("loss", [Loss.approximate(1, "0.02"), Loss.zcdp("0.3", "0.02")])
def test_where_a_unit_is_replaced_it_moves_two_keys_and_both_are_paid_for(
    loss: Loss,
    counted: bool,  # noqa: FBT001
) -> None:
    both = choose_keys(once(2), loss, counted=counted).mechanism
    event = both.event(once(2))
    points = [0.0, 0.5, 1.0, 2.0]
    for (before, after), epsilon in product(TABLES, points):
        claimed = float(delta_at(event, Fraction(epsilon)))
        assert stick(both, before, after, epsilon) <= claimed * (1 + 1e-9)
        assert stick(both, after, before, epsilon) <= claimed * (1 + 1e-9)


def test_paid_for_one_key_a_replaced_unit_shows() -> None:
    loss = Loss.approximate(1, "0.02")
    one = choose_keys(once(1), loss).mechanism
    worst = max(
        stick(one, *pair, float(loss.amount))
        for before, after in TABLES
        for pair in ((before, after), (after, before))
    )
    assert worst > float(loss.delta) * 1.4


@pytest.mark.parametrize("loss", [Loss.pure(1), Loss.zcdp("0.1"), Loss.approximate(1, 0)])
def test_without_a_delta_no_key_can_be_released(loss: Loss) -> None:
    with pytest.raises(
        InvalidValue, match=r"needs a delta between 0 and 1.* or declare the keys"
    ):
        choose_keys(once(1), loss)


def test_a_loss_too_small_for_any_law_is_refused() -> None:
    with pytest.raises(InvalidValue, match="No selection of groups fits"):
        choose_keys(once(1), Loss.zcdp(Fraction(1, 10**20), MILLIONTH))
