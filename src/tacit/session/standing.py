"""Where the budget stands, for whoever just asked or is about to."""

from tacit.core.loss import Loss
from tacit.core.standing import Standing
from tacit.ledger.status import Status
from tacit.query.fit_quote import FitQuote
from tacit.query.quote import Quote


def standing_of(status: Status, quote: Quote | FitQuote, *, paid: bool) -> Standing:
    """The state of the budget beside what ``quote`` costs, or cost where it was ``paid``."""
    cost = status.cost(quote.event, quote.price_delta).loss(status.measure)
    return Standing(
        population=status.population,
        cost=cost if paid else Loss(status.measure, cost.amount * 0),
        spent=status.spent,
        cap=status.cap,
        total=status.total_so_far,
        promised=status.total,
        more=status.questions_like(quote.event, quote.price_delta),
    )
