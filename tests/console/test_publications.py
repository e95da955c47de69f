"""Publications: lines with bands, and a table, of what was released already."""

from collections.abc import Iterator

import pytest
from browsing import WEEKS, Visitors, clinic, publish_weekly, violations
from serving import Server

from tacit.server.console.views.publications import drawing


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A clinic that publishes its visits by ward each week, and has released four weeks."""
    with clinic(tmp_path_factory.mktemp("published")) as running:
        publish_weekly(running)
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
