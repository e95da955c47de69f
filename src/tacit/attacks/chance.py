"""Judge the guesses of an attacker: are they better than a blind guess, and is it luck?

A share of right guesses says little about a rare secret: if one person in 200 has an illness,
"nobody has it" is right in 99.5% of the cases, and names nobody. So guesses are judged by two
numbers that a blind guess cannot raise:

* the balanced accuracy: the mean, over the values of the secret, of the share of the people
  with this value for whom it was guessed. Guesses that do not depend on the secrets have a
  balanced accuracy of 1 / (number of values), however frequent the values are.
* the naming: how many of the people who have a rare value are named with it, and how many
  others are named wrongly.

**The test.** A blind attacker may know how often each value occurs, and may guess each value as
often as they like, but their guesses do not depend on who has which value. So all orders of
the secrets are equally likely, given the guesses. `luck` bounds the probability that so many
guesses are right by chance. Guesses are called better than a guess if this bound is at most
`ERROR`, so that a blind attacker gets this verdict at most once in 10,000 times.

If there are so few people that even a full reconstruction could be luck, the verdict says so.
It is never that of a blind guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.finding import ERROR, Finding, Measured, Naming
from tacit.errors import InvalidValue

RARE = 0.1
"""A value is rare if fewer than this share of the people have it."""

MOMENTS = 8
"""Binomial moments that are computed, as a multiple of the square root of the people."""

Codes = NDArray[np.int64]
"""The value of each person's secret, or of a guess at it, as a number from 0."""


def luck(guessed: Sequence[int], have: Sequence[int], right: int) -> float:
    """Bound the probability that a blind attacker is right for ``right`` people or more.

    ``guessed[v]`` is how often the value v was guessed, and ``have[v]`` how many people have
    it. Values that are left out of ``guessed`` are never counted as right.

    Guarantee: if all orders of the secrets are equally likely, the number T of right guesses
    is ``right`` or more with at most this probability. By Markov's inequality it is at most
    E[C(T, k)] / C(right, k) for each k up to ``right``, and the least of these is returned.
    E[C(T, k)] is a rook number: the number of ways to choose k people with their guesses right,
    as a share of all (n)(n - 1)...(n - k + 1).
    Reference: Riordan 1958, chapter 7 (rook numbers); Philips, Nelson 1995 (a moment bound is
    at most as large as Chernoff's).

    Example:
        >>> luck([5, 0], [5, 995], 5) < 1e-12
        True
        >>> luck([500, 500], [500, 500], 510) > 0.1
        True
    """
    people = sum(have)
    if not 0 <= right <= people or len(guessed) != len(have):
        raise InvalidValue(
            f"Give one number of guesses for each of the {len(have)} values, and at most "
            f"{people} right guesses, but {right} were given."
        )
    most = min(right, ceil(MOMENTS * sqrt(people)))
    if most == 0:
        return 1.0
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, people + 1)))])  # of k!
    ways = _rook_logs(guessed, have, most, logs)
    k = np.arange(ways.size)
    orders = logs[people] - logs[people - k]
    chosen = logs[right] - logs[k] - logs[right - k]
    return min(1.0, exp(float(np.min(ways - orders - chosen))))


