"""The contract of a mechanism, and one example of every event for property tests."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare, poisson

from tacit import core
from tacit.accounting import delta_at, loss_of
from tacit.errors import InvalidValue, TacitError
from tacit.extras import MECHANISMS, plugins
from tacit.mechanisms import Gateway, LiveGateway, Mechanism
from tacit.noise import Integers
from tacit.numeric.entropy import SystemEntropy
from tacit.testing.checks import run_checks

SMALL = Fraction(1, 10**6)

LEAVES: tuple[core.Event, ...] = (
    core.LaplaceNoise(Fraction(1), Fraction(10)),
    core.GaussianNoise(Fraction(2), Fraction(50)),
    core.TruncatedLaplaceNoise(Fraction(1), Fraction(5), 40),
    core.BallNoise(Fraction(1), Fraction(10), 3),
    core.CubeNoise(Fraction(1), Fraction(10), 3),
    core.ExponentialSelection(Fraction(1, 10)),
    core.PermuteAndFlipSelection(Fraction(1, 10)),
    core.RandomisedResponseEvent(Fraction(2, 3), 2),
    core.KeySelection(Fraction(1, 10), SMALL, 2),
    core.AboveThreshold(Fraction(1, 20), Fraction(1, 10)),
    core.LomaxNoise(Fraction(1, 5), Fraction(1, 50)),
    core.StudentNoise(3, Fraction(1, 50), Fraction(1, 20)),
    core.ProposeTestReleaseEvent(Fraction(1, 10), Fraction(1, 10), SMALL),
    core.Sampled(core.LaplaceNoise(Fraction(1), Fraction(1)), Fraction(1, 100)),
    core.RealGaussianNoise(Fraction(1), Fraction(16)),
    core.DelayNoise(Fraction(40000), 1387, Fraction(1)),
)
"""One example of every event that has a price by itself."""

SECOND_VERSIONS: tuple[core.Event, ...] = (
    core.LaplaceNoiseV2(Fraction(1), Fraction(10)),
    core.TruncatedLaplaceNoiseV2(Fraction(1), Fraction(5), 40),
    core.BallNoiseV2(Fraction(1), Fraction(10), 3),
    core.CubeNoiseV2(Fraction(1), Fraction(10), 3),
    core.PermuteAndFlipSelectionV2(Fraction(1, 10)),
    core.RandomisedResponseEventV2(Fraction(2, 3), 2),
    core.KeySelectionV2(Fraction(1, 10), SMALL, 2),
    core.AboveThresholdV2(Fraction(1, 20), Fraction(1, 10)),
    core.LomaxNoiseV2(Fraction(1, 5), Fraction(1, 50)),
    core.StudentNoiseV2(3, Fraction(1, 50), Fraction(1, 20)),
    core.ProposeTestReleaseEventV2(Fraction(1, 10), Fraction(1, 10), SMALL),
)
"""One example of every second version of an event."""

UNPRICED: tuple[core.Event, ...] = (core.SmoothLaplaceNoise(Fraction(2), Fraction(1, 30)),)
"""Events whose price needs an extra delta, by `tacit.accounting.curves`."""


def histories(max_leaves: int = 8) -> st.SearchStrategy[core.Event]:
    """Return a strategy for events that are composed and repeated in every way."""
    return st.recursive(
        st.one_of(st.sampled_from((*LEAVES, *SECOND_VERSIONS)), st.just(core.Nothing())),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda events: core.Composed(tuple(events))),
            st.builds(core.Repeated, inner, st.integers(0, 5)),
        ),
        max_leaves=max_leaves,
    )


# ------------------------------------------------------------------ mechanism
# The contract of a mechanism: the properties that every mechanism must have, and the example
# that its author writes.
#
# The author provides one `MechanismExample`, and ``tests/contracts/test_mechanisms.py`` checks
# it: the true law is accepted, and a law that is five percent off is rejected; the exact
# privacy curve of a worst pair stays below the claim of `accounting`; an audit of many draws
# shows nearly all of the claimed loss; the measured errors have the stated law; values at the
# edges are refused.

Draws = NDArray[np.int64]
"""Releases, one in each row."""

Pmf = Mapping[tuple[int, ...], float]
"""The probability of each release; those left out have less than 10**-9 together."""

Sample = Callable[[Mechanism, tuple[int, ...], int], Draws]
"""A function that makes a number of releases of a secret by a mechanism."""

LEAST_EXPECTED = 20

LEFT_OUT = 1e-9
"""The probability that a listed law may leave out."""


@dataclass(frozen=True, slots=True)
class MechanismExample:
    """A mechanism at one setting, with facts about it that do not come from its code."""

    mechanism: Mechanism
    off: Mechanism
    """A copy of the mechanism with noise that is five percent wrong; tests must reject it."""
    sensitivity: core.Sensitivity
    left: tuple[int, ...]
    right: tuple[int, ...]
    """The worst secret of a neighbour of ``left``, as far away as the sensitivity allows."""
    sample: Sample
    p_value: Callable[[Draws], float]
    """The p-value of draws from ``left`` under the exact law."""
    hockey_stick: Callable[[float], float]
    """The exact delta at an epsilon between left and right, the worse of both directions."""
    event_of_audit: Callable[[Draws], NDArray[np.bool_]] | None = None
    """Marks the releases from which an audit guesses ``left``: their odds change most.

    None for laws that do not attain their pure epsilon.
    """
    error_of: Callable[[Draws], NDArray[np.float64]] | None = None
    """Returns the error of each release; None if the mechanism's ``error`` is not exact."""
    doubles: bool = True
    """Whether a secret twice as far away as ``right`` is allowed at twice the sensitivity.

    False if a secret has a part that the sensitivity does not measure, such as a distance. Only
    the event is then checked at twice the sensitivity.
    """


