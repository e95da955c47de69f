"""DATE_TRUNC in conditions means what it says, for every day and comparison."""

from datetime import date, datetime, time, timedelta

import pytest
from clinic import TABLE
from clinic import catalog as clinic

from tacit.core.catalog import Limits
from tacit.core.unseal import unseal
from tacit.engines.reference import Reference
from tacit.errors import TacitError
from tacit.plan import canonical
from tacit.plan.bounding import bound
from tacit.plan.expression import Comparison, Span
from tacit.sql import parse, show

CLINIC = clinic(Limits(1, 1000))
DAYS = [date(2019, 12, 30) + timedelta(days=place) for place in range(420)]
ROWS = [{"person": f"p{place}", "until": day} for place, day in enumerate([*DAYS, None])]
CONSTANTS = [date(2020, 1, 1), date(2020, 2, 29), date(2020, 4, 1), date(2020, 6, 1)]


def counted(text: str) -> int:
    plan = bound(parse(text, CLINIC), CLINIC).plan
    [found] = unseal(Reference({TABLE: ROWS}).run(plan, CLINIC, b"salt").tallies[0])
    return int(found)


@pytest.mark.parametrize("span", Span)
@pytest.mark.parametrize("comparison", Comparison)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_period_is_compared_by_its_first_day(
    span: Span, comparison: Comparison, constant: date
) -> None:
    period = f"DATE_TRUNC('{span.value.lower()}', until)"
    asked = "SELECT COUNT(*) FROM visits WHERE "
    wanted = sum(comparison.holds(span.start(day), constant) for day in DAYS)
    assert counted(f"{asked}{period} {comparison.value} DATE '{constant}'") == wanted
    turned = sum(comparison.holds(constant, span.start(day)) for day in DAYS)
    assert counted(f"{asked}'{constant}' {comparison.value} {period}") == turned
    unlike = sum(not comparison.holds(span.start(day), constant) for day in DAYS)
    assert counted(f"{asked}NOT {period} {comparison.value} '{constant}'") == unlike


@pytest.mark.parametrize("comparison", Comparison)
@pytest.mark.parametrize("moment", ["2020-02-01 00:00:00", "2020-02-01 00:00:01"])
def test_a_period_starts_at_midnight(comparison: Comparison, moment: str) -> None:
    asked = "SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', until)"
    starts = [datetime.combine(Span.MONTHS.start(day), time.min) for day in DAYS]
    wanted = sum(comparison.holds(start, datetime.fromisoformat(moment)) for start in starts)
    assert counted(f"{asked} {comparison.value} TIMESTAMP '{moment}'") == wanted


def test_a_list_of_periods_is_one_of_days() -> None:
    months = "SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', until) IN "
    assert counted(months + "('2020-02-01', '2020-03-01', '2020-03-02')") == 29 + 31
    assert counted(months + "('2020-02-01')") == 29
    plan = parse(months + "('2020-02-01', '2020-03-01')", CLINIC)
    assert canonical(parse(show(plan, CLINIC), CLINIC)) == canonical(plan)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("DATE_TRUNC('month', until) = 3", "can be compared with a constant day"),
        ("DATE_TRUNC('month', until) = DATE '9999-01-01'", "before the year 9990"),
        ("DATE_TRUNC('month', until) = 'May'", "A date must be written"),
        ("DATE_TRUNC('month', until) = day", "only as a group key"),
        ("DATE_TRUNC('month', ward) = '2020-01-01'", "kinds text and date cannot"),
    ],
)
def test_other_comparisons_of_periods_are_refused(condition: str, told: str) -> None:
    with pytest.raises(TacitError, match=told):
        bound(parse(f"SELECT COUNT(*) FROM visits WHERE {condition}", CLINIC), CLINIC)  # noqa: S608
