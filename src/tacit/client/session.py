"""The one door over the network: questions, their prices and their answers."""

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import quote as quoted

from tacit.client.fit import asked_for, fit, preview
from tacit.client.paid import Line
from tacit.client.question import RemoteQuestion
from tacit.core.catalog import Catalog
from tacit.core.stored_catalog import decode
from tacit.core.stored_standing import decode_loss
from tacit.errors import InvalidValue
from tacit.frame.table import Table
from tacit.ledger.status import Status
from tacit.ledger.units import Units
from tacit.ledger.verify import Verdict
from tacit.ml.registry import Model, folded
from tacit.numeric.exact import exact
from tacit.plan.plan import Plan
from tacit.plan.relation import Scan
from tacit.query.fit_preview import FitPreview
from tacit.sql.parse import parse

COUNTED = ("missed", "locked", "failed", "retried", "frozen", "declaration")
"""What a server tells of answers that did not come, and of what an owner did."""


class Connection(Line, Protocol):
    """What a session speaks over."""

    url: str

    def get(self, path: str) -> Any:
        """What a server tells."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class RemoteSession:
    """Tables of a server that can be asked about, in the words of `Session`.

    `tacit.connect` makes one. What may be asked about is read once; connect again when owners
    have changed it.
    """

    def __init__(self, catalog: Catalog, wire: Connection) -> None:
        self._catalog = catalog
        self._wire = wire

    @classmethod
    def over(cls, wire: Connection) -> Self:
        """A session over ``wire``; the server says what may be asked about."""
        with ExitStack() as closing:
            closing.callback(wire.close)
            catalog = decode(wire.get("/v1/datasets"))
            closing.pop_all()
        return cls(catalog, wire)

    def sql(self, text: str) -> RemoteQuestion:
        """The question that ``text`` asks; refused, with the reason, where it is not known."""
        return self._asked(parse(text, self.catalog))

    def table(self, name: str) -> Table[RemoteQuestion]:
        """The rows of a dataset, to be filtered, grouped and counted."""
        return Table(self.catalog, Scan(self.catalog.dataset(name).name), self._asked)

    def fit(
        self,
        model: Model,
        dataset: str,
        *,
        features: Sequence[str],
        target: str | None = None,
        request: str | None = None,
    ) -> Model:
        """``model``, fitted to columns of a dataset, and paid for before any data is touched.

        It goes over the network as its name and settings, and its parameters come back. The
        same model and columns again are free, with the same parameters.
        """
        asked = asked_for(model, dataset, features, target)
        return fit(self._wire, self.catalog, model, asked, request)

    def cross_validate(  # noqa: PLR0913 - a model, what it is fitted to, and its scores
        self,
        model: Any,
        dataset: str,
        *,
        features: Sequence[str],
        target: str,
        folds: int = 5,
        epsilon: float = 1.0,
        delta: float = 1e-6,
    ) -> Any:
        """How well ``model`` does on people whom it was not fitted to, as ``test_scores_``."""
        asked = folded(model, folds, epsilon, delta)
        return self.fit(asked, dataset, features=features, target=target)

    def quote(
        self, model: Any, dataset: str, *, features: Sequence[str], target: str | None = None
    ) -> FitPreview:
        """What fitting ``model`` would cost: free, and without data."""
        return preview(self._wire, asked_for(model, dataset, features, target))

    @property
    def catalog(self) -> Catalog:
        """What may be asked about."""
        return self._catalog

    def status(self, population: str | None = None) -> Status:
        """What is spent and left of a budget."""
        name = self.catalog.population(population).name
        for told in self._wire.get("/v1/status")["budgets"]:
            if told["population"] == name:
                cap, spent = decode_loss(told["cap"]), decode_loss(told["spent"])
                delta = exact(told["conversion_delta"])
                units = Units.limit(cap), Units.limit(spent)
                least = Units.limit(decode_loss(told["least"])).amount
                counts: dict[str, Any] = {each: told[each] for each in COUNTED}
                return Status(name, cap.measure, delta, *units, **counts, least_amount=least)
        raise InvalidValue(f"The server tells nothing of the budget of {name!r}.")

    def verify(self, population: str | None = None) -> Verdict:
        """Have the server walk the whole chain of a population: for owners and auditors."""
        name = self.catalog.population(population).name
        told = self._wire.get(f"/v1/ledger/{quoted(name, safe='')}/verify")
        spent, cap = decode_loss(told["spent"]), decode_loss(told["cap"])
        head = bytes.fromhex(told["head"])
        return Verdict(name, told["entries"], head, spent, cap, anchored=False)

    def close(self) -> None:
        """Let go of the server."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.catalog.tables)
        people = ", ".join(population.name for population in self.catalog.populations)
        return f"<session at {self._wire.url} about {people}: {tables}>"

    def _asked(self, plan: Plan) -> RemoteQuestion:
        return RemoteQuestion(plan, self.catalog, self._wire)
