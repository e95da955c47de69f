"""A priced question or fit in steps, between which nobody needs to hold a thread.

`tacit.session.ask` answers a question in one call, which waits for a worker process, and for an
answer that another process computes. A server has many callers at once, so it takes the same
path in steps: it prices the question, looks whether the answer is there, and charges and runs
it only when a worker is free. Between the steps the request waits on the server's event loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

from tacit.core import Answer, BudgetSummary, Loss, Release
from tacit.errors import AnswerLost
from tacit.ledger import ChargeRequest, LeaseState, StoredRelease
from tacit.ml.registry import Model, learn_from
from tacit.numeric import Number
from tacit.query import FitQuote, Quote, post_process
from tacit.session.ask import (
    PaidAnswer,
    answer_once,
    price_question,
    quote_of,
    refuse_long_delay,
    request_for,
    serve_new,
    stored_answer,
    with_budget,
)
from tacit.session.curator import Curator
from tacit.session.question import Question

Result = TypeVar("Result")
Other = TypeVar("Other")


class Stage(Enum):
    """How far a question without an answer is."""

    NEW = "it must be charged and run, or its parked charge resumed"
    PENDING = "another request or process computes the answer"
    SILENT = "the process that computed the answer may be dead"


@dataclass(frozen=True, slots=True)
class PaidQuestion(Generic[Result]):
    """A priced question or fit of one caller.

    Guarantee: `look` charges nothing and reads no data. `run` charges the question before any
    data is read, and stores its answer before it is returned.
    """

    curator: Curator
    quote: Quote | FitQuote
    question: ChargeRequest
    finish: Callable[[Release, BudgetSummary, bytes], Result]
    """Turns the release, the state of the budget and the release's key into the result."""

    @property
    def key(self) -> bytes:
        """The key of the release, which is the same for all who ask the same question."""
        return self.question.release_key

    @property
    def engine(self) -> str:
        """The name of the engine that answers."""
        return self.curator.place_of(self.quote.datasets)

    @property
    def populations(self) -> tuple[str, ...]:
        """The populations that are charged."""
        return self.question.populations

    def look(self, *, dead: bool = False) -> Result | Stage:
        """Return the result if it is free now, or the stage of the question.

        With ``dead``, a process whose lease is silent is taken for dead. Raise `AnswerLost` if
        this request was charged and its answer will not come; no worker is needed to learn it.
        """
        ledger = self.curator.home.ledger
        found = ledger.lease_state(self.question)
        match found:
            case StoredRelease():
                return self._result(found, paid=False)
            case LeaseState.HELD:
                return Stage.PENDING
            case LeaseState.SILENT if not dead:
                return Stage.SILENT
            case LeaseState.PARKED:
                return Stage.NEW
        if isinstance(self.quote, Quote):
            served = serve_new(self.curator, self.quote, self.question)
            if served is not None:
                return self.finish(*with_budget(self.curator, self.quote, *served))
        if found is not LeaseState.NONE and ledger.is_charged(self.question):
            raise AnswerLost
        return Stage.NEW

    def run(self) -> Result:
        """Charge and run the question, and return the result.

        Raise `AnswerPending` if another process computes the answer at the moment.
        """
        stored, paid = answer_once(self.curator, self.quote, self.question)
        return self._result(stored, paid=paid)

    def read_by(self, read: Callable[[Result], Other]) -> "PaidQuestion[Other]":
        """Return the same question, whose result is post-processed by ``read``."""

        def finish(release: Release, standing: BudgetSummary, key: bytes) -> Other:
            return read(self.finish(release, standing, key))

        return PaidQuestion(self.curator, self.quote, self.question, finish)

    def _result(self, stored: StoredRelease, *, paid: bool) -> Result:
        found: PaidAnswer = stored_answer(
            self.curator, self.quote, self.question, stored, paid=paid
        )
        return self.finish(*found)


def paid_question(  # noqa: PLR0913 - an amount, or an error, and an idempotency key
    asked: Question,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number = 0,
    within: Number | None = None,
    assume_size: Sequence[int] | None = None,
    request: str | None = None,
) -> PaidQuestion[Answer]:
    """Price a question as `Question.ask` does, and return it before anything is charged."""
    loss = asked.loss(
        epsilon=epsilon, rho=rho, delta=delta, within=within, assume_size=assume_size
    )
    return paid_at(asked, loss, request=request, rho_first=rho is not None)


def paid_at(
    asked: Question, loss: Loss, *, request: str | None = None, rho_first: bool = False
) -> PaidQuestion[Answer]:
    """Price a question at a loss in the measure of its budget, as `paid_question` does."""
    curator = asked.curator
    quote = price_question(curator, asked.plan, loss)
    refuse_long_delay(curator, quote)

    def finish(release: Release, standing: BudgetSummary, key: bytes) -> Answer:
        shown = replace(standing, rho_first=rho_first)
        return Answer.of(post_process(release, quote.question.post, quote), shown, key)

    charged = request_for(quote, curator.catalog, curator.principal, request)
    return PaidQuestion(curator, quote, charged, finish)


def paid_fit(  # noqa: PLR0913 - a model, and what it is fitted to
    curator: Curator,
    model: Model,
    dataset: str,
    *,
    features: Sequence[str],
    target: str | None = None,
    request: str | None = None,
) -> PaidQuestion[Model]:
    """Price a fit as `Session.fit` does, and return it before anything is charged."""
    quote = quote_of(curator, model, dataset, features, target)

    def finish(release: Release, standing: BudgetSummary, key: bytes) -> Model:
        return learn_from(model, Answer.of(release, standing, key), features)

    charged = request_for(quote, curator.catalog, curator.principal, request)
    return PaidQuestion(curator, quote, charged, finish)
