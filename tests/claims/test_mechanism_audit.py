"""An audit of a million draws a side shows nearly all of what a mechanism claims to lose."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from conftest import Bar
from loaded_file import load_file

from tacit.accounting.pricing import loss_of
from tacit.audit.lower_bound import epsilon_lower_bound, mu_lower_bound
from tacit.core.loss import Measure
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.testing.distribution import GaussianLaw
from tacit.testing.mechanism_contract import MechanismExample, l1, l2, side_by_side

pytestmark = pytest.mark.claim

PLACE = Path(__file__).parents[1] / "contracts" / "mechanism_examples"
MANY = 10**6
DRAWS = int(os.environ.get("TACIT_AUDIT_DRAWS", MANY))
"""Draws from each of two neighbours; CI has a tenth, since a mechanism draws one by one."""

LEAST = 0.95 if DRAWS >= MANY else 0.9
"""The share of a claim that so many draws must show: fewer leave a wider interval."""

CONFIDENCE = 0.999


EXAMPLES: dict[str, MechanismExample] = {
    path.stem: load_file(path, f"mechanism_examples_{path.stem}").EXAMPLE
    for path in sorted(PLACE.glob("*.py"))
}
AUDITED = [name for name, example in EXAMPLES.items() if example.event_of_audit]


def shown(example: MechanismExample, mechanism: Mechanism) -> float:
    """The loss that draws from both neighbours prove, by an event fixed before."""
    assert example.event_of_audit
    left, right = (
        int(example.event_of_audit(example.sample(mechanism, secret, DRAWS)).sum())
        for secret in (example.left, example.right)
    )
    return epsilon_lower_bound(left, DRAWS, right, DRAWS, CONFIDENCE)


def claimed(example: MechanismExample) -> float:
    return float(loss_of(example.mechanism.event(example.sensitivity), Measure.PURE).amount)


@pytest.mark.parametrize("name", AUDITED)
def test_an_audit_shows_nearly_all_of_the_claim_and_no_more(name: str, bar: Bar) -> None:
    example = EXAMPLES[name]
    part = shown(example, example.mechanism) / claimed(example)
    bar(f"audit {name}, lower bound / claim", part, f"{LEAST} to 1", LEAST <= part <= 1)


def test_an_audit_at_a_tenth_shows_nine_tenths(bar: Bar) -> None:
    draws, sample = 4 * 10**6, side_by_side(l1(1))
    left, right = (
        int((sample(Laplace(Fraction(10)), (secret,), draws) <= 0).sum()) for secret in (0, 1)
    )
    part = epsilon_lower_bound(left, draws, right, draws, CONFIDENCE) / 0.1
    bar("audit laplace at epsilon 0.1, lower bound / claim", part, "0.9 to 1", 0.9 <= part <= 1)


def test_a_scale_of_eight_tenths_is_flagged(bar: Bar) -> None:
    example = EXAMPLES["laplace"]
    honest = example.mechanism
    assert isinstance(honest, Laplace)
    part = shown(example, Laplace(honest.scale * Fraction(8, 10))) / claimed(example)
    bar("audit laplace at 0.8 of its scale, lower bound / claim", part, "> 1", part > 1)


SCALE, MOVED = 20, 10  # so wide that the discrete law is nearly the real one, whose mu is 1/2
MIDDLE = 5


def mu_shown(variance: Fraction) -> float:
    """Of one integer that moves, by whether it stays at or below the middle."""
    sample = side_by_side(l2(MOVED))
    left, right = (
        int((sample(Gaussian(variance), (secret,), DRAWS) <= MIDDLE).sum())
        for secret in (0, MOVED)
    )
    return mu_lower_bound(left, DRAWS, right, DRAWS, CONFIDENCE)


def test_a_gaussian_shows_nearly_all_of_its_mu_and_no_more(bar: Bar) -> None:
    mu = MOVED / SCALE
    places = np.array([MIDDLE, MIDDLE - MOVED], dtype=float)
    hits = [round(DRAWS * p) for p in GaussianLaw(SCALE).cumulative(places)]
    expected = mu_lower_bound(hits[0], DRAWS, hits[1], DRAWS, CONFIDENCE)
    found = mu_shown(Fraction(SCALE**2))
    part = found / expected
    bar("audit gaussian, lower bound / that of an honest one", part, ">= 0.9", part >= 0.9)
    bar("audit gaussian, lower bound / mu", found / mu, "<= 1", found <= mu)
    lie = mu_shown(Fraction(SCALE**2) * Fraction(64, 100))
    bar("audit gaussian at 0.8 of its scale, lower bound / mu", lie / mu, "> 1", lie > mu)
