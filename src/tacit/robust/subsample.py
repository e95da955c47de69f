"""Subsample and aggregate: any estimator at all, on blocks, and a private location of them."""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from tacit.core.event import Event
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.robust.estimate import Estimate
from tacit.robust.location import Location
from tacit.robust.steps import Floats

LEAST_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class SubsampleAggregate:
    """The private ``location`` of what ``estimator`` says on each of ``blocks`` blocks of rows.

    Row i belongs to block i modulo ``blocks``. Neighbours replace one row, and the number of
    rows is public, so that one row moves one block's estimate. The estimator may be anything:
    what it raises, or says beyond all bounds, counts as no number, which is the lowest.

    Guarantee: that of ``location``, whatever the estimator does, as long as it looks at its own
    block alone and keeps nothing.
    Reference: Nissim, Raskhodnikova, Smith 2007, section 4.

    Example:
        >>> from tacit.core.bounds import Bounds
        >>> from tacit.core.loss import Loss
        >>> from tacit.robust.psi import Huber
        >>> where = Location(Bounds.of(0, 10), Huber(), scale=1.0, loss=Loss.pure(1))
        >>> SubsampleAggregate(np.median, 50, where).event() == where.event()
        True
    """

    estimator: Callable[[Floats], float]
    blocks: int
    location: Location

    def __post_init__(self) -> None:
        if self.blocks < LEAST_BLOCKS:
            raise InvalidValue(
                f"Rows are cut into {LEAST_BLOCKS} blocks or more, and "
                f"{self.blocks} were asked for."
            )

    def event(self) -> Event:
        """That of the location: one row moves one block."""
        return self.location.event()

    def release(self, rows: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy location of the blocks' estimates."""
        table = np.asarray(rows, dtype=np.float64)
        found = [self._of(table[place :: self.blocks]) for place in range(self.blocks)]
        return self.location.release(found, gateway)

    def _of(self, block: Floats) -> float:
        """What the estimator says of a block, and no number where it says nothing."""
        try:
            with np.errstate(all="ignore"):
                return float(self.estimator(block.copy()))
        except Exception:  # noqa: BLE001 - that it failed is a secret of the rows
            return nan
