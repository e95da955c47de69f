"""The rows of which each unit keeps a few in all, with those before each of them beside it."""

from dataclasses import dataclass

from sqlglot import exp

from tacit.engines.print.word import choose, column, is_null, literal

UNIT, PLACE, BROKEN = "tacit_unit", "tacit_place", "tacit_broken"
NUMBER = "tacit_number"
VIEWED, KEPT = "tacit_viewed", "tacit_kept"


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a unit's rows: by these expressions, or as they lie, where none are."""

    by: tuple[exp.Expr, ...]

    @property
    def streamed(self) -> bool:
        """Whether rows are taken as they lie, in an order that has to be asserted."""
        return not self.by

    def over(self, function: exp.Expr) -> exp.Expr:
        """A function of the rows around each."""
        if self.streamed:
            return exp.Window(this=function)
        order = exp.Order(expressions=[exp.Ordered(this=part) for part in self.by])
        return exp.Window(this=function, partition_by=[column(UNIT)], order=order)


def kept_rows(
    below: str, beside: list[str], most: int, order: RowOrder, level: str
) -> dict[str, exp.Query]:
    """The relations above ``below`` of which the last holds at most ``most`` rows of each unit.

    Beside each row stand the columns ``beside`` of the rows before it, as many as a unit has at
    most, under the names of `before`. Where rows are taken as they lie, a column
    tells whether one of them is not in its place: it is kept then, so that it is seen.
    """
    viewed = exp.select("*").from_(below)
    for name in beside:
        for back in range(1, most):
            viewed = viewed.select(
                exp.alias_(order.over(_lag(column(name), back)), before(name, back))
            )
    if order.streamed:
        viewed = viewed.select(
            exp.alias_(order.over(_lag(column(UNIT), most)), "tacit_far"),
            exp.alias_(order.over(_lag(column(UNIT), 1)), "tacit_last"),
            exp.alias_(order.over(_lag(column(PLACE), 1)), "tacit_last_place"),
        )
    else:
        viewed = viewed.select(exp.alias_(order.over(exp.RowNumber()), NUMBER))
    made: dict[str, exp.Query] = {f"{VIEWED}{level}": viewed}
    kept = exp.select("*").from_(f"{VIEWED}{level}")
    if order.streamed:
        far = exp.EQ(this=column("tacit_far"), expression=column(UNIT))
        beyond = exp.func("COALESCE", exp.and_(far, _in_unit()), exp.false())
        kept = kept.select(exp.alias_(_broken(), BROKEN))
        made[f"{KEPT}{level}"] = kept.where(exp.not_(beyond))
    else:
        few = exp.LTE(this=column(NUMBER), expression=literal(most))
        made[f"{KEPT}{level}"] = kept.where(few)
    return made


def before(name: str, back: int) -> str:
    """What a column of the row so many before is called."""
    return f"{name}_{back}"


def _lag(value: exp.Expr, back: int) -> exp.Expr:
    return exp.func("LAG", value, literal(back))


def _in_unit() -> exp.Expr:
    """Whether a row follows one of its own unit, by its place there."""
    same = exp.EQ(this=column("tacit_last"), expression=column(UNIT))
    later = exp.LT(this=column("tacit_last_place"), expression=column(PLACE))
    return exp.and_(same, later)


def _broken() -> exp.Expr:
    """1 where a row does not follow the one before it: in its unit, or after a lesser one."""
    last = column("tacit_last")
    greater = exp.LT(this=last, expression=column(UNIT))
    # what compares with nothing is in no order
    follows = [(each, literal(0)) for each in (greater, _in_unit(), is_null(last))]
    return choose(follows, literal(1))
