"""One example of every event, and strategies that make histories of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare, poisson

from tacit import core
from tacit.accounting import delta_at, loss_of
from tacit.errors import InvalidValue
from tacit.extras import MECHANISMS, plugins
from tacit.mechanisms import LiveGateway, Mechanism
from tacit.numeric.entropy import SystemEntropy

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
)
"""Every leaf that has a price of its own."""

UNPRICED: tuple[core.Event, ...] = (core.SmoothLaplaceNoise(Fraction(2), Fraction(1, 30)),)
"""Leaves whose price needs a delta of their own, by `tacit.accounting.curves`."""


def histories(max_leaves: int = 8) -> st.SearchStrategy[core.Event]:
    """Events composed and repeated in every way."""
    return st.recursive(
        st.one_of(st.sampled_from(LEAVES), st.just(core.Nothing())),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda events: core.Composed(tuple(events))),
            st.builds(core.Repeated, inner, st.integers(0, 5)),
        ),
        max_leaves=max_leaves,
    )


# ------------------------------------------------------------------ mechanism
# The contract of a mechanism: what every one must show, and what an author writes down for
# it.
#
# An author gives one `MechanismExample`; the suite in ``tests/contracts/test_mechanisms.py``
# does the rest: the law is accepted, and rejected five percent off; the exact curve of a
# worst pair stays below what `accounting` claims; an audit of many draws shows nearly all of
# the claim; the error law is what is measured; edges are refused.

Draws = NDArray[np.int64]
"""One release a row."""

Pmf = Mapping[tuple[int, ...], float]
"""The probability of each release; what is left out together has less than 10**-9."""

Sample = Callable[[Mechanism, tuple[int, ...], int], Draws]
"""So many releases of a secret by a mechanism."""

LEAST_EXPECTED = 20

LEFT_OUT = 1e-9
"""The probability that a listed law may leave out."""


@dataclass(frozen=True, slots=True)
class MechanismExample:
    """A mechanism at one setting, with what is known of it apart from its code."""

    mechanism: Mechanism
    off: Mechanism
    """The same recipe five percent off in its noise: the law must reject it."""
    sensitivity: core.Sensitivity
    left: tuple[int, ...]
    right: tuple[int, ...]
    """Two neighbours' secrets, as far apart as the sensitivity allows, the worst way."""
    sample: Sample
    p_value: Callable[[Draws], float]
    """Of draws from ``left``: how odd they are under the exact law."""
    hockey_stick: Callable[[float], float]
    """The exact delta at an epsilon between left and right, the worse of both directions."""
    event_of_audit: Callable[[Draws], NDArray[np.bool_]] | None = None
    """The releases whose odds change most, where a scalar pure law attains its epsilon."""
    error_of: Callable[[Draws], NDArray[np.float64]] | None = None
    """The error of each release of ``left``, where ``error`` tells its exact quantiles."""


def linf(amount: int) -> core.Sensitivity:
    """A sensitivity of scores, for examples."""
    return core.Sensitivity.of(amount, core.Norm.LINF, core.Rule("an example"))


def l1(amount: int) -> core.Sensitivity:
    """An L1 sensitivity, for examples."""
    return core.Sensitivity.of(amount, core.Norm.L1, core.Rule("an example"))


def l2(amount: int) -> core.Sensitivity:
    """An L2 sensitivity, for examples."""
    return core.Sensitivity.of(amount, core.Norm.L2, core.Rule("an example"))


def one_by_one(sensitivity: core.Sensitivity) -> Sample:
    """Releases made one after the other."""

    def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
        gateway = LiveGateway(SystemEntropy(b"example"))
        box = core.Secret(np.array(secret))
        return np.array([mechanism.release(box, sensitivity, gateway) for _ in range(count)])

    return sample


def side_by_side(sensitivity: core.Sensitivity) -> Sample:
    """Releases of one integer with independent noise, made as one long vector."""

    def sample(mechanism: Mechanism, secret: tuple[int, ...], count: int) -> Draws:
        gateway = LiveGateway(SystemEntropy(b"example"))
        box = core.Secret(np.repeat(np.array(secret), count))
        return mechanism.release(box, sensitivity, gateway).reshape(len(secret), count).T

    return sample


def p_value_of(pmf: Pmf) -> Callable[[Draws], float]:
    """Chi-square of draws against an exact law on finitely many releases."""

    def p_value(draws: Draws) -> float:
        found, counts = np.unique(draws, axis=0, return_counts=True)
        observed = dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True))
        often = [release for release in pmf if pmf[release] * len(draws) >= LEAST_EXPECTED]
        wanted = np.array([pmf[release] for release in often]) * len(draws)
        seen = np.array([observed.get(release, 0) for release in often])
        # the rest is never merged: a release that the law does not make must show
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
    """The exact delta between two laws at an epsilon, the worse of both directions."""

    def hockey_stick(epsilon: float) -> float:
        releases = left.keys() | right.keys()
        pairs = np.array([(left.get(r, 0.0), right.get(r, 0.0)) for r in releases])
        factor = np.exp(epsilon)
        one = np.maximum(pairs[:, 0] - factor * pairs[:, 1], 0).sum()
        other = np.maximum(pairs[:, 1] - factor * pairs[:, 0], 0).sum()
        return float(max(one, other))

    return hockey_stick