def linf(amount: int) -> core.Sensitivity:
    """Return an L-infinity sensitivity, which scores have, for examples."""
    return core.Sensitivity.of(amount, core.Norm.LINF, core.Rule("an example"))


def l1(amount: int) -> core.Sensitivity:
    """Return an L1 sensitivity, for examples."""
    return core.Sensitivity.of(amount, core.Norm.L1, core.Rule("an example"))


def l2(amount: int) -> core.Sensitivity:
    """Return an L2 sensitivity, for examples."""
    return core.Sensitivity.of(amount, core.Norm.L2, core.Rule("an example"))


def one_by_one(sensitivity: core.Sensitivity) -> Sample:
    """Return a function that makes releases one after the other."""

    def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
        gateway = LiveGateway(SystemEntropy(b"example"))
        box = core.Secret(np.array(secret))
        return np.array([mechanism.release(box, sensitivity, gateway) for _ in range(count)])

    return sample


def side_by_side(sensitivity: core.Sensitivity) -> Sample:
    """Return a function that releases integers with independent noise as one long vector."""

    def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
        gateway = LiveGateway(SystemEntropy(b"example"))
        box = core.Secret(np.repeat(np.array(secret), count))
        return mechanism.release(box, sensitivity, gateway).reshape(len(secret), count).T

    return sample


def p_value_of(pmf: Pmf) -> Callable[[Draws], float]:
    """Return the chi-square test of draws against an exact law on finitely many releases."""

    def p_value(draws: Draws) -> float:
        found, counts = np.unique(draws, axis=0, return_counts=True)
        observed = dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True))
        often = [release for release in pmf if pmf[release] * len(draws) >= LEAST_EXPECTED]
        wanted = np.array([pmf[release] for release in often]) * len(draws)
        seen = np.array([observed.get(release, 0) for release in often])
        # rare releases are never merged with others, so that a release which the law does not
        # allow is noticed
        rest_wanted, rest_seen = len(draws) - wanted.sum(), len(draws) - seen.sum()
        if rest_wanted >= LEAST_EXPECTED:
            shape = chisquare(np.append(seen, rest_seen), np.append(wanted, rest_wanted))
            return float(shape.pvalue)
        rare = poisson.sf(rest_seen - 1, max(rest_wanted, 0) + LEFT_OUT * len(draws))
        if wanted.size < 2:  # noqa: PLR2004 - one cell has no shape
            return float(rare)
        shape = chisquare(seen, wanted * seen.sum() / wanted.sum())
        return float(min(1, 2 * min(rare, shape.pvalue)))

    return p_value


def hockey_stick_of(left: Pmf, right: Pmf) -> Callable[[float], float]:
    """Return the exact delta between two laws as a function of epsilon.

    It is the hockey-stick divergence, the larger one of both directions.
    """

    def hockey_stick(epsilon: float) -> float:
        releases = left.keys() | right.keys()
        pairs = np.array([(left.get(r, 0.0), right.get(r, 0.0)) for r in releases])
        factor = np.exp(epsilon)
        one = np.maximum(pairs[:, 0] - factor * pairs[:, 1], 0).sum()
        other = np.maximum(pairs[:, 1] - factor * pairs[:, 0], 0).sum()
        return float(max(one, other))

    return hockey_stick


