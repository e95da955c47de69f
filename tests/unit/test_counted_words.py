"""A count and its noun agree, also where there is one of a thing."""

from fractions import Fraction

import pytest
from asking import answer, ask, open_pure

from tacit.ledger.charge import Record
from tacit.ledger.ledger import Ledger
from tacit.query.open_ends import _all_but
from tacit.render.table import percent
from tacit.server.console.catalogue_words import _people_have, _rows
from tacit.server.console.completion import _detail_of
from tacit.store.store import Store

ALONE = (
    "1 late answer was late",
    "1 failed answer failed",
    "1 retried answer was retried",
)
SEVERAL = (
    "{} late answers were late",
    "{} failed answers failed",
    "{} retried answers were retried",
)


@pytest.mark.parametrize("count", [1, 2, 3, 11, 21])
def test_incidents_are_counted_in_a_guarantee(count: int) -> None:
    told = Record(late=count, failed=count, retried=count).assumptions
    wanted = ALONE if count == 1 else [each.format(count) for each in SEVERAL]
    assert told == tuple(f"{each} regardless of any one person's data" for each in wanted)


def test_no_incident_is_not_told() -> None:
    assert Record().assumptions == ()
    assert len(Record(failed=1).assumptions) == 1


def test_a_chain_of_one_entry_is_consistent(store: Store) -> None:
    ledger = Ledger(store)
    open_pure(ledger)
    assert str(ledger.verify("patients")).startswith("patients: 1 entry is consistent (no")
    answer(ledger, ask("count"))
    assert str(ledger.verify("patients")).startswith("patients: 3 entries are consistent (no")


def test_intervals_leave_out_one_person_or_several_people() -> None:
    share = Fraction(94, 100)
    assert percent(share, 1) == f"94%, {_all_but(1)}" == "94%, all but 1 person"
    assert percent(share, 2) == f"94%, {_all_but(2)}" == "94%, all but 2 people"
    assert percent(share, None) == "94%"


def test_the_console_counts_rows_and_people() -> None:
    assert (_rows(1), _rows(1200)) == ("1 row", "1,200 rows")
    assert _people_have(1) == "1 person has"
    assert _people_have(2) == "2 people have"
    table = {"population": "patients", "max_rows": 1, "max_groups": 1}
    assert _detail_of(table) == "about patients: 1 row of a person in 1 group"
    more = table | {"max_rows": 2, "max_groups": 3}
    assert _detail_of(more) == "about patients: 2 rows of a person in each of 3 groups"
