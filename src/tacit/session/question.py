"""A question in a session: what it would cost and miss by, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.core.answer import Answer
from tacit.core.loss import Loss
from tacit.engines.explain import explained
from tacit.frame.table import Answer as Asked
from tacit.ledger.status import Status
from tacit.numeric.exact import Number
from tacit.plan.bound import bound
from tacit.plan.canonical import canonical
from tacit.plan.source import source_of
from tacit.query.expected import SIZES
from tacit.session.amount import loss_for, tenth
from tacit.session.ask import ask, priced
from tacit.session.curator import Curator
from tacit.session.preview import Preview
from tacit.session.standing import standing_of
from tacit.sql.show import show


@dataclass(frozen=True, slots=True, repr=False)
class Question(Asked):
    """A plan, and who can answer it. Nothing is read or charged until `ask`."""

    curator: Curator

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        assume_size: Sequence[int] = SIZES,
    ) -> Preview:
        """What answering would cost and miss by: free, and without data.

        Without an amount it is a quote for a tenth of the budget. Errors that depend on how
        many rows a group has are told for groups of ``assume_size``.
        """
        status = self.status()
        named = epsilon is not None or rho is not None
        asked = loss_for(status.terms, epsilon, rho, delta) if named else tenth(status)
        loss = status.terms.raised(asked)
        quote = priced(self.curator, self.plan, loss)
        return Preview(
            quote, standing_of(status, quote, paid=True), tuple(assume_size), loss != asked
        )

    def explain(self) -> str:
        """How it would be answered, and what would make that faster: free, and without data."""
        plan = bound(canonical(self.plan).plan, self.curator.catalog).plan
        return explained(plan, self.curator.catalog)

    def ask(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
        request: str | None = None,
    ) -> Answer:
        """The answer, paid for before any data is touched; the same again is free.

        A ``delta`` is for groups whose keys are not public. Where an answer was lost, the same
        question says so; a ``request`` under a new name pays for a new answer.
        """
        loss = self.loss(epsilon=epsilon, rho=rho, delta=delta)
        return ask(self.curator, self.plan, loss, request)

    def loss(
        self, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number = 0
    ) -> Loss:
        """What it may lose, in the measure of the budget of the people that it is about.

        Less than the least price of a question is raised to it.
        """
        terms = self.curator.terms(self._population())
        return terms.raised(loss_for(terms, epsilon, rho, delta))

    def __repr__(self) -> str:
        return show(self.plan, self.curator.catalog)

    def status(self) -> Status:
        """Where the budget of the people stands that it is about."""
        return self.curator.home.ledger.status(self._population(), self.curator.principal)

    def _population(self) -> str:
        catalog = self.curator.catalog
        return catalog.dataset(source_of(self.plan.source, catalog).dataset).population
