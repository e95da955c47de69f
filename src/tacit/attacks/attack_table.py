"""Attacks on a table of an owner: rows without names, and counts with and without noise.

The first part adds the noise of Tacit at a stated loss, and computes the largest success that
the loss allows any attacker. The second part runs linkage and reconstruction attacks. An
attacker on noisy answers knows the law of the noise, who is in the table, and how frequent
each value of the secret is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import best_auc, exchange, rho_within
from tacit.attacks.chance import Codes, Guesses, judge, or_blind
from tacit.attacks.finding import Finding
from tacit.attacks.linkage import cells, homogeneity, linkage, uniqueness
from tacit.attacks.reconstruction import (
    estimate_with_prior,
    least_squares,
    most_likely,
    refine_estimate,
)
from tacit.attacks.secret_values import SecretValues
from tacit.choose import choose_noise
from tacit.core import Loss, Norm, Rule, Secret, Sensitivity
from tacit.errors import InternalError
from tacit.mechanisms import Gaussian, Laplace, LiveGateway
from tacit.noise import uniform_bits
from tacit.numeric import Number, exact
from tacit.numeric.entropy import SystemEntropy

ONE = Rule("one person is counted so often")


def loss_within(epsilon: Number, delta: Number) -> Loss:
    """Return the loss of all answers together: zCDP if delta is above 0, else pure epsilon.

    Example:
        >>> print(loss_within(1, 0), "or", loss_within(1, "1e-6").measure.name)
        ε = 1 or ZCDP
    """
    if not exact(delta):
        return Loss.pure(epsilon)
    return Loss.zcdp(rho_within(exact(epsilon), exact(delta)))


@dataclass(frozen=True, slots=True)
class CountNoise:
    """The noise of counts that are released together within a loss, and its public law.

    One person is in at most ``times`` of the counts.

    Example:
        >>> noise = CountNoise.within(Loss.pure(1), times=1, size=2)
        >>> noise.release(np.array([[40, 2]])).shape
        (1, 2)
    """

    mechanism: Laplace | Gaussian
    sensitivity: Sensitivity

    @classmethod
    def within(cls, loss: Loss, *, times: int, size: int) -> "CountNoise":
        """Return the noise with the least error for ``size`` counts."""
        known = [
            Sensitivity.of(times, Norm.L1, ONE),
            Sensitivity(Fraction(times), Norm.L2, ONE),
        ]
        mechanism = choose_noise(known, size, loss).mechanism
        if not isinstance(mechanism, Laplace | Gaussian):
            raise InternalError("Counts have Laplace or Gaussian noise.")
        norm = Norm.L2 if isinstance(mechanism, Gaussian) else Norm.L1
        return cls(mechanism, next(each for each in known if each.norm is norm))

    def release(self, counts: NDArray[Any]) -> NDArray[np.int64]:
        """Return noisy counts, in the shape of ``counts``."""
        flat = np.asarray(np.rint(counts), dtype=np.int64).ravel()
        gateway = LiveGateway(SystemEntropy(b"an owner's attack"))
        released = self.mechanism.release(Secret(flat), self.sensitivity, gateway)
        return np.asarray(released, dtype=np.int64).reshape(counts.shape)

    def log_law(self, noise: NDArray[Any]) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each noise, up to a constant."""
        if isinstance(self.mechanism, Gaussian):
            return np.asarray(-np.square(noise) / (2 * float(self.mechanism.variance)))
        return np.asarray(-np.abs(noise) / float(self.mechanism.scale))


def largest_success(epsilon: Number, delta: Number) -> float:
    """Return the largest success of an attacker who decides whether one person is counted.

    Both cases are equally likely, and the data of all other people is the same in both.

    Example:
        >>> round(largest_success(1, 0), 3)
        0.731
    """
    return float(best_auc(exact(epsilon), exact(delta)))


def largest_exchange_success(epsilon: Number, delta: Number) -> float:
    """Return a bound on the success of an attacker who decides which of two people is counted.

    Exactly one of them is. It is also a bound for two equally likely values of one person.

    Example:
        >>> round(largest_exchange_success(1, 0), 3)
        0.881
    """
    return float(best_auc(*exchange(exact(epsilon), exact(delta))))