def _rook_logs(
    guessed: Sequence[int], have: Sequence[int], most: int, logs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the logarithms of the rook numbers 0 to ``most``; values do not share rooks."""
    blocks = [(g, h) for g, h in zip(guessed, have, strict=True) if g and h]
    single = sum(block == (1, 1) for block in blocks)
    found = np.zeros(1)
    if single:  # (1 + x) ** single
        k = np.arange(min(single, most) + 1)
        found = logs[single] - logs[k] - logs[single - k]
    for g, h in blocks:
        if (g, h) == (1, 1):
            continue
        k = np.arange(min(g, h, most) + 1)
        block = logs[g] - logs[k] - logs[g - k] + logs[h] - logs[h - k]
        found = _log_convolve(found, block, most)
    return found


def _log_convolve(
    first: NDArray[np.float64], second: NDArray[np.float64], most: int
) -> NDArray[np.float64]:
    """Multiply two polynomials, given by logarithms of coefficients, up to a degree."""
    if first.size < second.size:
        first, second = second, first
    size = min(first.size + second.size - 1, most + 1)
    out = np.full(size, -np.inf)
    for place, value in enumerate(second[:size].tolist()):
        end = min(size, place + first.size)
        out[place:end] = np.logaddexp(out[place:end], first[: end - place] + value)
    return out


# ------------------------------------------------------------------ guesses of an attacker


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """The guesses of an attacker, the secrets, and the chance that they are luck.

    ``claims`` are other guesses, by which the attacker names people who have a rare value. By
    default they are the same guesses.

    Example:
        >>> truth = np.array([1] * 5 + [0] * 995)
        >>> nobody = Guesses(np.zeros(1000, dtype=np.int64), truth)
        >>> nobody.balanced_accuracy().value, nobody.luck
        (0.5, 1.0)
        >>> Guesses(truth, truth).luck < ERROR
        True
    """

    guesses: Codes
    truth: Codes
    claims: Codes | None = None

    def __post_init__(self) -> None:
        if not self.truth.size or self.guesses.shape != self.truth.shape:
            raise InvalidValue("Give one guess for each person, for one person or more.")

    @property
    def chance(self) -> float:
        """The balanced accuracy of a blind guess."""
        return 1 / int(np.count_nonzero(self._have))

    @property
    def luck(self) -> float:
        """A bound on the probability that a blind attacker does as well.

        It is three times the least of three bounds: for all right guesses, for those of values
        that are not the most frequent one, and for the people with a rare value who are named.
        The first sees most if all values are frequent, and the others if one of them is.
        """
        rare = self._rare
        others = np.arange(rare.size) != np.argmax(self._have)
        parts = [self._luck_of(self.guesses, each) for each in (np.ones_like(rare), others)]
        if rare.any() and not rare[self._have > 0].all():
            parts.append(self._luck_of(self._claims, rare))
        return min(1.0, 3 * min(parts))

    @property
    def tellable(self) -> bool:
        """Whether a full reconstruction could be distinguished from luck."""
        return Guesses(self.truth, self.truth).luck <= ERROR

    def balanced_accuracy(self) -> Measured:
        """Return the balanced accuracy."""
        have = self._have
        hits = np.bincount(self.truth[self.guesses == self.truth], minlength=have.size)
        return Measured.balanced_accuracy(hits[have > 0], have[have > 0])

    def naming(self) -> Naming | None:
        """Return how many of those with a rare value are named; None if no value is rare.

        It is None too if all values are rare, because then it is the share of right guesses.
        """
        rare, have = self._rare, self._have
        if not rare.any() or rare[have > 0].all():
            return None
        claims = self._claims
        named = np.bincount(claims[claims < have.size], minlength=have.size) * rare
        right = int(np.count_nonzero((claims == self.truth) & rare[self.truth]))
        blind = float((named * have).sum() / self.truth.size)
        return Naming(right, int(have[rare].sum()), int(named.sum()), blind)

    @property
    def _claims(self) -> Codes:
        return self.guesses if self.claims is None else self.claims

    @property
    def _have(self) -> Codes:
        return np.asarray(np.bincount(self.truth), dtype=np.int64)

    @property
    def _rare(self) -> NDArray[np.bool_]:
        have = self._have
        return np.asarray((have > 0) & (have < RARE * self.truth.size), dtype=np.bool_)

    def _luck_of(self, guesses: Codes, counted: NDArray[np.bool_]) -> float:
        """Return the bound for the guesses that name one of the ``counted`` values."""
        have = self._have
        known = guesses[guesses < have.size]
        guessed = np.bincount(known, minlength=have.size) * counted
        inside = (guesses == self.truth) & counted[self.truth]
        return luck(guessed.tolist(), have.tolist(), int(np.count_nonzero(inside)))


def judge(  # noqa: PLR0913 - the fields of a finding
    attack: str,
    system: str,
    learns: str,
    guesses: Guesses,
    *,
    allowed: float | None = None,
    without: float | None = None,
    proved: int = 0,
) -> Finding:
    """Return the finding of an attacker's guesses.

    ``without`` is the balanced accuracy of the same attack on data without each person, and
    ``proved`` is the number of people about whom the attacker can be certain, without luck.

    Example:
        >>> truth = np.array([1] * 5 + [0] * 995)
        >>> print(judge("a join", "rows", "who is ill", Guesses(truth, truth)).verdict.value)
        tells nearly everything
    """
    if guesses.chance == 1:  # everybody has the same value
        success = Measured.share(guesses.truth.size, guesses.truth.size)
        return Finding(attack, system, learns, success, 1.0, allowed, fact=True)
    return Finding(
        attack,
        system,
        learns,
        guesses.balanced_accuracy(),
        guesses.chance,
        allowed,
        luck=guesses.luck,
        tellable=guesses.tellable,
        naming=guesses.naming(),
        without=without,
        proved=proved,
    )


def or_blind(finding: Finding) -> Finding:
    """Return the finding of an attacker who guesses blindly where this is better.

    An attacker who knows how frequent the values are is never worse than a blind guess. If
    guesses were worse on these people, the success is that of the blind guess. Whether
    anything was learned is still judged by the guesses.

    Example:
        >>> worse = Finding("a join", "rows", "who is ill", Measured.share(40, 100), 0.5)
        >>> or_blind(worse).success.value
        0.5
    """
    success, chance = finding.success, finding.chance
    if success.value >= chance:
        return finding
    blind = replace(success, value=chance, high=max(success.high, chance))
    return replace(finding, success=blind)
