"""What tallies need of one row: few numbers, of which each tally makes its own."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from tacit.plan.steps import (
    CaseSteps,
    HalvedSteps,
    Known,
    NotSo,
    ProductSteps,
    Steps,
    StepsAreNull,
    SumSteps,
    WholeSteps,
)
from tacit.plan.tally import KeptTally, RowTally, Tally, TotalTally, TreeTally, UnitTally


def value_of(tally: Tally) -> Steps:
    """The number that ``tally`` needs of one row.

    Example:
        >>> value_of(RowTally(Known(True), 3))
        WholeSteps(value=1)
    """
    match tally:
        case UnitTally() | RowTally(Known(True), _, _):
            return WholeSteps(1)
        case RowTally(condition, _, _):
            return CaseSteps(((condition, WholeSteps(1)),), WholeSteps(0))
        case TotalTally(number, _, _) | KeptTally(number, _, _):
            return number
        case TreeTally():
            return tally.cell


def row_values(tallies: Sequence[Tally]) -> tuple[Steps, ...]:
    """The numbers that a row carries along: what tallies need of it is made of these alone.

    A column, a constant above it, its square and whether it is there are all made of one. Where
    there are more numbers of several columns than columns, as in a matrix of products, it is
    the columns that are carried: as the factors of the products, each computed once a row.

    Example:
        >>> from tacit.plan.steps import HeldSteps
        >>> x = HeldSteps("x")
        >>> above = KeptTally(SumSteps(x, WholeSteps(-3)), -3, 4)
        >>> row_values([UnitTally(), above, TotalTally(x, 0, 7)])
        (HeldSteps(name='x'),)
    """
    whole: dict[Steps, None] = {}
    parts: dict[Steps, None] = {}
    for tally in tallies:
        number = value_of(tally)
        made_of = [number] if isinstance(tally, TreeTally) else columns_of(number)
        whole |= dict.fromkeys(made_of if len(made_of) <= 1 else [number])
        parts |= dict.fromkeys(made_of)
    if len(parts) >= len(whole):
        return tuple(whole)
    factors = frozenset(_factors(tallies))
    return tuple(
        dict.fromkeys(
            part
            for tally in tallies
            for part in (
                [value_of(tally)]
                if isinstance(tally, TreeTally)
                else columns_of(value_of(tally), factors)
            )
        )
    )


def columns_of(number: Steps, known: Collection[Steps] = ()) -> list[Steps]:
    """What a number is made of, each once: columns, or what is ``known``; no constants."""
    return list(dict.fromkeys(_parts(number, known)))


def _factors(tallies: Sequence[Tally]) -> Iterator[Steps]:
    """What is multiplied in products of two columns."""
    for tally in tallies:
        match value_of(tally):
            case ProductSteps(left, right) if len(columns_of(ProductSteps(left, right))) > 1:
                yield from (each for each in (left, right) if len(columns_of(each)) == 1)


def _parts(number: Steps, known: Collection[Steps]) -> list[Steps]:
    if number in known:
        return [number]
    match number:
        case WholeSteps():
            return []
        case SumSteps(left, right) | ProductSteps(left, right):
            return [*_parts(left, known), *_parts(right, known)]
        case HalvedSteps(part, _):
            return _parts(part, known)
        case CaseSteps(((NotSo(StepsAreNull(part)), WholeSteps()),), WholeSteps()):
            return _parts(part, known)
        case _:
            return [number]


def made_from(number: Steps, carried: Mapping[Steps, Steps]) -> Steps:
    """``number``, made of what a row carries along.

    Example:
        >>> from tacit.plan.steps import HeldSteps
        >>> x = HeldSteps("x")
        >>> made_from(SumSteps(x, WholeSteps(2)), {x: HeldSteps("v0")})
        SumSteps(left=HeldSteps(name='v0'), right=WholeSteps(value=2))
    """
    if number in carried:
        return carried[number]
    match number:
        case SumSteps(left, right):
            return SumSteps(made_from(left, carried), made_from(right, carried))
        case ProductSteps(left, right):
            return ProductSteps(made_from(left, carried), made_from(right, carried))
        case HalvedSteps(part, times):
            return HalvedSteps(made_from(part, carried), times)
        case CaseSteps(((NotSo(StepsAreNull(part)), there),), otherwise):
            counted = NotSo(StepsAreNull(made_from(part, carried)))
            return CaseSteps(((counted, there),), otherwise)
        case _:
            return number