def above_chance(chance: float, epsilon: Number, delta: Number) -> float:
    """Return a bound on the success of an attacker who guesses a value of one person.

    A blind guess succeeds with ``chance``, and so does every guess from releases without the
    person. With the person, its success grows by a factor of at most exp(epsilon), and its
    failure shrinks by no more than this factor.

    Example:
        >>> round(above_chance(0.25, 1, 0), 3), round(above_chance(0.5, 1, 0), 3)
        (0.68, 0.816)
    """
    power, lost = float(np.exp(float(exact(epsilon)))), float(exact(delta))
    return min(1.0, power * chance + lost, 1 - (1 - chance - lost) / power)


# ------------------------------------------------------------------ attacks on a table

MOST_SECRETS = 1000
"""Maximum number of people whose bits are reconstructed, from four questions for each."""

LEAST_OWNERS = 10
"""People with a rare value who are among them, if there are so many."""


def rows_without_names(facts: Sequence[NDArray[Any]], secret: NDArray[Any]) -> list[Finding]:
    """Return the findings of linkage attacks on rows of public facts and one secret.

    The attacker also has a list of names with the same public facts.
    """
    return [
        uniqueness(facts),
        linkage(facts, secret, facts, secret),
        homogeneity(facts, secret),
    ]


def cells_through_tacit(
    facts: Sequence[NDArray[Any]], secret: SecretValues, epsilon: Number, delta: Number
) -> Finding:
    """Return the finding of an attacker who sees noisy counts of every cell.

    A cell is a combination of public facts, and the attacker knows who is in it. They guess the
    value with the largest likelihood ratio, which has the largest balanced accuracy. The
    same attack on counts without the person shows which part of its success is not due to the
    person: a value that is frequent in a large cell is known whether or not they took part.
    """
    place, codes = cells(facts), secret.codes
    sizes, values = np.bincount(place), len(secret.names)
    counts = np.zeros((sizes.size, values), dtype=np.int64)
    np.add.at(counts, (place, codes), 1)
    noise = CountNoise.within(loss_within(epsilon, delta), times=1, size=counts.size)
    seen, shares = noise.release(counts), secret.counts / codes.size
    ratios = value_ratios(seen, sizes, shares, noise)[place]
    absent, person = ratios.copy(), np.arange(codes.size)
    fewer = value_ratios(seen - 1, sizes, shares, noise)
    absent[person, codes] = fewer[place, codes]
    without = Guesses(np.argmax(absent, axis=1), codes).balanced_accuracy().value
    guesses = Guesses(np.argmax(ratios, axis=1), codes)
    allowed = above_chance(max(guesses.chance, without), epsilon, delta)
    learns, system = "named people's secrets", f"Tacit, ε = {epsilon} in all"
    found = judge(
        "linkage",
        system,
        learns,
        guesses,
        allowed=allowed,
        without=max(without, guesses.chance),
    )
    return or_blind(found)


def value_ratios(
    seen: NDArray[np.int64], sizes: Codes, shares: NDArray[np.float64], noise: CountNoise
) -> NDArray[np.float64]:
    """Return log likelihood ratios: does a person in a cell have a value, by its noisy count?

    The others of the cell have the value as often as an urn that begins with its share of
    `URN` people and learns from each person in it: the share of a large cell is learned
    from its count, and the cell of one person is judged by the noise alone.
    """
    found = np.zeros(seen.shape)
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        for value, share in enumerate(shares.tolist()):
            if not 0 < share < 1:
                continue
            given = seen[chosen, value][:, None] - np.arange(size + 1)
            law = noise.log_law(given)
            has, has_not = URN * share, URN * (1 - share)
            theirs = _log_sum(law[:, 1:] + _urn(size - 1, has + 1, has_not))
            others = _log_sum(law[:, :-1] + _urn(size - 1, has, has_not + 1))
            found[chosen, value] = theirs - others
    return found


URN = 2.0
"""Number of people in the urn at the start: a small number learns quickly from a cell."""


