"""Attacks on a table of an owner: rows without names, and counts with and without noise.

The first part adds the noise of Tacit at a stated loss, and computes the largest success that
the loss allows any attacker. The second part runs linkage and reconstruction attacks.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import best_auc, exchange, rho_within
from tacit.attacks.finding import Finding, Measured
from tacit.attacks.linkage import cells, homogeneity, linkage, uniqueness
from tacit.attacks.reconstruction import bits_recovered, least_squares, refine_estimate
from tacit.choose import choose_noise
from tacit.core import Loss, Norm, Rule, Secret, Sensitivity
from tacit.mechanisms import LiveGateway
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


def noisy(counts: NDArray[Any], times: int, loss: Loss) -> NDArray[np.int64]:
    """Return noisy counts, released together within ``loss``.

    One person is in at most ``times`` of the counts.

    Example:
        >>> noisy(np.array([[40, 2]]), 1, Loss.pure(1)).shape
        (1, 2)
    """
    known = [
        Sensitivity.of(times, Norm.L1, ONE),
        Sensitivity(Fraction(times), Norm.L2, ONE),
    ]
    flat = np.asarray(np.rint(counts), dtype=np.int64).ravel()
    mechanism = choose_noise(known, flat.size, loss).mechanism
    norm = Norm.L2 if loss.delta or loss.measure.name == "ZCDP" else Norm.L1
    sensitivity = next(each for each in known if each.norm is norm)
    gateway = LiveGateway(SystemEntropy(b"an owner's attack"))
    released = mechanism.release(Secret(flat), sensitivity, gateway)
    return np.asarray(released, dtype=np.int64).reshape(counts.shape)


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
    facts: Sequence[NDArray[Any]], secret: NDArray[Any], epsilon: Number, delta: Number
) -> Finding:
    """Return the finding of an attacker who sees noisy counts of every cell.

    A cell is a combination of public facts. The attacker guesses the most frequent secret of
    a person's cell.
    """
    place = cells(facts)
    values, codes = np.unique(secret, return_inverse=True)
    counts = np.zeros((int(place.max()) + 1, values.size), dtype=np.int64)
    np.add.at(counts, (place, codes), 1)
    seen = noisy(counts, 1, loss_within(epsilon, delta))[place]
    hits = float(np.count_nonzero(np.argmax(seen, axis=1) == codes))
    chance = float(np.bincount(codes).max() / codes.size)
    learns, system = "named people's secrets", f"Tacit, ε = {epsilon} in all"
    success = Measured.share(hits, codes.size)
    allowed = above_chance(chance, epsilon, delta)
    return Finding("linkage", system, learns, success, chance, allowed)


def counts_of_groups(secret: NDArray[Any], epsilon: Number, delta: Number) -> list[Finding]:
    """Return the findings of a reconstruction attack by many counts of random groups.

    The secret bit is whether a person has the value whose share is nearest to one half.
    """
    bits = _even_bits(secret)[:MOST_SECRETS]
    questions = 4 * bits.size
    drawn = uniform_bits(SystemEntropy(b"an owner's attack"), questions * bits.size, 1)
    asked = drawn.reshape(questions, bits.size).astype(np.float64)
    answers = np.rint(asked @ bits)
    loss, times = loss_within(epsilon, delta), int(asked.sum(axis=0).max())
    most = largest_success(epsilon, delta)
    share = float(bits.mean())
    # people whose bit is 0 change no answer, as if they were not counted; a blind guess of the
    # more frequent bit may succeed more often than the bound for bits that are equally likely
    allowed = max(most, share, 1 - share)
    systems: dict[str, tuple[NDArray[Any], float | None]] = {
        "exact counts": (answers, None),
        f"ε = {epsilon} per query without a ledger": (
            noisy(answers, 1, Loss.pure(epsilon)),
            None,
        ),
        f"Tacit, ε = {epsilon} in all": (noisy(answers, times, loss), allowed),
    }
    found = []
    for system, (given, limit) in systems.items():
        estimate = refine_estimate(asked, given, least_squares(asked, given))
        found.append(bits_recovered("reconstruction", system, estimate, bits, limit))
    return found


def _even_bits(secret: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each person, whether they have the value whose share is nearest to 1/2."""
    values, codes = np.unique(secret, return_inverse=True)
    shares = np.bincount(codes) / codes.size
    chosen = int(np.argmin(np.abs(shares - 1 / 2)))
    return np.asarray(codes == chosen, dtype=np.float64) if values.size else np.zeros(0)