# ------------------------------------------------------------------ mechanism contract
# The contract of a mechanism as one call, for authors of plug-ins.
#
# A mechanism of a plug-in is found by the entry-point group ``tacit.mechanisms``, whose value
# is a `MechanismExample`, and must satisfy this contract. No session or server ever uses it for
# a question: that requires a proof which others have reviewed, and a commit to Tacit itself.

ODD = 1e-6
"""The p-value below which draws are rejected."""

EPSILONS = tuple(Fraction(tenths, 10) for tenths in (0, 1, 3, 5, 7, 10, 15, 20, 30))
CONFIDENCES = (Fraction("0.5"), Fraction("0.9"), Fraction("0.99"))
HEADINGS = ("Claim", "Proof", "Exactness", "Groups")
"""The headings on the page of a mechanism, each in bold type."""

STANDARD_ERRORS = 4
ROUNDING = 1e-12

MOST_FAR_DRAWS = 100_000
"""The most draws of each neighbour at twice the sensitivity, where no exact law is known."""


@dataclass(frozen=True, slots=True)
class AtTwice:
    """A mechanism whose releases get twice the sensitivity that they are called with."""

    mechanism: Mechanism

    def event(self, sensitivity: core.Sensitivity) -> core.Event:
        """Return the event at twice the sensitivity."""
        return self.mechanism.event(twice(sensitivity))

    def release(
        self, secret: core.Secret[Integers], sensitivity: core.Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return a release at twice the sensitivity."""
        return self.mechanism.release(secret, twice(sensitivity), gateway)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the error of the mechanism."""
        return self.mechanism.error(confidence)


def twice(sensitivity: core.Sensitivity) -> core.Sensitivity:
    """Return twice the sensitivity, in the same norm.

    Example:
        >>> twice(l2(3)).amount
        Fraction(6, 1)
    """
    rule = core.Rule("two units of an example", (), (sensitivity.proof,))
    return core.Sensitivity(4 * sensitivity.square, sensitivity.norm, rule)


@dataclass(frozen=True, slots=True)
class MechanismContract:
    """A mechanism at one setting, and the page with its proof.

    Example:
        >>> MechanismContract.of_plugin.__name__
        'of_plugin'
    """

    example: MechanismExample
    page: str
    draws: int = 200_000

    @classmethod
    def of_plugin(cls, name: str, page: str) -> "MechanismContract":
        """Return the contract of an installed plug-in's mechanism."""
        found = [each for each in plugins(MECHANISMS) if each.name == name]
        if len(found) != 1:
            known = ", ".join(sorted(each.name for each in plugins(MECHANISMS))) or "none"
            raise InvalidValue(
                f"The mechanism {name!r} must come from exactly one plug-in, and comes from "
                f"{len(found)}. Installed mechanisms: {known}."
            )
        example = found[0].load()
        if not isinstance(example, MechanismExample):
            raise InvalidValue(
                f"{found[0]} has {name!r}, which is not a MechanismExample. Let the entry "
                "point name one."
            )
        return cls(example, page)

    def violations(self) -> list[str]:
        """Return the violations, one sentence each; none for a good mechanism.

        A check that raises an error is a violation too.
        """
        return run_checks(
            self.wrong_law,
            self.wrong_loss,
            self.wrong_at_twice,
            self.wrong_error,
            self.unwritten,
        )

    def wrong_law(self) -> Iterator[str]:
        """Yield violations of the law: draws do not have it, or it does not reject `off`."""
        example = self.example
        if example.p_value(self._draw(off=False)) <= ODD:
            yield "The draws do not have the law that the example states."
        if example.p_value(self._draw(off=True)) > ODD:
            yield "The example accepts draws whose noise is five percent off."

    def wrong_loss(self) -> Iterator[str]:
        """Yield a violation if the exact curve of the worst pair exceeds the event's loss."""
        event = self.example.mechanism.event(self.example.sensitivity)
        try:
            kept = core.decode_event(core.encode_event(event)) == event
        except Exception:  # noqa: BLE001 - with any error, a ledger cannot store it
            kept = False
        if not kept:
            yield "The event has a kind that the ledger does not know."
            return
        if self._exceeds(event):
            yield "The mechanism loses more than its event says."
        if not self._exceeds(core.Nothing()):
            yield "The two neighbours have the same law, so the example shows no loss."
        try:
            pure = loss_of(event, core.Measure.PURE)
        except InvalidValue:
            return
        if self.example.hockey_stick(float(pure.amount)) > ROUNDING:
            yield "The mechanism claims a pure loss, but has a delta."

    def wrong_at_twice(self) -> Iterator[str]:
        """Yield violations at twice the sensitivity, which a mechanism may also refuse.

        The event must not lose less than before. Draws of ``left``, and of a secret twice as
        far away as ``right``, must not refute the event. The exact law of that secret is not
        known, so that only a loss which many draws show is found.
        """
        event = self.example.mechanism.event(self.example.sensitivity)
        mechanism = AtTwice(self.example.mechanism)
        try:
            more = mechanism.event(self.example.sensitivity)
        except TacitError:
            return  # the mechanism is only for smaller sensitivities
        if any(delta_at(more, epsilon) < delta_at(event, epsilon) for epsilon in EPSILONS):
            yield "At twice the sensitivity, the event loses less."
        if not self.example.doubles:
            return
        here, there = self.example.left, self.example.right
        far = tuple(2 * right - left for left, right in zip(here, there, strict=True))
        draws = min(self.draws, MOST_FAR_DRAWS)
        try:
            one, other = (
                self.example.sample(mechanism, secret, draws) for secret in (here, far)
            )
        except TacitError:
            return  # a secret cannot be so far away
        for epsilon in EPSILONS:
            shown = max(
                _shown_delta(one, other, float(epsilon)),
                _shown_delta(other, one, float(epsilon)),
            )
            if shown > float(delta_at(more, epsilon)):
                yield "At twice the sensitivity, the draws lose more than the event says."
                return

    def wrong_error(self) -> Iterator[str]:
        """Yield errors that are exceeded too often, and wrong settings that are accepted."""
        mechanism, drawn = self.example.mechanism, self._draw(off=False)
        off = abs(drawn[:, 0] - self.example.left[0])
        for confidence in CONFIDENCES:
            margin = STANDARD_ERRORS * float(confidence * (1 - confidence) / self.draws) ** 0.5
            if np.mean(off <= float(mechanism.error(confidence))) < float(confidence) - margin:
                yield f"The error stated at {float(confidence):g} is exceeded too often."
        for field in fields(mechanism):  # type: ignore[arg-type]
            if isinstance(getattr(mechanism, field.name), Fraction):
                try:
                    replace(mechanism, **{field.name: Fraction(-1)})  # type: ignore[type-var]
                except InvalidValue:
                    continue
                yield f"The mechanism accepts a {field.name} below 0."

    def unwritten(self) -> Iterator[str]:
        """Yield the missing parts of the page, without which no reviewer can sign it."""
        for heading in HEADINGS:
            if f"**{heading}.**" not in self.page:
                yield f"The page has no part **{heading}.**"

    def _exceeds(self, claimed: core.Event) -> bool:
        """Return whether the exact curve exceeds the claimed one at one of the epsilons."""
        return any(
            self.example.hockey_stick(float(epsilon))
            > float(delta_at(claimed, epsilon)) * (1 + 1e-9) + ROUNDING
            for epsilon in EPSILONS
        )

    def _draw(self, *, off: bool) -> Draws:
        mechanism = self.example.off if off else self.example.mechanism
        return self.example.sample(mechanism, self.example.left, self.draws)


def _shown_delta(one: Draws, other: Draws, epsilon: float) -> float:
    """Return a delta at ``epsilon`` that draws of two neighbours show beyond doubt.

    One half of the draws chooses the releases that are more frequent in ``one`` by more than
    the factor exp(epsilon), and the other half counts them. By Hoeffding's inequality, the
    result exceeds the true delta with a probability of at most 2 * `ODD`.
    """
    half = len(one) // 2
    found, place = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    names = place.reshape(2, -1)
    first, second = (np.bincount(each[:half], minlength=len(found)) for each in names)
    factor = float(np.exp(epsilon))
    frequent = first > factor * second
    seen = [float(np.mean(frequent[each[half:]])) for each in names]
    margin = float(np.sqrt(-np.log(ODD) / (2 * (len(one) - half))))
    return seen[0] - margin - factor * (seen[1] + margin)
