"""The rows of which each unit keeps a few in all, with those before each of them beside it."""

from dataclasses import dataclass

from sqlglot import exp

from tacit.engines.print.word import alias, choose, chosen, column, is_null, literal

UNIT, PLACE, BROKEN = "tacit_unit", "tacit_place", "tacit_broken"
NUMBER = "tacit_number"
VIEWED, KEPT = "tacit_viewed", "tacit_kept"


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a unit's rows: by these expressions, or as they lie, where none are.

    The column ``number`` tells which of its unit's rows each is, where one does.
    """

    by: tuple[exp.Expr, ...]
    number: str | None = NUMBER

    @property
    def streamed(self) -> bool:
        """Whether rows are taken as they lie, in an order that has to be asserted."""
        return not self.by

    def over(self, function: exp.Expr) -> exp.Expr:
        """A function of the rows around each."""
        if self.streamed:
            return exp.Window(this=function)
        # a place is never NULL: the order of a sorted table holds those first
        ordered = [
            exp.Ordered(this=part, nulls_first=part == column(PLACE)) for part in self.by
        ]
        order = exp.Order(expressions=ordered)
        return exp.Window(this=function, partition_by=[column(UNIT)], order=order)


def kept_rows(
    below: str, beside: list[str], most: int, order: RowOrder, level: str
) -> dict[str, exp.Query]:
    """The relations above ``below`` of which the last holds at most ``most`` rows of each unit.

    Beside each row stand the columns ``beside`` of the rows before it, as many as a unit has at
    most, under the names of `before`. Where rows are taken as they lie, a column
    tells whether one of them is not in its place: it is kept then, so that it is seen. Where
    a place is the number of a unit's row, and none beyond ``most`` is below, that bounds them.
    """
    viewed = chosen(below)
    for name in beside:
        for back in range(1, most):
            lagged = order.over(_lag(column(name), back))
            viewed = viewed.select(alias(lagged, before(name, back)), copy=False)
    if order.streamed:
        viewed = viewed.select(
            alias(order.over(_lag(column(UNIT), 1)), "tacit_last"),
            alias(order.over(_lag(column(PLACE), 1)), "tacit_last_place"),
            copy=False,
        )
        if order.number is None:
            far = order.over(_lag(column(UNIT), most))
            viewed = viewed.select(alias(far, "tacit_far"), copy=False)
    else:
        viewed = viewed.select(alias(order.over(exp.RowNumber()), NUMBER), copy=False)
    kept = chosen(f"{VIEWED}{level}")
    if order.streamed:
        kept = kept.select(alias(_broken(order), BROKEN), copy=False)
        if order.number is None:
            far = exp.EQ(this=column("tacit_far"), expression=column(UNIT))
            beyond = exp.func("COALESCE", exp.and_(far, _in_unit(order)), exp.false())
            kept = kept.where(exp.not_(beyond), copy=False)
    else:
        kept = kept.where(exp.LTE(this=column(NUMBER), expression=literal(most)), copy=False)
    return {f"{VIEWED}{level}": viewed, f"{KEPT}{level}": kept}


def before(name: str, back: int) -> str:
    """What a column of the row so many before is called."""
    return f"{name}_{back}" if back else name


def _lag(value: exp.Expr, back: int) -> exp.Expr:
    return exp.func("LAG", value, literal(back))


def _in_unit(order: RowOrder) -> exp.Expr:
    """Whether a row follows one of its own unit, by its place there."""
    same = exp.EQ(this=column("tacit_last"), expression=column(UNIT))
    last = column("tacit_last_place")
    if order.number is None:
        return exp.and_(same, exp.LT(this=last, expression=column(PLACE)))
    next_place = exp.Add(this=last, expression=literal(1))
    return exp.and_(same, exp.EQ(this=column(PLACE), expression=next_place))


def _broken(order: RowOrder) -> exp.Expr:
    """1 where a row does not follow the one before it: in its unit, or after a lesser one."""
    last = column("tacit_last")
    starts = exp.or_(exp.LT(this=last, expression=column(UNIT)), is_null(last))
    if order.number is not None:
        starts = exp.and_(exp.EQ(this=column(PLACE), expression=literal(1)), starts)
    # what compares with nothing is in no order
    return choose([(each, literal(0)) for each in (starts, _in_unit(order))], literal(1))
