"""Accountants for batches that are fixed in advance, group privacy, and a privacy filter.

A batch whose events are all fixed before the first answer can be bounded more tightly than
adaptive spending. The module has Rényi bounds, the bound for many exponential mechanisms, and
privacy loss distributions; `report` returns the smallest epsilon of basic, zCDP and Rényi
accounting. `group_event` and `group_loss` bound the loss of several units together.
`PrivacyFilter` is for adaptive spending, where each question may depend on earlier answers.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, singledispatch
from math import comb, exp, inf

from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting import cost_of, epsilon_of_rho, leaves
from tacit.core import Loss, Measure
from tacit.core import event as events
from tacit.errors import BudgetExceeded, InvalidValue
from tacit.local import Oracle
from tacit.noise import Integers
from tacit.numeric import ceil_to, exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy

# ------------------------------------------------------------------ Rényi accounting

UNIT = Fraction(1, 10**15)
"""The unit to which irrational bounds are rounded up."""

LARGEST_EXPONENT = 500
"""The product of order and epsilon beyond which the pure bound is used.

The exact bound is close to the pure bound there.
"""


def renyi_of(event: events.Event, order: Fraction) -> Fraction:
    """Return an upper bound on the Rényi divergence of an ``order`` above 1.

    A pure event is bounded by randomised response with its epsilon, and a zCDP event by
    order * rho.

    Reference: Mironov 2017, propositions 1 (composition) and 3 (conversion).

    Example:
        >>> from tacit.core.event import GaussianNoise
        >>> renyi_of(GaussianNoise(Fraction(1), Fraction(16)), Fraction(8))
        Fraction(1, 4)
    """
    if order <= 1:
        raise InvalidValue(f"A Rényi order must be above 1, but {order} was given.")
    return sum((_of_leaf(leaf, order) * times for leaf, times in leaves(event)), Fraction(0))


@lru_cache(maxsize=4096)
def _of_leaf(leaf: events.Event, order: Fraction) -> Fraction:
    """Return the Rényi bound of one simple event; cached, because many orders are tried."""
    cost = cost_of(leaf)
    if cost.delta:
        raise InvalidValue(
            f"{type(leaf).__name__} has a delta, so it has no Rényi loss. Use zCDP."
        )
    bound = order * cost.rho
    if cost.epsilon is not None and not isinstance(leaf, events.ExponentialSelection):
        # rounded up, so that the fractions stay short in sums of many leaves
        bound = min(bound, ceil_to(_randomised_response(cost.epsilon, order), UNIT))
    return bound


def _randomised_response(epsilon: Fraction, order: Fraction) -> Fraction:
    """Return the Rényi divergence of randomised response, rounded up, at most ``epsilon``.

    It is log(p**a * q**(1 - a) + q**a * p**(1 - a)) / (a - 1), with p / q = exp(epsilon) and
    p + q = 1.
    """
    if epsilon == 0 or order * epsilon > LARGEST_EXPONENT:
        return epsilon
    truth, lie = 1 / (1 + exp_bounds(-epsilon)[0]), 1 / (1 + exp_bounds(epsilon)[0])
    power = (order - 1) * epsilon
    total = truth * exp_bounds(power)[1] + lie * exp_bounds(-power)[1]
    return min(epsilon, log_bounds(total)[1] / (order - 1))


ORDERS = [1 + Fraction(round(1024 * 2 ** (quarter / 4)), 1024) for quarter in range(-12, 44)]
"""The Rényi orders over which `report` minimises."""


@dataclass(frozen=True, slots=True)
class BatchLoss:
    """An epsilon at a delta, and the name of the accountant that computed it."""

    epsilon: Fraction
    delta: Fraction
    by: str


def report(event: events.Event, delta: Fraction) -> BatchLoss:
    """Return the smallest epsilon of all accountants for ``event`` at ``delta``.

    Guarantee: valid if the whole event was fixed before any answer was seen. The result is
    information about a batch and must not be used as a filter: an analyst who chooses each
    question after the last answer can exceed a cap that is checked in this way.

    Example:
        >>> from tacit.core.event import Repeated
        >>> from tacit.core.event import LaplaceNoise
        >>> weekly = Repeated(LaplaceNoise(Fraction(1), Fraction(10)), 52)
        >>> best = report(weekly, Fraction(1, 10**6))
        >>> round(float(best.epsilon), 2), best.by
        (3.44, 'Rényi')
    """
    costs = [(cost_of(leaf), times) for leaf, times in leaves(event)]
    lost = sum((cost.delta * times for cost, times in costs), Fraction(0))
    if delta < lost:
        raise InvalidValue(
            f"The batch has a delta of {float(lost):.3g} by itself; give a larger delta."
        )
    found = []
    epsilons = [cost.epsilon * times for cost, times in costs if cost.epsilon is not None]
    if len(epsilons) == len(costs):
        found.append(BatchLoss(sum(epsilons, Fraction(0)), lost, "basic"))
    if delta > lost:
        rho = sum((cost.rho * times for cost, times in costs), Fraction(0))
        found.append(BatchLoss(epsilon_of_rho(rho, delta - lost), delta, "zCDP"))
        if not lost:
            best = min(renyi_of(event, order) + _conversion(order, delta) for order in ORDERS)
            found.append(BatchLoss(max(best, Fraction(0)), delta, "Rényi"))
    if not found:
        raise InvalidValue(
            "The batch has no pure loss; ask for its epsilon at a delta above 0."
        )
    return min(found, key=lambda entry: entry.epsilon)


@lru_cache(maxsize=1024)
def _conversion(order: Fraction, delta: Fraction) -> Fraction:
    """Return the term that converts a Rényi loss to an epsilon at ``delta``, rounded up.

    Reference: Canonne, Kamath, Steinke 2020, proposition 12.
    """
    inner = log_bounds(1 / delta)[1] - log_bounds(order)[0]
    return ceil_to(log_bounds(1 - 1 / order)[1] + inner / (order - 1), UNIT)


# ------------------------------------------------------------------ bounded range
# Many selections by the exponential mechanism, all fixed in advance. Each has bounded range,
# which gives a tighter bound than any filter.

STEPS = 2000
"""Number of values of t that the search for the worst case tries; the curve is smooth in t."""


def selections_delta(epsilon: float, times: int, total: float) -> float:
    """Return the delta at epsilon ``total`` of ``times`` selections, all fixed in advance.

    The worst case of a selection is a pair of outcomes with losses t and t - epsilon, with the
    same t for all selections; the function searches for the worst t. An analyst who chooses the
    next selection after an answer can cause a larger loss, so a budget must use
    rho = epsilon**2 / 8 instead.
    Reference: Dong, Durfee, Rogers 2020, theorem 3.

    Example:
        >>> selections_delta(0.1, 52, 1.5673) < 1e-6 * 1.01
        True
    """
    return max(_at(epsilon, times, total, epsilon * step / STEPS) for step in range(1, STEPS))


def selections_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return the smallest total epsilon of ``times`` selections, all fixed in advance.

    Example:
        >>> round(selections_epsilon(0.1, 52, 1e-6), 2)
        1.57
    """
    low, high = 0.0, epsilon * times
    for _ in range(40):
        middle = (low + high) / 2
        if selections_delta(epsilon, times, middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _at(epsilon: float, times: int, total: float, top: float) -> float:
    """Return the delta if each selection has losses ``top`` and ``top - epsilon``."""
    right = (1 - exp(top - epsilon)) / (exp(top) - exp(top - epsilon))
    left = right * exp(top)
    found = 0.0
    for hits in range(times, -1, -1):
        loss = hits * top + (times - hits) * (top - epsilon)
        if loss <= total:
            break
        chance = comb(times, hits) * left**hits * (1 - left) ** (times - hits)
        found += chance * (1 - exp(total - loss))
    return found if found < inf else 1.0


# ------------------------------------------------------------------ group privacy
# The loss of several people together. The lectures state that it is (k * epsilon, k * delta)
# for k people. That is false for a delta above 0: ``docs/privacy/errata.md`` has a
# counterexample. `group_event` uses knowledge about the mechanism, and is tighter than
# `group_loss`.


@singledispatch
def group_event(event: events.Event, size: int) -> events.Event:
    """Return the event for a group of ``size`` units, whose sensitivity is larger.

    Example:
        >>> group_event(events.GaussianNoise(Fraction(1), Fraction(9)), 5)
        GaussianNoise(sensitivity_square=Fraction(25, 1), variance=Fraction(9, 1))
    """
    raise InvalidValue(
        f"There is no group event of {type(event).__name__} for a group of {size}; use "
        "group_loss of the loss of one unit."
    )


@group_event.register
def _(event: events.Nothing, size: int) -> events.Event:
    del size
    return event


@group_event.register
def _(event: events.Composed, size: int) -> events.Event:
    return events.Composed(tuple(group_event(part, size) for part in event.events))


@group_event.register
def _(event: events.Repeated, size: int) -> events.Event:
    return events.Repeated(group_event(event.event, size), event.times)


@group_event.register(events.LaplaceNoise)
@group_event.register(events.CubeNoise)
def _(event: events.LaplaceNoise | events.CubeNoise, size: int) -> events.Event:
    return replace(event, sensitivity=event.sensitivity * size)


@group_event.register(events.GaussianNoise)
@group_event.register(events.RealGaussianNoise)
@group_event.register(events.BallNoise)
def _(
    event: events.GaussianNoise | events.RealGaussianNoise | events.BallNoise, size: int
) -> events.Event:
    return replace(event, sensitivity_square=event.sensitivity_square * size**2)


@group_event.register(events.ExponentialSelection)
@group_event.register(events.PermuteAndFlipSelection)
def _(
    event: events.ExponentialSelection | events.PermuteAndFlipSelection, size: int
) -> events.Event:
    return replace(event, epsilon=event.epsilon * size)


def group_loss(loss: Loss, size: int) -> Loss:
    """Return the loss of a group of ``size`` units if ``loss`` is the loss of one unit.

    Guarantee: delta grows by the factor (exp(k * epsilon) - 1) / (exp(epsilon) - 1), not by k.
    Reference: Vadhan 2017, lemma 2.2; Bun, Steinke 2016, proposition 1.9 for rho * k**2.

    Example:
        >>> print(group_loss(Loss.pure("0.1"), 5), group_loss(Loss.zcdp("0.1"), 5), sep="; ")
        ε = 0.5; ρ = 2.5
    """
    if size < 1:
        raise InvalidValue(f"A group must have at least 1 member, but {size} were given.")
    match loss.measure:
        case Measure.PURE:
            return loss * size
        case Measure.ZCDP if not loss.delta:
            return Loss(loss.measure, loss.amount * size**2)
        case Measure.APPROXIMATE:
            return Loss(
                loss.measure, loss.amount * size, loss.delta * _delta_factor(loss, size)
            )
    raise InvalidValue(
        "The loss of a group is not known for rho with a delta; convert it to epsilon first."
    )


def _delta_factor(loss: Loss, size: int) -> Fraction:
    """Return 1 + exp(epsilon) + ... + exp((size - 1) * epsilon), rounded up."""
    return sum((exp_bounds(loss.amount * step)[1] for step in range(1, size)), Fraction(1))


# ------------------------------------------------------------------ privacy loss distributions
# By the library `dp-accounting`, for batches fixed in advance. The composition is done here:
# each leaf becomes one distribution, which is then composed as often as the leaf is repeated,
# because two of the library's own accountants ignore repetition counts.

INTERVAL = 1e-4
"""The grid step to which losses are rounded up."""


def epsilon_by_pld(event: events.Event, delta: float, *, one_number: bool = False) -> float:
    """Return an epsilon at ``delta`` for a batch that was fixed before any answer was seen.

    With ``one_number``, every noisy leaf must release a single integer, and the exact curve of
    its noise is used. For vectors, only the pure loss is known from their sensitivity.

    Guarantee: pessimistic up to float rounding; no claim about adaptive spending.
    Reference: Koskela, Jälkö, Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.core.event import Repeated
        >>> weekly = Repeated(events.LaplaceNoise(Fraction(100), Fraction(1000)), 52)
        >>> round(epsilon_by_pld(weekly, 1e-6), 2)
        3.24
        >>> round(epsilon_by_pld(weekly, 1e-6, one_number=True), 2)
        3.19
    """
    total = pld.identity(value_discretization_interval=INTERVAL)
    for leaf, times in leaves(event):
        total = total.compose(_distribution(leaf, one_number=one_number).self_compose(times))
    epsilon = float(total.get_epsilon_for_delta(delta))
    if epsilon == inf:
        raise InvalidValue(
            f"The batch has no finite epsilon at delta {delta}; use a larger delta."
        )
    return epsilon


def _distribution(leaf: events.Event, *, one_number: bool) -> pld.PrivacyLossDistribution:
    match leaf:
        case events.LaplaceNoise(sensitivity, scale) if (
            one_number and sensitivity.denominator == 1
        ):
            return pld.from_discrete_laplace_mechanism(
                float(1 / scale), int(sensitivity), value_discretization_interval=INTERVAL
            )
        case events.GaussianNoise(square, variance) if one_number:
            return pld.from_discrete_gaussian_mechanism(
                float(variance) ** 0.5,
                int(float(square) ** 0.5),
                value_discretization_interval=INTERVAL,
            )
        case events.RandomisedResponseEvent(truth, choices):
            other = float((1 - truth) * choices / (choices - 1))
            return pld.from_randomized_response(
                other, choices, value_discretization_interval=INTERVAL
            )
    cost = cost_of(leaf)
    if cost.epsilon is None:
        raise InvalidValue(
            f"The loss distribution of {type(leaf).__name__} on several numbers is not "
            "supported; use zCDP, in which its rho adds up."
        )
    bound = common.DifferentialPrivacyParameters(float(cost.epsilon), float(cost.delta))
    return pld.from_privacy_parameters(bound, value_discretization_interval=INTERVAL)


# ------------------------------------------------------------------ adaptive spending


@dataclass(frozen=True, slots=True)
class PrivacyFilter:
    """A privacy filter: a cap under one measure, fixed in advance, and the loss spent so far.

    Guarantee: all admitted losses together satisfy the cap, even if each is chosen after the
    answers so far, and whenever the analyst stops. This holds because losses are added in one
    measure. The minimum over several accountants would not have this guarantee.
    Reference: Rogers, Roth, Ullman, Vadhan 2016 (filters); Feldman, Zrnic 2021, theorem 3.3
    (Rényi filters at a fixed order); Whitehouse, Ramdas, Rogers, Wu 2023 (zCDP with delta).

    Example:
        >>> week = PrivacyFilter(Loss.pure(1)).admit(Loss.pure("0.4")).admit(Loss.pure("0.6"))
        >>> week.admits(Loss.pure("0.000000000001"))
        False
    """

    cap: Loss
    spent: Loss

    def __init__(self, cap: Loss, spent: Loss | None = None) -> None:
        object.__setattr__(self, "cap", cap)
        object.__setattr__(self, "spent", spent or Loss(cap.measure, cap.amount * 0))

    def admits(self, loss: Loss) -> bool:
        """Return whether ``loss`` still fits under the cap."""
        return self.spent + loss <= self.cap

    def admit(self, loss: Loss) -> "PrivacyFilter":
        """Return the filter after spending ``loss``; raise if it exceeds the cap."""
        if not self.admits(loss):
            raise BudgetExceeded(
                f"{loss} exceeds the cap: {self.spent} of {self.cap} is spent. "
                "Use a smaller loss, or ask the owner to raise the cap."
            )
        return replace(self, spent=self.spent + loss)


# ------------------------------------------------------------------ memoised responses
# In the local model, surveys that are repeated cost as much as one if reports are kept.


class Memory:
    """A respondent's device that sends its first report again in every later survey wave.

    Guarantee: all waves together have the privacy loss of the first one, since later reports
    are copies of it. The answer itself is not stored, and later answers are ignored: a new
    report for a changed answer would reveal that it changed, and no ratio would bound this.

    Example:
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from tacit.local.frequency_oracles import KAry
        >>> from tacit.numeric.entropy import SystemEntropy
        >>> mine = Memory(KAry(choices=5, ratio=Fraction(2)), SystemEntropy(b"my machine"))
        >>> first = mine.report(np.array([3]))
        >>> bool((mine.report(np.array([4])) == first).all())
        True
    """

    def __init__(self, oracle: Oracle, entropy: Entropy) -> None:
        self._oracle = oracle
        self._entropy = entropy
        self._first_report: Integers | None = None

    def report(self, answer: Integers) -> Integers:
        """Return the report of the first answer; later answers are ignored."""
        if self._first_report is None:
            self._first_report = self._oracle.randomise(answer, self._entropy)
        return self._first_report
