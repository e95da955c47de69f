"""Audits of mechanisms whose worst event attains less than their loss, or that have a delta.

What an honest mechanism would show is computed beforehand, from its exact curve, and for draws
as unlucky as one in ten thousand; the audit must show nine tenths of that, and never more than
the claim.
"""

import os
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from conftest import Bar

from tacit.accounting.pricing import delta_at
from tacit.audit.lower_bound import epsilon_lower_bound, expected_lower_bound
from tacit.core.event import GaussianNoise, Nothing
from tacit.testing.mechanism_contract import Draws, MechanismExample

pytestmark = pytest.mark.claim

PLACE = Path(__file__).parents[1] / "contracts" / "mechanism_examples"
CONFIDENCE = 0.999
UNLUCKY = 3.7
"""Standard deviations that hits stray by once in ten thousand runs."""

PAIR = 2
"""A value with its smooth sensitivity, or with a distance: no vector."""

FULL = 100_000
MOST = int(os.environ.get("TACIT_OTHER_AUDIT_DRAWS", str(FULL)))
"""Draws of a side; the bar is what this number of draws can show."""

PART = 0.9
"""Part of an honest bound that an audit must show."""

FINE = 1000
"""Distinct releases above which an event is a bound on how near one of them lies."""

MODULES = {path.stem: run_path(str(path)) for path in sorted(PLACE.glob("*.py"))}
OTHERS = [
    name
    for name, module in MODULES.items()
    if not module["EXAMPLE"].event_of_audit
    and module["EXAMPLE"].mechanism.event(module["EXAMPLE"].sensitivity) != Nothing()
]


def labels(draws: Draws, known: dict[tuple[int, ...], int]) -> np.ndarray:
    """Each release as the number of a group of releases, -1 where it was not seen before."""
    rows, places = np.unique(draws, axis=0, return_inverse=True)
    numbers = np.array([known.get(tuple(row), -1) for row in rows.tolist()])
    return numbers[places.reshape(-1)]


def grouped(left: Draws, right: Draws) -> dict[tuple[int, ...], int]:
    seen = np.unique(np.concatenate([left, right]), axis=0)
    return {tuple(row): number for number, row in enumerate(seen.tolist())}


def nearness(example: MechanismExample, draws: Draws) -> np.ndarray:
    """How much nearer a release lies to one neighbour: what its law tells them apart by."""
    if draws.shape[1] != len(example.left) or draws.shape[1] == 1 or len(example.left) == PAIR:
        return draws[:, 0].astype(float)
    power = 2 if isinstance(example.mechanism.event(example.sensitivity), GaussianNoise) else 1
    to_left, to_right = (
        np.linalg.norm(draws - np.array(secret), axis=1) ** power
        for secret in (example.left, example.right)
    )
    return to_left - to_right


def coarse(example: MechanismExample, draws: Draws, cuts: np.ndarray) -> Draws:
    return np.searchsorted(cuts, nearness(example, draws)).reshape(-1, 1)


def delta_for(example: MechanismExample) -> float:
    """A delta at which the claim is worth auditing: a tenth of what it loses at epsilon 0."""
    return 0.1 * example.hockey_stick(0.0)


def promised(example: MechanismExample, delta: float) -> float:
    """The least epsilon whose claimed delta is at most ``delta``."""
    event = example.mechanism.event(example.sensitivity)
    low, high = 0.0, 30.0
    for _ in range(40):
        middle = (low + high) / 2
        fits = delta_at(event, Fraction(middle)) <= Fraction(delta)
        low, high = (low, middle) if fits else (middle, high)
    return high


def honest_bound(example: MechanismExample, count: int, delta: float) -> float:
    """The best bound that the exact curve allows, over the events that attain it.

    It is that of unlucky draws: with too few hits on the left, and too many on the right.
    """
    best = 0.0
    for epsilon in np.linspace(0, 6, 121):
        here, there = example.hockey_stick(epsilon), example.hockey_stick(epsilon + 1e-4)
        right = (here - there) / (exp(epsilon + 1e-4) - exp(epsilon))
        left = here + exp(epsilon) * right
        left -= UNLUCKY * sqrt(max(left * (1 - left), 0) / count)
        right += UNLUCKY * sqrt(max(right * (1 - right), 0) / count)
        if 0 < right < 1 and delta < left < 1:
            best = max(best, expected_lower_bound(left, right, count, CONFIDENCE, delta=delta))
    return best


@pytest.mark.parametrize("name", OTHERS)
def test_an_audit_shows_nine_tenths_of_what_it_can(name: str, bar: Bar) -> None:
    """An event that a small pilot finds can be a poor one: then more draws are asked."""
    wanted = min(max(MODULES[name].get("DRAWS", 200_000), 40_000), FULL)
    part, shown, claim = parts_of_audit(name, min(wanted, MOST))
    if part < PART and wanted > MOST and shown <= claim:
        part, shown, claim = parts_of_audit(name, wanted)
    bar(f"audit {name}, bound / that of an unlucky honest one", part, ">= 0.9", part >= PART)
    bar(f"audit {name}, bound / claim", shown / claim, "<= 1", shown <= claim)


def parts_of_audit(name: str, count: int) -> tuple[float, float, float]:
    """Return an audit's bound as a part of an honest one, the bound, and the claim."""
    example: MechanismExample = MODULES[name]["EXAMPLE"]
    delta = delta_for(example)
    expected = honest_bound(example, count, delta)
    pilot = [
        example.sample(example.mechanism, s, count // 4) for s in (example.left, example.right)
    ]
    fresh = [example.sample(example.mechanism, s, count) for s in (example.left, example.right)]
    if len(np.unique(np.concatenate(pilot), axis=0)) > FINE:
        both = nearness(example, np.concatenate(pilot))
        cuts = np.unique(np.quantile(both, np.arange(1, 60) / 60))
        pilot = [coarse(example, draws, cuts) for draws in pilot]
        fresh = [coarse(example, draws, cuts) for draws in fresh]
    known = grouped(*pilot)
    shown = max(
        audited(pilot[i], pilot[1 - i], fresh[i], fresh[1 - i], known, delta) for i in (0, 1)
    )
    return shown / expected, shown, promised(example, delta)


def audited(  # noqa: PLR0913, PLR0917
    one: Draws,
    other: Draws,
    fresh_one: Draws,
    fresh_other: Draws,
    known: dict[tuple[int, ...], int],
    delta: float,
) -> float:
    """The bound of the event that a pilot finds best, on draws that the pilot did not see."""
    size = len(known)
    ones = np.bincount(labels(one, known), minlength=size) + 0.5
    others = np.bincount(labels(other, known), minlength=size) + 0.5
    order = np.argsort(-ones / others)
    left, right = np.cumsum(ones[order]) / len(one), np.cumsum(others[order]) / len(other)
    count = len(fresh_one)
    places = np.unique(np.linspace(0, size - 1, 60).astype(int))
    bounds = [
        expected_lower_bound(p, q, count, CONFIDENCE, delta=delta)
        for p, q in np.clip(np.stack([left, right], axis=1)[places], 1e-6, 1 - 1e-6).tolist()
    ]
    event = np.zeros(size + 1, dtype=bool)  # the last stands for what was not seen before
    event[order[: places[int(np.argmax(bounds))] + 1]] = True
    hits = [int(event[labels(d, known)].sum()) for d in (fresh_one, fresh_other)]
    return epsilon_lower_bound(hits[0], count, hits[1], count, CONFIDENCE, delta=delta)
