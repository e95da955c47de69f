"""What a status prints: what is left, and whatever stops charges."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.core.loss import Measure
from tacit.ledger.budget import Status
from tacit.ledger.charge import Units
from tacit.ledger.status_text import incident_lines, status_fields, stopped_text

STATUS = Status(
    "patients",
    Measure.ZCDP,
    Fraction(1, 10**6),
    Units(10**11, 0),
    Units(10**10, 0),
    least_amount=10**6,
)


def test_a_status_says_what_is_spent_and_left() -> None:
    assert str(STATUS).splitlines() == [
        (
            "patients: spent epsilon 0.621693 of at most epsilon 2.141939, delta 0.000001 "
            "(rho 0.01 of 0.1)"
        ),
        "  left for one question: epsilon 2.022661 (rho 0.09)",
    ]
    assert str(replace(STATUS, quotas_left=(Units(10**10, 0),))).splitlines()[2] == (
        "  left of a quota of yours: epsilon 0.621692 (rho 0.01)"
    )
    assert STATUS._repr_html_().startswith("<b>patients: spent")


@pytest.mark.parametrize(
    ("changed", "line", "stopped"),
    [
        ({}, None, None),
        (
            {"missed": 1, "failed": 2, "retried": 3},
            "1 late answer, 2 failed, 3 run",
            None,
        ),
        ({"missed": 2}, "2 late answers, 0 failed", None),
        ({"failed": 1, "locked": True}, "run `tacit ledger look patients`", "has reviewed"),
        ({"frozen": True}, "run `tacit thaw patients`", "has stopped all charges"),
    ],
)
def test_a_status_says_whether_charges_are_stopped(
    changed: dict[str, int], line: str | None, stopped: str | None
) -> None:
    status = replace(STATUS, **changed)  # type: ignore[arg-type]
    lines = incident_lines(status)
    assert bool(lines) == (line is not None)
    assert line is None or line in lines[-1]
    assert line is None or (line in str(status) and line in status._repr_html_())
    told = stopped_text(status)
    assert (told is None) == (stopped is None)
    assert told is None or (stopped is not None and stopped in told)
    fields = status_fields(status)
    assert (fields["frozen"], fields["locked"]) == (status.frozen, status.locked)


def test_a_population_cannot_change_the_screen() -> None:
    evil = replace(STATUS, population="\x1b[2J<b>", frozen=True)
    assert "\x1b" not in str(evil)
    assert "<b>\\x1b" not in evil._repr_html_().removeprefix("<b>")
    assert "&lt;b&gt;" in evil._repr_html_()
