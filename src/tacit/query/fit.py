"""Drive an estimator: each step that it asks for is run by the engine, and sent back boxed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.catalog import Catalog
from tacit.core.parameter import Parameter, columns_of
from tacit.core.release import ReleasedColumn
from tacit.engines.engine import Engine, RowEngine
from tacit.errors import InternalError
from tacit.mechanisms.gateway import Gateway, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.estimator import Estimator, RowsOf, Step
from tacit.plan.training import Training
from tacit.query.fit_quote import FitQuote


@dataclass(frozen=True, slots=True)
class Data:
    """Where the rows of a fit are: an engine, its catalogue, and the salt of their order."""

    engine: Engine
    catalog: Catalog
    salt: bytes

    def answer(self, step: Step) -> Any:
        """What ``step`` asked for: secrets, one for each tally, or one of rows."""
        if not isinstance(step, RowsOf):
            return self.engine.run(step, self.catalog, self.salt).tallies
        if not isinstance(self.engine, RowEngine):
            raise InternalError("This engine has no rows to hand on.")
        return self.engine.rows(step.plan, self.catalog, self.salt)


def drive(
    estimator: Estimator[Gateway], training: Training, data: Data, gateway: Gateway
) -> tuple[Parameter, ...]:
    """The parameters that ``estimator`` learns; its event was charged before, or is not.

    Secrets go in and none comes out: they are opened at the ``gateway``.
    """
    steps = estimator.steps(training, gateway)
    # a warning would be an error where somebody made it one, and then tell of the data
    with np.errstate(all="ignore"):
        try:
            step = next(steps)
            while True:
                step = steps.send(data.answer(step))
        except StopIteration as done:
            found: tuple[Parameter, ...] = done.value
            return found


def fitted(
    estimator: Estimator[Gateway], training: Training, data: Data, charge: bytes
) -> tuple[Parameter, ...]:
    """The parameters that ``estimator`` learns, with fresh noise keyed by a ``charge``."""
    return drive(estimator, training, data, LiveGateway(SystemEntropy(charge)))


def run_fit(
    quote: FitQuote, engine: Engine, catalog: Catalog, salt: bytes, gateway: Gateway
) -> tuple[ReleasedColumn, ...]:
    """The parameters of a fit that was paid for, as columns."""
    data = Data(engine, catalog, salt)
    return columns_of(drive(quote.estimator, quote.training, data, gateway))
