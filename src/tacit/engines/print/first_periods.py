"""The rows of the present period, of units for which it is one of their first."""

from sqlglot import exp

from tacit.engines.print.kept_rows import UNIT
from tacit.engines.print.word import alias, chosen, column, literal
from tacit.plan.bounded import FirstPeriods

PERIOD, SEEN = "tacit_period", "tacit_seen"
SEEN_SO_FAR, NOW = "tacit_seen_so_far", "tacit_now"


def rows_now(first: FirstPeriods, below: str) -> dict[str, exp.Query]:
    """The relations above ``below``, where rows have a period, of which the last has them."""
    # a period is the text of a day, so that its order is that of time
    order = exp.Order(expressions=[exp.Ordered(this=column(PERIOD))])
    rank = exp.Window(this=exp.DenseRank(), partition_by=[column(UNIT)], order=order)
    return {
        SEEN_SO_FAR: chosen(below, exp.Star(), alias(rank, SEEN)),
        NOW: chosen(SEEN_SO_FAR).where(
            exp.EQ(this=column(PERIOD), expression=literal(first.now)),
            exp.LTE(this=column(SEEN), expression=literal(first.most)),
            copy=False,
        ),
    }
