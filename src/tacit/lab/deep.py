"""Networks of JAX, trained by noisy descent over secret samples: with `jax-privacy`.

Gradients and noise are floating point, so that the guarantee is idealised, and says so. No
session fits such a model: what a ledger promises holds in the arithmetic that is really used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from tacit.core import Guarantee, Neighbours, Population
from tacit.errors import InvalidValue
from tacit.extras import load
from tacit.lab.dp_sgd import SampledDescent
from tacit.numeric import Number
from tacit.numeric.entropy import Entropy, SystemEntropy

Tree = Any
"""Arrays in lists, tuples and dictionaries, as JAX has them."""

LossOf = Callable[[Tree, Tree], Any]
"""Weights and one unit's example, to its loss, in functions of `jax.numpy`."""

ASSUMED = (
    "one unit is one example, and no two examples are of one unit",
    "nobody sees which examples were sampled",
)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The weights that were learned, and what they lost."""

    weights: Tree
    guarantee: Guarantee


def train(  # noqa: PLR0913 - a network, its data, and public settings by name
    loss: LossOf,
    weights: Tree,
    examples: Tree,
    *,
    descent: SampledDescent,
    optimiser: Any,
    population: Population,
    delta: Number,
) -> Trained:
    """What ``weights`` become by descent along noisy gradients of ``loss``.

    ``examples`` are arrays of one length, a place for each unit. The ``optimiser`` is one of
    optax; it sees noisy gradients alone, and may do with them what it likes.

    Guarantee: that of the ``descent`` at ``delta``, if noise had exactly the law of real
    numbers. It has not: JAX draws 32-bit floats from a 64-bit key.
    """
    if population.unit.neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidValue(
            "Samples hide a unit that is added or removed, and this population has "
            f"{population.unit}; declare it by add or remove."
        )
    lost = descent.loss(delta)
    found = _descended(
        loss,
        weights,
        examples,
        descent=descent,
        optimiser=optimiser,
        entropy=SystemEntropy(b"deep"),
    )
    guarantee = Guarantee(population, lost, ASSUMED, descent.event().numerics)
    return Trained(found, guarantee)


def _descended(  # noqa: PLR0913 - the same
    loss: LossOf,
    weights: Tree,
    examples: Tree,
    *,
    descent: SampledDescent,
    optimiser: Any,
    entropy: Entropy,
) -> Tree:
    jax, privacy = load("jax", extra="deep"), load("jax_privacy", extra="deep")
    gradient = privacy.clipped_grad(
        loss, l2_clip_norm=descent.clip, batch_argnums=1, keep_batch_dim=False
    )
    # by default its key would have 31 bits, of a generator that can be guessed
    key = jax.random.wrap_key_data(entropy.words(1).view(np.uint32), impl="threefry2x32")
    noise = privacy.noise_addition.gaussian_privatizer(
        stddev=float(descent.noise) * descent.clip, prng_key=key
    )

    @jax.jit  # type: ignore[untyped-decorator] # JAX is not there where types are checked
    def step(weights: Tree, states: Tree, sample: Tree, padding: Any) -> tuple[Tree, Tree]:
        total = gradient(weights, sample, is_padding_example=padding)
        noisy, drawn = noise.update(total, states[0])
        mean = jax.tree.map(lambda each: each / descent.expected, noisy)
        changes, moved = optimiser.update(mean, states[1], weights)
        changed = jax.tree.map(lambda each, change: each + change, weights, changes)
        return changed, (drawn, moved)

    states = noise.init(weights), optimiser.init(weights)
    units = len(jax.tree.leaves(examples)[0])
    for places in descent.samples(units, entropy):
        padded, padding = _padded(places, descent.expected)
        sample = jax.tree.map(lambda each, at=padded: each[at], examples)
        weights, states = step(weights, states, sample, padding)
    return weights


def _padded(places: Any, size: int) -> tuple[Any, Any]:
    """The places and as many others as fill a multiple of ``size``, and which those are.

    A new length is compiled anew, and samples have many: so they come in few.
    """
    whole = size * max(1, ceil(places.size / size))
    padded = np.zeros(whole, dtype=np.int64)
    padded[: places.size] = places
    return padded, np.arange(whole) >= places.size
