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
    below: exp.Select, beside: list[str], most: int, order: RowOrder, level: str
) -> dict[str, exp.Query]:
    """The relations above ``below`` of which the last holds at most ``most`` rows of each unit.

    Beside each row stand the columns ``beside`` of the rows before it, as many as a unit has at
    most, under the names of `before`. Where rows are taken as they lie, a column
    tells whether one of them is not in its place: it is kept then, so that it is seen.
    """
    viewed = below
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
        far = exp.NullSafeNEQ(this=column("tacit_far"), expression=column(UNIT))
        broken = _broken()
        kept = kept.select(exp.alias_(choose([(broken, literal(1))], literal(0)), BROKEN))
        made[f"{KEPT}{level}"] = kept.where(exp.or_(far, broken.copy()))
    else:
        few = exp.LTE(this=column(NUMBER), expression=literal(most))
        made[f"{KEPT}{level}"] = kept.where(few)
    return made


def before(name: str, back: int) -> str:
    """What a column of the row so many before is called."""
    return f"{name}_{back}"


def _lag(value: exp.Expr, back: int) -> exp.Expr:
    return exp.func("LAG", value, literal(back))


def _broken() -> exp.Expr:
    """Whether a row does not follow the one before it: by its unit, or by its place there."""
    last, unit = column("tacit_last"), column(UNIT)
    later = exp.LT(this=column("tacit_last_place"), expression=column(PLACE))
    follows = exp.or_(
        is_null(last),
        exp.LT(this=last, expression=unit),
        exp.and_(exp.EQ(this=last.copy(), expression=unit.copy()), later),
    )
    # what compares with nothing is in no order
    return exp.not_(exp.paren(exp.func("COALESCE", follows, exp.false())))
