"""A session: questions in SQL or in method calls, their prices and their answers."""

from collections.abc import Sequence
from datetime import date
from types import TracebackType
from typing import Any, Self

from tacit.certify import Certificate
from tacit.core import Catalog, Loss, Release, RowsProfile, TotalProfile
from tacit.frame import Table
from tacit.ledger import (
    USUAL_LIMIT,
    ChainVerdict,
    History,
    HistoryFilter,
    Ledger,
    Status,
    request_id,
)
from tacit.ml.registry import Model, cross_validation_of
from tacit.numeric import Number, exact
from tacit.plan import Plan, PublicRows, Scan
from tacit.project import Allowance
from tacit.query import FitPreview, FreeQuestion
from tacit.session.ask import fit, open_holdout, open_stream, preview
from tacit.session.certificates import certificate_for, receipt_of
from tacit.session.changes import quota_of
from tacit.session.curator import Curator
from tacit.session.error_curve import ErrorCurve, error_curve
from tacit.session.estimate import (
    DomainEstimate,
    LimitsEstimate,
    estimate_limits,
    estimate_of,
    measure_profile,
    measure_totals,
)
from tacit.session.oversight import Spending, anchor_state, spending
from tacit.session.question import Question, loss_for
from tacit.sql import read_statement
from tacit.store import States
from tacit.stream import EACH, OpenHoldout, OpenStream, Periods, Stream, Thresholdout, Window


