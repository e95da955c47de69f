"""Checks that a server can keep its rule for the time of answers, before it starts.

A delay hides one person only if that person moves the time of a question by no more than the
declared ``person_ms``. A server therefore starts with a delay only if

* the engine's plans do not depend on statistics of the data, as those of DuckDB;
* no person has an unknown number of rows: the table has a copy in order, of which a question
  reads a person's first rows, or its owner declares the most rows or one row of a person;
* the budget is counted in rho with delta, which can pay for a delay.
"""

from collections.abc import Iterator

from tacit.core import Dataset, Measure, UnitColumn, keeps_order
from tacit.errors import InvalidValue
from tacit.ledger import Ledger
from tacit.numeric import plain
from tacit.project import CHOICES, DELAY, Project, ServerTime
from tacit.session.engines import spec_of

OTHERWISE = 'Or choose kind = "deadline" or kind = "open" in [server.time].'


def check_time_rule(project: Project) -> None:
    """Refuse a project without a rule for time, or whose declarations contradict its rule.

    This runs before copies are made, so that an operator learns it at once.

    Guarantee: the result depends on declarations only.
    """
    time = project.serving.time
    if time is None:
        raise InvalidValue(
            "The project file does not say how the time of answers is protected. Anyone who "
            f"sees when answers arrive could learn from it. {CHOICES}"
        )
    if time.kind == DELAY:
        unknown = (
            each
            for each in project.catalog.datasets
            if not has_known_rows(each) and (each.in_place or not keeps_order(each))
        )
        _refuse([*_engine_reasons(project), *map(_row_reason, unknown)])


def check_time(project: Project, ledger: Ledger) -> None:
    """Refuse to serve a project, with its copies, whose rule for time does not hold.

    Guarantee: the result depends on declarations only.
    """
    check_time_rule(project)
    time = project.serving.time
    if time is not None and time.kind == DELAY:
        unknown = (each for each in project.catalog.datasets if not has_known_rows(each))
        _refuse([*map(_row_reason, unknown), *_budget_reasons(project, ledger, time)])


def _refuse(reasons: list[str]) -> None:
    if reasons:
        listed = "\n".join(f"- {each}" for each in reasons)
        raise InvalidValue(
            f"This project cannot be served with delayed answers:\n{listed}\n{OTHERWISE}"
        )


def engines_with_fixed_plans(project: Project) -> tuple[str, ...]:
    """Return the names of the engines whose plans depend on statements alone."""
    return tuple(
        each.name for each in project.engines if spec_of(project, each).address.fixed_plans
    )


def _engine_reasons(project: Project) -> Iterator[str]:
    fixed = engines_with_fixed_plans(project)
    for engine in project.engines:
        if engine.name not in fixed:
            yield (
                f"The engine {engine.name!r} may choose a plan by one person's rows, so that "
                "no person_ms holds."
            )


def _row_reason(table: Dataset) -> str:
    """Return why a delay does not hide one person's rows in ``table``, and what to declare."""
    most = 'the public most of rows of one person, most_rows = { rows = 20, source = "..." }'
    if isinstance(table.unit, UnitColumn) and not table.in_place:
        most = (
            "row_key and max_rows_in_all, so that only the first rows of a person are read; or "
            f"one_row = true; or {most}"
        )
    return (
        f"The number of rows of one person in {table.name!r} is not declared. Add to "
        f"[datasets.{table.name}] {most}. Then run `tacit apply`."
    )


def has_known_rows(table: Dataset) -> bool:
    """Return whether the number of a person's rows that a question reads is bounded."""
    one_row = isinstance(table.unit, UnitColumn) and table.unit.one_row
    in_order = table.copy is not None and table.copy.ordered
    return one_row or in_order or table.most_rows is not None


def _budget_reasons(project: Project, ledger: Ledger, time: ServerTime) -> Iterator[str]:
    for people in project.people:
        name = people.population.name
        status = ledger.status(name)
        if status.measure is not Measure.ZCDP:
            yield (
                f"The budget of {name!r} is counted in epsilon without delta, and a delay has "
                "a delta. A new population can have a budget with a delta."
            )
        elif status.cap.delta < time.delta:
            yield (
                f"The budget of {name!r} allows a delta of {plain(status.cap.delta)} for keys "
                f"and times, and one delay may need {plain(time.delta)}. "
                + (
                    "Set a smaller delta in [server.time]."
                    if status.cap.delta
                    else "Raise the delta of the budget."
                )
            )
