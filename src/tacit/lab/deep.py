"""Training of neural networks with DP-SGD, by the library `jax-privacy`.

Gradients and noise are floating-point numbers, so the guarantee is idealised, and it states
this. A session does not fit such a model, because the guarantees of a ledger hold in the
arithmetic that is really executed.
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
"""A JAX pytree: arrays in nested lists, tuples and dictionaries."""

LossOf = Callable[[Tree, Tree], Any]
"""A function from weights and one unit's example to its loss, written with `jax.numpy`."""

ASSUMED = (
    "one unit is one example, and no two examples are of one unit",
    "nobody sees which examples were sampled",
)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The trained weights and their privacy guarantee."""

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
    """Train ``weights`` by descent along noisy gradients of ``loss``.

    ``examples`` are arrays of the same length, with one entry per unit. The ``optimiser`` is an
    optimiser of optax. It reads noisy gradients only, so it may do any computation with them.

    Guarantee: the loss of ``descent`` at ``delta``, if the noise had exactly the distribution
    for real numbers. It does not: JAX draws 32-bit floats from a 64-bit key.
    """
    if population.unit.neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidValue(
            "Sampling protects units that are added or removed, but this population has "
            f"{population.unit}; declare a unit that is added or removed."
        )
    lost = descent.loss(delta)
    found = _run_descent(
        loss,
        weights,
        examples,
        descent=descent,
        optimiser=optimiser,
        entropy=SystemEntropy(b"deep"),
    )
    guarantee = Guarantee(population, lost, ASSUMED, descent.event().numerics)
    return Trained(found, guarantee)


def _run_descent(  # noqa: PLR0913 - the same
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
    # the library's default key would have 31 bits, from a generator that can be predicted
    key = jax.random.wrap_key_data(entropy.words(1).view(np.uint32), impl="threefry2x32")
    noise = privacy.noise_addition.gaussian_privatizer(
        stddev=float(descent.noise) * descent.clip, prng_key=key
    )

    @jax.jit  # type: ignore[untyped-decorator] # JAX is not installed for the type check
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
        padded, padding = _pad(places, descent.expected)
        sample = jax.tree.map(lambda each, at=padded: each[at], examples)
        weights, states = step(weights, states, sample, padding)
    return weights


def _pad(places: Any, size: int) -> tuple[Any, Any]:
    """Return the indices padded to a multiple of ``size``, and which entries are padding.

    JAX compiles a function again for each new length. Padding reduces the number of lengths.
    """
    whole = size * max(1, ceil(places.size / size))
    padded = np.zeros(whole, dtype=np.int64)
    padded[: places.size] = places
    return padded, np.arange(whole) >= places.size
