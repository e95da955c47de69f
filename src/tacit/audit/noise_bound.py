"""What the noise of a question shows of its loss, from draws about two neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt, sqrt

import numpy as np

from tacit.audit.check import Check
from tacit.audit.lower_bound import epsilon_lower_bound, mu_lower_bound
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.numeric.entropy import SystemEntropy
from tacit.query.quote import PricedTally

LEAST_VARIANCE = 1
"""Below it a discrete Gaussian is told apart in other ways than a real one."""


@dataclass(frozen=True, slots=True)
class WorstPair:
    """One number that is 0 or ``moved`` by all of the sensitivity, and what that may lose.

    The event is that at most ``most`` is released: it is fixed before anything is drawn.
    """

    noise: str
    unit: str
    moved: int
    most: int
    claimed: float

    @classmethod
    def of(cls, priced: PricedTally) -> "WorstPair | None":
        """That of a tally whose noise can be drawn so; None for other mechanisms."""
        mechanism, sensitivity = priced.mechanism, priced.sensitivity
        match mechanism:
            case Laplace():
                moved = int(sensitivity.in_norm(Norm.L1).amount)
                return cls("Laplace noise", "ε", moved, 0, float(moved / mechanism.scale))
            case Gaussian() if mechanism.variance >= LEAST_VARIANCE:
                moved = isqrt(int(sensitivity.in_norm(Norm.L2).square))
                claimed = moved / sqrt(mechanism.variance)
                return cls("Gaussian noise", "μ", moved, moved // 2, claimed)
        return None


@dataclass(frozen=True, slots=True)
class Drawn:
    """How often noise is drawn on each side, and how sure one wants to be."""

    draws: int
    confidence: float

    def check(self, priced: PricedTally) -> Check | None:
        """The loss that the noise of a tally shows, beside what is claimed, where it can."""
        pair = WorstPair.of(priced)
        if pair is None:
            return None
        hits = [self._hits(value, pair.most, priced) for value in (0, pair.moved)]
        bound = BOUNDS[pair.unit]
        shown = bound(hits[0], self.draws, hits[1], self.draws, self.confidence)
        found = (
            f"{pair.unit} >= {shown:.4f} with {self.confidence:.1%} from {self.draws:,} draws "
            f"a side, and {pair.claimed:.4f} is claimed"
        )
        figures = {"draws": self.draws, "shown": shown, "claimed": pair.claimed}
        return Check(pair.noise, found, shown <= pair.claimed, figures)

    def _hits(self, value: int, most: int, priced: PricedTally) -> int:
        secret = Secret(np.full(self.draws, value, dtype=np.int64))
        gateway = LiveGateway(SystemEntropy(b"an audit"))
        released = priced.mechanism.release(secret, priced.sensitivity, gateway)
        return int(np.count_nonzero(np.asarray(released <= most)))


BOUNDS: dict[str, Callable[[int, int, int, int, float], float]] = {
    "ε": epsilon_lower_bound,
    "μ": mu_lower_bound,
}
