"""The one door: questions in SQL or in method calls, their prices and their answers."""

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from tacit.core import Catalog, Loss
from tacit.frame import Table
from tacit.ledger import ChainVerdict, Ledger, Status
from tacit.ml.registry import Model, cross_validation_of
from tacit.numeric import Number, exact
from tacit.plan import Plan, Scan
from tacit.query import FitPreview
from tacit.session.ask import fit, open_holdout, open_stream, preview
from tacit.session.curator import Curator
from tacit.session.question import Question
from tacit.sql import parse
from tacit.store import States
from tacit.stream import EACH, OpenHoldout, OpenStream, Periods, Stream, Thresholdout, Window


class Session:
    """Tables that can be asked about, and the ledger that is charged before they are.

    `tacit.open` makes one.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def sql(self, text: str) -> Question:
        """The question that ``text`` asks; refused, with the reason, where it is not known."""
        return self._asked(parse(text, self.catalog))

    def table(self, name: str) -> Table[Question]:
        """The rows of a dataset, to be filtered, grouped and counted."""
        return Table(self.catalog, Scan(self.catalog.dataset(name).name), self._asked)

    def stream(
        self,
        question: Question,
        loss: Loss,
        periods: Periods,
        *,
        window: Window = EACH,
        max_steps: int | None = None,
    ) -> OpenStream:
        """``question``, released for each of ``periods`` under one charge for all of them.

        Nothing is charged until its first step is released.
        """
        stream = Stream(question.plan, periods, loss, window, max_steps)
        return open_stream(self._curator, stream)

    def holdout(
        self, dataset: str, *, epsilon: Number, answers: int, rows: int, threshold: Number
    ) -> OpenHoldout:
        """A dataset whose shares can be asked for again and again, under one charge for all.

        Nothing is charged until the first share. ``rows`` is about how many it has, as far as
        that is public; see `tacit.stream.holdout`.
        """
        asked = Thresholdout(exact(epsilon), answers, rows, exact(threshold))
        return open_holdout(self._curator, dataset, asked)

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

        The same model and columns again are free, with the same parameters. It has its
        ``guarantee_``, and as ``release_`` what the ledger keeps.
        """
        return fit(self._curator, model, dataset, features, target, request)

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
        """How well ``model`` does on people whom it was not fitted to, as ``test_scores_``.

        The fits are charged, at the model's own loss each, and the scores, at ``epsilon``.
        """
        asked = cross_validation_of(model, folds, epsilon, delta)
        return self.fit(asked, dataset, features=features, target=target)

    def quote(
        self, model: Any, dataset: str, *, features: Sequence[str], target: str | None = None
    ) -> FitPreview:
        """What fitting ``model`` would cost: free, and without data."""
        return preview(self._curator, model, dataset, features, target)

    def as_if_unknown(self, dataset: str, column: str) -> "Session":
        """The same session where nothing is declared of a column: what an estimate asks."""
        catalog = self.catalog.as_if_unknown(dataset, column)
        return Session(replace(self._curator, catalog=catalog))

    @property
    def catalog(self) -> Catalog:
        """What may be asked about."""
        return self._curator.catalog

    @property
    def ledger(self) -> Ledger:
        """What owners and auditors use: budgets, quotas, decisions."""
        return self._curator.home.ledger

    @property
    def states(self) -> States:
        """What is kept sealed beside the ledger."""
        return self._curator.home.states

    def status(self, population: str | None = None) -> Status:
        """What is spent and left of a budget."""
        return self.ledger.status(self.catalog.population(population).name)

    def verify(self, population: str | None = None) -> ChainVerdict:
        """Walk the whole chain of a population; `LedgerBroken` says where it fails."""
        return self.ledger.verify(self.catalog.population(population).name)

    def close(self) -> None:
        """Let go of the engines and the ledger."""
        self._curator.close()

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
        return f"<session about {people}: {tables}>"

    def _asked(self, plan: Plan) -> Question:
        return Question(plan, self._curator)
