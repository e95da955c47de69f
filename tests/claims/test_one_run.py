"""One question about made-up people shows what a build loses: no less, and no more.

An honest audit is wrong once in a thousand times, by its own confidence. Where it is, it is
made again, twice at most: what is wrong three times is wrong once in 10^9.
`TACIT_ONE_RUNS` says how many audits of the mechanism, `TACIT_CANARIES` of how many people.
"""

import os
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from audited import audit_server
from conftest import Bar
from scipy.stats import binom

from tacit.audit.lower_bound import one_run_lower_bound
from tacit.audit.one_run import Canaries, OneRun, audit_session
from tacit.core.secret import Secret
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import Entropy, SystemEntropy
from tacit.testing.mechanism_contract import l1

pytestmark = pytest.mark.claim

EPSILON, CONFIDENCE, PEOPLE = 1, 0.999, 10**5
FEWER = 30_000
"""Enough to convict a tenth too little noise but once in 10^7 times."""

RUNS = int(os.environ.get("TACIT_ONE_RUNS", "1000"))
CANARIES = int(os.environ.get("TACIT_CANARIES", "10000"))
TRIES = 3


def tight(run: OneRun) -> bool:
    return 0.95 <= run.lower_bound <= EPSILON


def first_tight(audit: Callable[[], OneRun]) -> OneRun:
    for _ in range(TRIES):
        run = audit()
        if tight(run):
            break
    return run


def test_a_session_loses_what_it_promises_and_no_more(bar: Bar) -> None:
    run = first_tight(lambda: audit_session(PEOPLE, EPSILON, CONFIDENCE))
    name = f"one-run audit of a session, {PEOPLE} people, lower bound at epsilon 1"
    bar(name, run.lower_bound, "0.95 to 1", tight(run))


def test_a_server_loses_what_it_promises_and_no_more(tmp_path: Path, bar: Bar) -> None:
    places = (tmp_path / str(number) for number in count())
    run = first_tight(lambda: audit_server(next(places), PEOPLE, EPSILON, CONFIDENCE))
    name = f"one-run audit of a server, {PEOPLE} people, lower bound at epsilon 1"
    bar(name, run.lower_bound, "0.95 to 1", tight(run))


def test_a_tenth_too_little_noise_is_convicted(
    monkeypatch: pytest.MonkeyPatch, bar: Bar
) -> None:
    honest = DiscreteLaplace.draw

    def weaker(self: DiscreteLaplace, entropy: Entropy, draws: int) -> Integers:
        return honest(DiscreteLaplace(self.scale * Fraction(9, 10)), entropy, draws)

    monkeypatch.setattr(DiscreteLaplace, "draw", weaker)
    run = audit_session(FEWER, EPSILON, CONFIDENCE)
    name = f"one-run audit of nine tenths of the noise, {FEWER} people, lower bound"
    bar(name, run.lower_bound, "> 1", run.convicts)


def bounds_of(mechanism: Laplace, runs: int, people: int) -> list[float]:
    """What so many audits of the mechanism itself show."""
    gateway, found = LiveGateway(SystemEntropy(b"audits")), []
    for _ in range(runs):
        present = Canaries.draw(people, SystemEntropy(b"coins")).present
        released = mechanism.release(Secret(present.astype(np.int64)), l1(1), gateway)
        right = int(np.count_nonzero((released >= 1) == present))
        found.append(one_run_lower_bound(right, people, CONFIDENCE))
    return found


def test_the_honest_mechanism_is_acquitted(bar: Bar) -> None:
    least = RUNS - RUNS // 200
    for _ in range(TRIES):  # six alarms of 1,000 or more come once in 1,700 times
        bounds = bounds_of(Laplace(Fraction(1)), RUNS, CANARIES)
        acquitted = sum(bound <= EPSILON for bound in bounds)
        if acquitted >= least:
            break
    name = f"one-run audits of {CANARIES} people that acquit the honest mechanism, of {RUNS}"
    bar(name, acquitted, f">= {least}", acquitted >= least)


def test_nine_tenths_of_the_noise_is_convicted_again_and_again(bar: Bar) -> None:
    bounds = bounds_of(Laplace(Fraction(9, 10)), 20, PEOPLE)
    convicted = sum(bound > EPSILON for bound in bounds)
    name = f"one-run audits of {PEOPLE} people that convict nine tenths of the noise, of 20"
    bar(name, convicted, "20", convicted == 20)


def test_an_honest_build_is_convicted_once_in_a_thousand_times_at_most() -> None:
    fair = 1 / (1 + np.exp(-EPSILON))
    for people in (100, CANARIES):
        first = next(
            right
            for right in range(round(fair * people), people)
            if one_run_lower_bound(right, people, CONFIDENCE) > EPSILON
        )
        alarms = float(binom.sf(first - 1, people, fair))
        assert 1e-4 < alarms <= 1 - CONFIDENCE
        # a bound that is off by one guess would alarm too often
        assert float(binom.sf(first - 2, people, fair)) > 1 - CONFIDENCE