class Session:
    """Tables that can be asked about, and the ledger that is charged before they are read.

    `tacit.open` returns a session.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def sql(self, text: str) -> Question | FreeQuestion:
        """Return the question that ``text`` asks; refuse SQL that is not supported.

        A statement that needs no data, such as SELECT 1, is a `FreeQuestion`.
        """
        found = read_statement(text, self.catalog)
        if isinstance(found, PublicRows):
            return FreeQuestion.of(found, self.catalog)
        return self._question(found)

    def table(self, name: str) -> Table[Question]:
        """Return the rows of a dataset, which can be filtered, grouped and counted."""
        return Table(self.catalog, Scan(self.catalog.dataset(name).name), self._question)

    def curve(  # noqa: PLR0913 - a question, and an amount or an error
        self,
        question: Question,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        within: Number | None = None,
        assume_size: Sequence[int] | None = None,
    ) -> ErrorCurve:
        """Return what each margin of error of ``question`` costs, around the amount given.

        It is free and reads no data. The amounts are those of `Question.quote`.
        """
        preview = question.quote(
            epsilon=epsilon, rho=rho, delta=delta, within=within, assume_size=assume_size
        )
        return error_curve(question, preview, assume_size, exact(delta))

    def stream(
        self,
        question: Question,
        loss: Loss,
        periods: Periods,
        *,
        window: Window = EACH,
        max_steps: int | None = None,
    ) -> OpenStream:
        """Open a stream of ``question``: one release for each of ``periods``, charged once.

        Nothing is charged before the first release.
        """
        stream = Stream(question.plan, periods, loss, window, max_steps)
        return open_stream(self._curator, stream)

    def holdout(
        self, dataset: str, *, epsilon: Number, answers: int, rows: int, threshold: Number
    ) -> OpenHoldout:
        """Open a holdout: shares of a dataset that can be asked for often, charged once.

        Nothing is charged before the first share. ``rows`` is the approximate number of rows,
        which must be public; see `tacit.stream.holdout`.
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
        """Fit ``model`` to columns of a dataset; it is charged before any data is read.

        The same model and columns again are free and give the same parameters. The fitted
        model has the attributes ``guarantee_`` and ``release_``, the release in the ledger.
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
        """Score ``model`` on people to whom it was not fitted; see ``test_scores_``.

        Each fit is charged at the model's own loss, and the scores are charged at ``epsilon``.
        """
        asked = cross_validation_of(model, folds, epsilon, delta)
        return self.fit(asked, dataset, features=features, target=target)

    def quote(
        self, model: Any, dataset: str, *, features: Sequence[str], target: str | None = None
    ) -> FitPreview:
        """Return the price of fitting ``model``; this is free and reads no data."""
        return preview(self._curator, model, dataset, features, target)

    def limits(
        self, dataset: str, *, column: str | None = None, epsilon: Number | None = None
    ) -> LimitsEstimate:
        """Estimate how many people have more rows than each limit, for a charge.

        It shows the noise and the cut of each limit of ``max_rows``, and suggests one. With a
        ``column`` it is about the totals of people, and ``max_total``. Without an amount it
        costs 2.5% of the cap. The same estimate again is free.
        """
        return estimate_limits(self._curator, dataset, self._loss(dataset, epsilon), column)

    def profile(
        self, dataset: str, max_rows: int, *, epsilon: Number | None = None
    ) -> RowsProfile:
        """Count the people with more than ``max_rows`` rows, for a charge.

        The result can be declared, so that answers say of how many people rows are cut.
        Without an amount it costs 2.5% of the cap.
        """
        loss = self._loss(dataset, epsilon)
        return measure_profile(self._curator, dataset, max_rows, loss)

    def total_profile(
        self, dataset: str, column: str, max_total: Number, *, epsilon: Number | None = None
    ) -> TotalProfile:
        """Count the people whose total of ``column`` is above ``max_total``, for a charge.

        It is for sums as `profile` is for rows. Without an amount it costs 2.5% of the cap.
        """
        loss, amount = self._loss(dataset, epsilon), exact(max_total)
        return measure_totals(self._curator, dataset, column, amount, loss)

    def _loss(self, dataset: str, epsilon: Number | None) -> Loss | None:
        """Return an amount in the measure of the budget; None for the usual amount."""
        if epsilon is None:
            return None
        population = self.catalog.dataset(dataset).population
        terms = self._curator.terms(population)
        return terms.apply_least_price(loss_for(terms, epsilon))

    def estimate(self, dataset: str, column: str, what: str) -> DomainEstimate:
        """Return the question that estimates the ``bounds`` or the ``keys`` of a column."""
        return estimate_of(self._curator, dataset, column, what)

    def certificate(self, release: Release | str) -> Certificate:
        """Return the signed certificate of a release, which can be verified offline; free.

        ``release`` is an answer, the ``release_`` of a model, a step of a publication, or the
        receipt of one of them in hexadecimal digits.
        """
        return certificate_for(self._curator, receipt_of(release))

    @property
    def catalog(self) -> Catalog:
        """The catalogue of tables that may be asked about."""
        return self._curator.catalog

    @property
    def ledger(self) -> Ledger:
        """The ledger, for owners and auditors: budgets, quotas and decisions."""
        return self._curator.home.ledger

    @property
    def states(self) -> States:
        """The sealed states that are stored with the ledger."""
        return self._curator.home.states

    def status(self, population: str | None = None) -> Status:
        """Return the status of a budget: its cap, the loss spent, and what is left.

        The quotas of the analyst limit how many more questions fit.
        """
        name = self.catalog.population(population).name
        return self.ledger.status(name, self._curator.principal)

    def history(  # noqa: PLR0913 - the population and one for each filter
        self,
        population: str | None = None,
        *,
        analyst: str | None = None,
        kind: str | Sequence[str] = (),
        since: date | str | None = None,
        until: date | str | None = None,
        limit: int = USUAL_LIMIT,
        receipt: str | None = None,
    ) -> History:
        """Return the ledger of a population in words: who did what, when, and at what cost.

        Of the entries that fit, the newest ``limit`` are returned, in their order. ``analyst``
        is a person or an @team, ``kind`` is such as "charge" or "proposal", and both days are
        included, in UTC. ``receipt`` is that of one charge, as its certificate has it.
        """
        wanted = HistoryFilter.of(
            analyst=analyst,
            kind=kind,
            since=since,
            until=until,
            limit=limit,
            receipt=receipt,
        )
        return self.ledger.history(self.catalog.population(population).name, wanted)

    def spending(self, population: str | None = None) -> Spending:
        """Return what was spent over time, by analyst and by tables, with a forecast.

        It is for owners and auditors; the chain is read once.
        """
        return spending(self._curator.home, self.catalog.population(population).name)

    def anchors(self, population: str | None = None) -> dict[str, Any]:
        """Return the age of the newest anchor, and whether the chain agrees with it."""
        return anchor_state(self._curator.home, self.catalog.population(population).name)

    def request_quota(
        self,
        population: str | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        team: str | None = None,
        reason: str = "",
    ) -> str:
        """Ask for a larger quota, of this amount in all, and return the request's name.

        It is for you or for a team that you are in. An owner grants or declines it.
        """
        name = self.catalog.population(population).name
        wanted, in_rho = (None if each is None else exact(each) for each in (epsilon, rho))
        loss = quota_of(Allowance(wanted, in_rho), self.ledger.status(name))
        by = self._curator.principal
        entry = self.ledger.request_quota(name, loss, by=by, team=team, reason=reason)
        return request_id(name, entry.body)

    def verify(self, population: str | None = None) -> ChainVerdict:
        """Verify the whole chain of a population; `LedgerBroken` says where it fails."""
        return self.ledger.verify(self.catalog.population(population).name)

    def close(self) -> None:
        """Close the engines and the ledger."""
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

    def _question(self, plan: Plan) -> Question:
        return Question(plan, self._curator)