def _urn(draws: int, has: float, has_not: float) -> NDArray[np.float64]:
    """Return the logarithms of the beta-binomial distribution of 0 to ``draws``."""
    k = np.arange(draws)
    steps = np.log((draws - k) / (k + 1)) + np.log((has + k) / (has_not + draws - k - 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(logs - _log_sum(logs[None, :]))


def _log_sum(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the sum of each row, given by logarithms."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(logs - top).sum(axis=1)))


# ------------------------------------------------------------------ reconstruction from counts


def counts_of_groups(secret: SecretValues, epsilon: Number, delta: Number) -> list[Finding]:
    """Return the findings of reconstruction attacks by many counts of random groups.

    Each attack asks who has one value: the one whose share is nearest to one half, and a rare
    one. The success is the balanced accuracy, so that naming nobody is worth a coin's throw.
    """
    return [
        found
        for target in secret.targets()
        for found in _counts_of_owners(secret, target, epsilon, delta)
    ]


def _counts_of_owners(
    secret: SecretValues, target: int, epsilon: Number, delta: Number
) -> list[Finding]:
    bits = _sample(np.asarray(secret.codes == target, dtype=np.int64))
    questions, owners = 4 * bits.size, int(bits.sum())
    drawn = uniform_bits(SystemEntropy(b"an owner's attack"), questions * bits.size, 1)
    asked = drawn.reshape(questions, bits.size).astype(np.float64)
    answers = np.rint(asked @ bits)
    times = max(1, int(asked.sum(axis=0).max()))
    once = CountNoise.within(Loss.pure(epsilon), times=1, size=questions)
    whole = CountNoise.within(loss_within(epsilon, delta), times=times, size=questions)
    # people whose bit is 0 change no answer, as if they were not counted
    allowed = largest_success(epsilon, delta)
    systems: dict[str, tuple[NDArray[Any], float | None]] = {
        "exact counts": (answers, None),
        f"ε = {epsilon} per query without a ledger": (once.release(answers), None),
        f"Tacit, ε = {epsilon} in all": (whole.release(answers), allowed),
    }
    learns = f"which of {bits.size:,} people have {secret.names[target]!r}"
    if secret.split:
        learns = f"which of {bits.size:,} people are {secret.names[target]}"
    found = []
    for system, (given, limit) in systems.items():
        estimate = best_estimate(asked, given, owners / bits.size)
        guesses = np.asarray(estimate > 1 / 2, dtype=np.int64)
        named = Guesses(guesses, bits, most_likely(estimate, owners))
        solved = given is answers and is_only_solution(asked, answers, guesses)
        proved = bits.size if solved else 0
        judged = judge("reconstruction", system, learns, named, allowed=limit, proved=proved)
        found.append(judged if limit is None else or_blind(judged))
    return found


def best_estimate(
    questions: NDArray[Any], answers: NDArray[Any], share: float
) -> NDArray[np.float64]:
    """Return an estimate of each bit by the best estimator that is known.

    It is approximate message passing with the ``share`` of ones. If least squares, improved by
    the rounding of all others, explains the answers as well as exact answers would be, the
    questions have no noise to speak of, and its solution is taken.
    """
    found, _ = estimate_with_prior(questions, answers, share)
    rough = refine_estimate(questions, answers, least_squares(questions, answers))
    left = [_residual(questions, answers, each) for each in (rough, found)]
    return rough if left[0] < left[1] and left[0] < LITTLE else found


LITTLE = 0.25
"""Mean square of what rounded bits leave of the answers; rounding to integers leaves less."""


def _residual(questions: NDArray[Any], answers: NDArray[Any], found: NDArray[Any]) -> float:
    return float(np.mean(np.square(answers - questions @ (found > 1 / 2))))


def is_only_solution(
    questions: NDArray[Any], answers: NDArray[Any], bits: NDArray[Any]
) -> bool:
    """Return whether ``bits`` give exactly these answers, and no other numbers do.

    Example:
        >>> asked = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> is_only_solution(asked, np.array([1, 1, 2]), np.array([1, 0, 1]))
        True
    """
    if not np.array_equal(questions @ bits, answers):
        return False
    squares = questions.T @ questions
    return bool(np.linalg.eigvalsh(squares)[0] > 1e-6 * questions.shape[0])


def _sample(bits: Codes) -> Codes:
    """Return at most `MOST_SECRETS` bits, with some people who have a rare value."""
    kept = np.arange(min(bits.size, MOST_SECRETS))
    owners = np.flatnonzero(bits)
    missing = min(LEAST_OWNERS, owners.size) - int(bits[kept].sum())
    if missing > 0:
        others = kept[bits[kept] == 0][-missing:]
        kept[np.isin(kept, others)] = owners[owners >= kept.size][:missing]
    return bits[kept]
