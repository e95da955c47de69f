"""One step of a stream: what leaves, and how it is made of secrets and kept noise."""

import json
from dataclasses import dataclass

import numpy as np

from tacit.engines.engine import SecretTable
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms.add_noise import Sampler
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import INT64_BITS, Integers, narrowed, packed
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import Entropy
from tacit.stream.quote import StreamQuote

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Step:
    """What is public after a step: the noisy totals of each tally so far, group by group.

    They are whole numbers of parts of 2**-bits. What is shown of any window is a difference of
    two of them, and costs nothing.
    """

    number: int
    totals: tuple[Integers, ...]

    def encode(self) -> bytes:
        """The canonical bytes, which the ledger keeps."""
        stored = {
            "tacit stream step": FORMAT,
            "number": self.number,
            "totals": [total.tolist() for total in self.totals],
        }
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> "Step":
        """The step whose bytes are ``stored``."""
        try:
            value = json.loads(stored)
            return cls(value["number"], tuple(packed(total) for total in value["totals"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue("These are not the bytes of a step of a stream.") from error


@dataclass(frozen=True, slots=True)
class AddKept:
    """The draw of a stream: values, in parts of 2**-bits, and the noise that is kept for them.

    Guarantee: the sum is that of the integers, however large.
    """

    noise: Integers
    bits: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The values with their noise; nothing is drawn here."""
        del entropy
        if values.shape != self.noise.shape:
            raise InternalError("A step has as much noise as it has values.")
        if _within(values, INT64_BITS - self.bits) and _within(self.noise, INT64_BITS):
            summed: Integers = values.astype(np.int64) * 2**self.bits + self.noise
            return summed
        return narrowed(values.astype(object) * 2**self.bits + self.noise.astype(object))


def _within(values: Integers, bits: int) -> bool:
    return values.dtype != object and bool(np.abs(values).max(initial=0) < 2**bits)


def fresh_noise(quote: StreamQuote, entropy: Entropy) -> Integers:
    """A fresh draw for each number of a step, tally after tally."""
    samplers = [_sampler(part.noise) for part in quote.tallies]
    return np.concatenate([each.draw(entropy, quote.groups) for each in samplers])


def _sampler(noise: Gaussian | Laplace) -> Sampler:
    if isinstance(noise, Gaussian):
        return DiscreteGaussian(noise.variance)
    return DiscreteLaplace(noise.scale)


def released_step(
    quote: StreamQuote,
    before: Step | None,
    noise: Integers,
    table: SecretTable,
    gateway: Gateway,
) -> Step:
    """The step after ``before``: what the engine found in its period, with its kept noise."""
    parts = np.split(noise, len(quote.tallies))
    nothing = (np.zeros(quote.groups, dtype=np.int64),) * len(parts)
    earlier = nothing if before is None else before.totals
    totals = []
    for tally, secret, part, total in zip(
        quote.tallies, table.tallies, parts, earlier, strict=True
    ):
        now = gateway.release(secret, tally.step, AddKept(part, quote.factor.bits))
        totals.append(narrowed(total.astype(object) + now.astype(object)))
    return Step(0 if before is None else before.number + 1, tuple(totals))
