"""How often an interval should hold, by other ways than the code under test goes."""

from math import sqrt

import numpy as np
from scipy.stats import norm

from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.mechanisms.additive_noise import Gaussian
from tacit.mechanisms.grid_quantiles import GridQuantile, reaches
from tacit.plan.tally import MeanReading, QuantileReading, TotalReading, VarianceReading
from tacit.query.quote import Quote

DRAWS = 100_000
CONFIDENCE = 0.95


def deviation(quote: Quote, place: int) -> float:
    mechanism = quote.tallies[place].mechanism
    assert isinstance(mechanism, Gaussian)
    return sqrt(mechanism.variance)


def bell(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """The discrete Gaussian, by its definition."""
    places = np.arange(-int(12 * sigma) - 12, int(12 * sigma) + 13)
    weights = np.exp(-(places**2) / (2 * sigma**2))
    return places, weights / weights.sum()


def gaussian_within(quote: Quote) -> float:
    """The least probability of an integer reach that is 95% or more."""
    return within(deviation(quote, 0))[1]


def within(sigma: float) -> tuple[int, float]:
    """The least integer reach whose probability is 95% or more, and that probability."""
    places, weights = bell(sigma)
    found = ((reach, float(weights[np.abs(places) <= reach].sum())) for reach in range(10**9))
    return next((reach, chance) for reach, chance in found if chance >= CONFIDENCE)


def ratio_law(quote: Quote, table: SecretTable) -> float:
    """The chance that total - mean * count is as small as a mean's interval allows."""
    reading = quote.bound.readings[0]
    assert isinstance(reading, MeanReading)
    total, count = (unseal(table.tallies[part])[0] for part in (reading.total, reading.count))
    quotient, sure = total / count, norm.ppf((1 + CONFIDENCE) / 2)
    top, bottom = deviation(quote, reading.total), deviation(quote, reading.count)
    reach = sqrt((sure * top + 1) ** 2 + (quotient * (sure * bottom + 1)) ** 2)
    (tops, top_chances), (bottoms, bottom_chances) = bell(top), bell(bottom)
    reached = np.cumsum(top_chances)

    def up_to(ends: np.ndarray) -> np.ndarray:
        where = np.clip(np.floor(ends).astype(int) - tops[0], -1, tops.size - 1)
        return np.where(where < 0, 0.0, reached[where])

    middle = quotient * bottoms
    inside = up_to(middle + reach) - up_to(np.ceil(middle - reach) - 1)
    return float((inside * bottom_chances).sum())


def quotient_law(quote: Quote, table: SecretTable) -> float:
    """The chance that a sum over a count, each at an end of its own interval, holds theirs."""
    readings = quote.bound.readings
    places = [part.tally for part in readings if isinstance(part, TotalReading)]
    assert len(places) == len(readings) == 2
    (tops, top_chances), (bottoms, bottom_chances) = (
        bell(deviation(quote, place)) for place in places
    )
    total, count = (float(unseal(table.tallies[place])[0]) for place in places)
    top_reach, bottom_reach = (within(deviation(quote, place))[0] for place in places)
    reached = np.cumsum(top_chances)

    def up_to(ends: np.ndarray) -> np.ndarray:
        where = np.clip(np.floor(ends).astype(int) - tops[0], -1, tops.size - 1)
        return np.where(where < 0, 0.0, reached[where])

    # noisy totals t and counts b with (t - r) / (b + s) <= quotient <= (t + r) / (b - s)
    noisy, quotient = count + bottoms, total / count
    most = quotient * (noisy + bottom_reach) + top_reach - total
    least = quotient * (noisy - bottom_reach) - top_reach - total
    inside = up_to(most) - up_to(np.ceil(least) - 1)
    return float((inside * bottom_chances).sum())


def variance_law(quote: Quote, table: SecretTable) -> float:
    """By 10^5 draws of rounded normals, and the quadratic that a variance solves, in floats."""
    reading = quote.bound.readings[0]
    assert isinstance(reading, VarianceReading)
    assert not reading.sample
    mean = reading.mean
    rng = np.random.default_rng(5)
    places = (reading.squares, mean.total, mean.count)
    noise = [deviation(quote, place) for place in places]
    exact = [float(unseal(table.tallies[place])[0]) for place in places]
    drawn = [
        value + np.rint(rng.normal(0, sigma, DRAWS))
        for value, sigma in zip(exact, noise, strict=True)
    ]
    step, value_step = float(reading.step), float(mean.step)
    shift, middle = float(mean.centre - reading.centre), float(reading.middle)

    def squares(at: np.ndarray, found: list[np.ndarray]) -> np.ndarray:
        """The sum of squares around a mean."""
        square, total, count = found
        whole = total * value_step + count * shift
        return square * step + count * middle - 2 * at * whole + count * at**2

    # the mean at 99%, then the variance at 96% for the mean in that interval
    sure, count = norm.ppf(1 - 0.01 / 2), drawn[2]
    reach = sure * noise[1] + 1, sure * noise[2] + 1
    low, high = roots(count, drawn[1], 0.0, reach)
    means = [end * value_step + shift for end in (low, high)]
    best = (drawn[1] * value_step + count * shift) / count
    sure = norm.ppf(1 - 0.04 / 2)
    far = np.maximum(*(end**2 for end in means))
    above = np.sqrt(
        (sure * noise[0] * step) ** 2 + 4 * far * (sure * noise[1] * value_step) ** 2
    )
    reach = above + step, sure * noise[2] + 1
    sides = [end - shift for end in means]
    beside = [
        np.where(sides[0] * sides[1] <= 0, 0.0, np.minimum(*(side**2 for side in sides))),
        np.maximum(*(side**2 for side in sides)),
    ]
    tops = squares(best, drawn), np.maximum(*(squares(end, drawn) for end in means))
    found = [
        roots(count, top, part + middle - shift**2, reach) for part in beside for top in tops
    ]
    least = np.min([each[0] for each in found], axis=0)
    most = np.max([each[1] for each in found], axis=0)
    centre = (exact[1] * value_step + exact[2] * shift) / exact[2]
    truth = squares(np.array(centre), [np.array(value) for value in exact]) / exact[2]
    return float(((least <= truth) & (truth <= most)).mean())


def roots(
    count: np.ndarray,
    top: np.ndarray,
    beside: np.ndarray | float,
    reach: tuple[np.ndarray | float, float],
) -> tuple[np.ndarray, np.ndarray]:
    """Where (top - x * count)**2 = reach[0]**2 + (x - beside)**2 * reach[1]**2."""
    a = count**2 - reach[1] ** 2
    b = -2 * (top * count - beside * reach[1] ** 2)
    c = top**2 - reach[0] ** 2 - (beside * reach[1]) ** 2
    root = np.sqrt(b**2 - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def median_law(quote: Quote, table: SecretTable) -> float:
    """The chance of every cell and every reach around it, in floats, by their definitions."""
    reading = quote.bound.readings[0]
    assert isinstance(reading, QuantileReading)
    mechanism = quote.tallies[reading.tree].mechanism
    assert isinstance(mechanism, GridQuantile)
    counts = unseal(table.tallies[reading.tree])
    values = np.repeat(np.arange(counts.size), counts)
    wanted = float(reading.fraction) * values.size
    exact = np.quantile(values, float(reading.fraction))
    least = np.array([(values < cell).sum() for cell in range(counts.size)])
    most = least + counts
    held = 0.0
    cells = chances(float(mechanism.rate), least - wanted, wanted - most)
    for cell, chance in enumerate(cells):
        around = reaches(counts.size)
        low = np.array([max(cell - reach, 0) for reach in around])
        high = np.array([min(cell + reach, counts.size - 1) for reach in around])
        before = np.where(low > 0, wanted - least[low], np.inf)
        after = np.where(high < counts.size - 1, most[high] - wanted, np.inf)
        inside = np.minimum(before, after)
        shorter = np.concatenate([[-np.inf], inside[:-1]])
        wide = chances(
            float(mechanism.reach_rate), shorter - mechanism.margin, mechanism.margin - inside
        )
        held += chance * wide[(low <= exact) & (exact <= high)].sum()
    return float(held)


def chances(rate: float, above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Of outcomes so far above or below what is wanted, by the exponential mechanism."""
    weights = np.exp(-rate * np.maximum(np.maximum(above, below), 0))
    return weights / weights.sum()