# ------------------------------------------------------------------ mechanism contract
# The contract of a mechanism, as one call: for a plug-in, and for whoever writes one.
#
# A mechanism of a plug-in is found by the entry-point group ``tacit.mechanisms``, whose value
# is a `MechanismExample`, and is held to this. It is never chosen for a question, by a
# session or a server: that takes a proof which others have read, and a commit to Tacit
# itself.

ODD = 1e-6
"""The p-value below which draws are not of a law."""

EPSILONS = tuple(Fraction(tenths, 10) for tenths in (0, 1, 3, 5, 7, 10, 15, 20, 30))
CONFIDENCES = (Fraction("0.5"), Fraction("0.9"), Fraction("0.99"))
HEADINGS = ("Claim", "Proof", "Exactness", "Groups")
"""What the page of a mechanism says, each in bold type."""

STANDARD_ERRORS = 4
ROUNDING = 1e-12


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
            raise InvalidValue(f"No one plug-in brings a mechanism {name!r}; there: {known}.")
        example = found[0].load()
        if not isinstance(example, MechanismExample):
            raise InvalidValue(f"{found[0]} brings {name!r}, which is no MechanismExample.")
        return cls(example, page)

    def broken(self) -> list[str]:
        """Return what the mechanism does not keep, a sentence each; none for a good one."""
        return [*self.wrong_law(), *self.wrong_loss(), *self.wrong_error(), *self.unwritten()]

    def wrong_law(self) -> Iterator[str]:
        """Draws that are not of the stated law, and a law by which nothing can be told."""
        example = self.example
        if example.p_value(self._drawn(off=False)) <= ODD:
            yield "Draws are not of the law that the example states."
        if example.p_value(self._drawn(off=True)) > ODD:
            yield "A law that is five percent off passes: the example cannot tell."

    def wrong_loss(self) -> Iterator[str]:
        """A loss that is higher than the event says, by the exact curve of the worst pair."""
        event = self.example.mechanism.event(self.example.sensitivity)
        try:
            kept = core.decode_event(core.encode_event(event)) == event
        except Exception:  # noqa: BLE001 - whatever it is, no ledger could hold it
            kept = False
        if not kept:
            yield "Its event is of a kind that the ledger does not know."
            return
        if self._exceeds(event):
            yield "It loses more than its event says."
        if not self._exceeds(core.Nothing()):
            yield "The two neighbours are never told apart: the example shows no loss."
        try:
            pure = loss_of(event, core.Measure.PURE)
        except InvalidValue:
            return
        if self.example.hockey_stick(float(pure.amount)) > ROUNDING:
            yield "It claims a pure loss, and has a delta."

    def wrong_error(self) -> Iterator[str]:
        """An error that is passed more often than it says, and values that are not refused."""
        mechanism, drawn = self.example.mechanism, self._drawn(off=False)
        off = abs(drawn[:, 0] - self.example.left[0])
        for confidence in CONFIDENCES:
            margin = STANDARD_ERRORS * float(confidence * (1 - confidence) / self.draws) ** 0.5
            if np.mean(off <= float(mechanism.error(confidence))) < float(confidence) - margin:
                yield f"Its error at {float(confidence):g} is passed more often than that."
        for field in fields(mechanism):  # type: ignore[arg-type]
            if isinstance(getattr(mechanism, field.name), Fraction):
                try:
                    replace(mechanism, **{field.name: Fraction(-1)})  # type: ignore[type-var]
                except InvalidValue:
                    continue
                yield f"It takes a {field.name} below 0."

    def unwritten(self) -> Iterator[str]:
        """Parts of the page that are missing: without a proof nobody can sign it."""
        for heading in HEADINGS:
            if f"**{heading}.**" not in self.page:
                yield f"Its page has no part **{heading}.**"

    def _exceeds(self, claimed: core.Event) -> bool:
        """Return whether the exact curve passes the claimed one at one of the epsilons."""
        return any(
            self.example.hockey_stick(float(epsilon))
            > float(delta_at(claimed, epsilon)) * (1 + 1e-9) + ROUNDING
            for epsilon in EPSILONS
        )

    def _drawn(self, *, off: bool) -> Draws:
        mechanism = self.example.off if off else self.example.mechanism
        return self.example.sample(mechanism, self.example.left, self.draws)
