"""Attack rows without names, and the counts that somebody might publish of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attacks.anonymity import homogeneity
from tacit.attacks.finding import Finding
from tacit.attacks.linkage import cells, linkage, uniqueness
from tacit.attacks.measured import Measured
from tacit.attacks.reconstruction import bits_told, least_squares, sharpened
from tacit.attacks.through_tacit import above_chance, loss_within, noisy, told_at_most
from tacit.core.loss import Loss
from tacit.noise.uniform import uniform_bits
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact import Number

MOST_SECRETS = 1000
"""People whose bits are reconstructed, from four times as many questions."""


def rows_without_names(facts: Sequence[NDArray[Any]], secret: NDArray[Any]) -> list[Finding]:
    """What rows of public facts and one secret tell, beside a list of names and facts."""
    return [
        uniqueness(facts),
        linkage(facts, secret, facts, secret),
        homogeneity(facts, secret),
    ]


def cells_through_tacit(
    facts: Sequence[NDArray[Any]], secret: NDArray[Any], epsilon: Number, delta: Number
) -> Finding:
    """The same secrets guessed from noisy counts of every cell: the likeliest one in it."""
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
    """Whether many counts of random groups tell who has a value that about half have."""
    bits = _even_bits(secret)[:MOST_SECRETS]
    questions = 4 * bits.size
    drawn = uniform_bits(SystemEntropy(b"an owner's attack"), questions * bits.size, 1)
    asked = drawn.reshape(questions, bits.size).astype(np.float64)
    answers = np.rint(asked @ bits)
    loss, times = loss_within(epsilon, delta), int(asked.sum(axis=0).max())
    most = told_at_most(epsilon, delta)
    share = float(bits.mean())
    # whoever sees nothing says the commoner bit, which may be right more often than that
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
        estimate = sharpened(asked, given, least_squares(asked, given))
        found.append(bits_told("reconstruction", system, estimate, bits, limit))
    return found


def _even_bits(secret: NDArray[Any]) -> NDArray[np.float64]:
    """Whether each has the value that is nearest to being had by half."""
    values, codes = np.unique(secret, return_inverse=True)
    shares = np.bincount(codes) / codes.size
    chosen = int(np.argmin(np.abs(shares - 1 / 2)))
    return np.asarray(codes == chosen, dtype=np.float64) if values.size else np.zeros(0)
