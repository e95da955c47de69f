"""Cheaper ways to ask the same: worked out from public facts, before anything is charged."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit.core.loss import Loss
from tacit.errors import InternalError
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.gaussian_keys import GaussianKeys
from tacit.mechanisms.grid_quantile import GridQuantile
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.laplace_keys import LaplaceKeys
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.tree_quantile import TreeQuantile
from tacit.mechanisms.truncated_geometric_keys import TruncatedGeometricKeys
from tacit.numeric.exact import sqrt_bounds
from tacit.query.price import noise_for, to_declare
from tacit.query.quote import Quote
from tacit.query.share import shares


@dataclass(frozen=True, slots=True)
class Advice:
    """What to change, and by which part the noise would be smaller at the same loss.

    Example:
        >>> print(Advice("declare the keys of 'doctor'", Fraction(38, 100)))
        declare the keys of 'doctor': noise 38% smaller
    """

    change: str
    smaller: Fraction

    def __str__(self) -> str:
        percent = (100 * self.smaller).__floor__()
        return f"{self.change}: noise {percent}% smaller" if percent > 0 else self.change


def advice_on(quote: Quote) -> tuple[Advice, ...]:
    """What would answer the question of ``quote`` with less noise.

    Guarantee: a function of the quote, which is public; no data is read.
    """
    return tuple(_declared_keys(quote))


def _declared_keys(quote: Quote) -> Iterator[Advice]:
    """With public keys nothing is spent on selecting groups, and none is left out."""
    plan, change = quote.bound.plan, to_declare(quote.bound.plan)
    if not change:
        return
    smaller, parts, loss = [Fraction(0)], shares(quote.bound), quote.loss
    delta = loss.delta / sum(part > 0 for part in parts)
    for place, part in enumerate(parts):
        if part:
            whole = Loss(loss.measure, loss.amount * part, delta)
            neighbours = quote.population.unit.neighbours
            declared = noise_for(plan, plan.tallies[place], whole, neighbours)
            now = quote.tallies[place].mechanism
            smaller.append(1 - sqrt_bounds(variance(declared.mechanism) / variance(now))[1])
    yield Advice(change, max(smaller))


def variance(mechanism: Mechanism) -> Fraction:
    """Of the noise of one released number, or just above it."""
    match mechanism:
        case Gaussian(square) | GaussianKeys(square, _, _) | TreeQuantile(square, _, _):
            return square
        case Laplace(scale):
            return 2 * scale**2
        case GridQuantile(_, rate):
            return 2 / rate**2  # in ranks, far from the ends of a table
        case LaplaceKeys(epsilon, _, max_keys) | TruncatedGeometricKeys(epsilon, _, max_keys):
            return 2 * (max_keys / epsilon) ** 2
    raise InternalError(f"The noise of {type(mechanism).__name__} has no variance here.")
