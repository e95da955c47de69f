"""What the ledger is told of a priced question: public facts, and no text."""

from dataclasses import replace

from tacit.core.catalog import Catalog
from tacit.ledger.question import Question, Target
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote
from tacit.session.policy import epochs_of, policy_of, tables_of


def request_for(
    quote: Quote | FitQuote, catalog: Catalog, principal: str, request: str | None = None
) -> Question:
    """The ledger's question for ``quote``.

    Without a ``request`` of their own, whoever asks the same again sends the same request: an
    answer that was lost is told of, and not paid for a second time unawares.
    """
    tables = tables_of(catalog, quote.datasets)
    question = Question(
        targets=(Target(quote.population, quote.event),),
        principal=principal,
        request=request or "the same again",
        plan=quote.key,
        loss=quote.loss,
        policy=policy_of(quote.population, tables),
        epochs=epochs_of(tables),
        price_delta=quote.price_delta,
    )
    return (
        replace(question, request=question.release_key.hex()) if request is None else question
    )
