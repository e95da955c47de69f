"""Publications: lines with bands, and a table, of what was released already."""

from collections.abc import Iterator
from datetime import date

import pytest
from browsing import Visitors, clinic, violations
from serving import Server

from tacit.core import Loss
from tacit.plan import Span
from tacit.publish import Publication, Publications
from tacit.server.console.views.publications import drawing
from tacit.session import Session
from tacit.stream import EACH, Periods

SQL = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
WEEKS = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic that publishes its visits by ward each week, and has released four weeks."""
    with clinic(tmp_path_factory.mktemp("published")) as running:
        session = Session(running.curator.asked_by("olga"))
        weeks = Periods("day", Span.WEEKS, date(2026, 1, 5), WEEKS)
        found = Publications(session.states)
        found.declare(Publication("weekly", SQL, weeks, Loss.zcdp("0.001"), EACH), session)
        stream = found.open("weekly", session)
        for number in range(WEEKS):
            stream.release(number)
        yield running


def test_a_publication_is_drawn_and_written(visitors: Visitors) -> None:
    before = visitors.server.curator.home.ledger.status("patients").spent
    for width, scheme in ((1366, "light"), (390, "dark")):
        page = visitors.visitor("ann", "publications", width=width, color_scheme=scheme)
        page.locator("[data-chart=drawn]").wait_for()
        assert page.get_by_role("row").count() == 1 + 4 * WEEKS
        assert page.get_by_role("columnheader", name="ward").is_visible()
        assert not violations(page)
        visitors.shoot(page, f"publications-{width}-{scheme}")
    assert visitors.server.curator.home.ledger.status("patients").spent == before


def test_a_band_is_drawn_only_where_it_is_closed() -> None:
    def released(high: float | None) -> list[dict[str, object]]:
        columns = {"n": [5], "n_low": [3], "n_high": [high]}
        days = {"from": "2026-01-05", "until": "2026-01-11"}
        return [{**days, "columns": columns, "confidence": {"n": 0.95}}]

    assert len(drawing("n", released(7))["layer"]) == 2
    assert len(drawing("n", released(None))["layer"]) == 1


def test_an_unknown_publication_is_refused_in_words(visitors: Visitors) -> None:
    page = visitors.visitor("ann")
    visitors.open(page, "publications?name=nothing", status=404)
    assert page.get_by_text("no publication with this name").is_visible()
