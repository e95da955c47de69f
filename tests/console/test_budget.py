"""The screen Budget: shares, forecast, quotas, freezing, the history as a file, and roles."""

import csv
import io
import re
from pathlib import Path

import pytest
from browsing import PEOPLE, Visitors, clinic
from playwright.sync_api import Browser, Page, expect
from test_catalogue import without_secrets

from tacit.server.token_policy import Role

HOSTILE = "=1+1<script>alert(1)</script>"


def fact(page: Page, name: str) -> str:
    """The text of one of the figures at the top of the page."""
    return page.locator("dl.stat", has=page.get_by_text(name, exact=True)).inner_text()


def test_an_owner_sees_what_is_spent_left_and_likely(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "budget")
    status = visitors.server.curator.home.ledger.status("patients")
    share = 100 * status.spent_units.amount / status.cap_units.amount
    assert re.search(r"ε 0\.\d+ of 3", fact(page, "Spent").replace("\n", " "))
    assert f"{share:.1f}%" in fact(page, "Spent")
    assert "questions like those asked fit" in fact(page, "Left")
    assert "days" in fact(page, "At this rate")
    assert "in 100" in fact(page, "Odds now")
    assert "a coin flip is 50" in fact(page, "Odds now")
    drawing = page.get_by_role("img", name="Share of the budget spent").first
    expect(drawing).to_be_visible()
    legend = page.locator(".legend").inner_text()
    assert legend.index("ann") < legend.index("bob")  # the largest is first


def test_largest_charges_and_quotas_have_shares(visitors: Visitors) -> None:
    page = visitors.visitor("ada", "budget")
    quotas = page.get_by_role("table", name="Quotas")
    rows = [each.inner_text() for each in quotas.get_by_role("row").all()]
    assert [each.split()[0] for each in rows] == ["who", "ann", "bob", "eve", "everybody"]
    assert "none" in rows[-1]
    charges = page.get_by_role("table", name="Largest charges").get_by_role("row")
    assert [each.split("\t")[3] for each in charges.all_inner_texts()] == [
        "price",
        "ε 0.2",
        "ε 0.1",
        "ε 0.05",
    ]
    expect(page.get_by_role("link", name="Freeze")).to_have_count(0)  # an auditor only reads
    expect(page.get_by_role("link", name="Change the quota")).to_have_count(0)


def test_an_analyst_sees_only_their_part_and_what_is_left_for_all(visitors: Visitors) -> None:
    page = visitors.visitor("bob", "budget?population=patients")
    text = page.get_by_role("main").inner_text()
    assert "Your quota is 3.6% of the budget." in text
    for hidden in ("ann", "eve", "Quotas", "Largest charges", "Download", "Freeze", "Odds"):
        assert not re.search(rf"\b{hidden}\b", text), hidden
    visitors.expect("status of 403")
    for path in ("budget/history.csv?population=patients", "budget/freeze"):
        answer = page.goto(visitors.address(path))
        assert answer is not None
        assert answer.status == 403
    visitors.expect("Download is starting")


def test_what_others_spend_changes_only_the_shared_part(visitors: Visitors) -> None:
    page = visitors.visitor("bob", "budget?population=patients")
    before, shared = own_part(page), fact(page, "Spent")
    server = visitors.server
    answer = server.ask(server.token("ann"), "SELECT COUNT(*) AS n FROM visits", epsilon="0.3")
    assert answer.status_code == 200
    page.reload()
    assert own_part(page) == before
    assert fact(page, "Spent") != shared  # the lie: the budget of all has moved


def own_part(page: Page) -> str:
    """The page without the figures of the budget that everybody shares."""
    text = without_secrets(page.content())
    text = re.sub(r'once" value="[^"]*"', "", text)
    return re.sub(
        r'(?s)<dl class="card stat c3"><dt>(Spent|Left for everyone)<.*?</dl>', "", text
    )


def test_an_analyst_chooses_between_populations(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "budget")
    names = page.get_by_role("navigation", name="Populations").get_by_role("link")
    assert names.all_inner_texts() == ["patients", "staff"]
    names.last.click()
    expect(page.get_by_text("about staff, added up")).to_be_visible()
    assert names.last.get_attribute("aria-current") == "page"
    visitors.open(page, "budget?population=nobody")  # another name shows the first one
    expect(page.get_by_text("about patients, added up")).to_be_visible()


def test_an_owner_changes_a_quota_once(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "budget", java_script_enabled=False)
    page.get_by_role("link", name="Change the quota of eve", exact=True).click()
    page.get_by_label("Quota in percent of the budget").fill("12.5")
    entries = len(history(visitors))
    page.get_by_role("button", name="Set the quota").dblclick()
    expect(page.get_by_role("status").get_by_text("The quota is set")).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="eve"))
    expect(row.get_by_text("12.5%")).to_be_visible()
    assert len(history(visitors)) == entries + 1  # and not two
    page.reload()
    assert len(history(visitors)) == entries + 1


def test_the_same_form_sent_again_does_nothing(visitors: Visitors) -> None:
    """A double click sends a form twice; the same form of a new page acts again."""
    page = visitors.visitor("omar", "budget?change=eve")
    entries = len(history(visitors))
    for expected in (1, 1, 2):
        if expected == 2:
            visitors.open(page, "budget?change=eve")
        names = ("csrf", "once", "population", "holder")
        form: dict[str, str | float | bool] = {
            each: page.locator(f"#change input[name={each}]").get_attribute("value") or ""
            for each in names
        }
        sent = page.request.post(
            visitors.address("budget/quota"),
            form=form | {"percent": "3"},
            headers={"Origin": visitors.server.address},
        )
        assert sent.status == 200
        assert len(history(visitors)) == entries + expected


@pytest.mark.parametrize("given", ["101", "-1", "1e1", "ten", "", "1" * 40])
def test_a_quota_that_is_no_share_is_refused(visitors: Visitors, given: str) -> None:
    page = visitors.visitor("olga", "budget?change=eve")
    entries = len(history(visitors))
    page.get_by_label("Quota in percent").evaluate("each => each.form.noValidate = true")
    page.get_by_label("Quota in percent").fill(given)
    visitors.expect("status of 422")
    page.get_by_role("button", name="Set the quota").click()
    expect(page.get_by_role("alert").get_by_text("from 0 to 100 percent")).to_be_visible()
    assert len(history(visitors)) == entries


def test_freezing_says_what_happens_and_is_lifted(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "budget")
    page.get_by_role("link", name="Freeze…", exact=True).click()
    expect(page.get_by_text("No new question about patients is answered")).to_be_visible()
    expect(page.get_by_text("The ledger records that you, olga, did it.")).to_be_visible()
    server = visitors.server
    assert not server.curator.home.ledger.status("patients").frozen  # only looked at
    page.get_by_role("button", name="Freeze now").click()
    expect(page.get_by_text("New questions about patients are stopped.")).to_be_visible()
    assert server.ask(server.token("ann"), "SELECT COUNT(*) AS n FROM labs").status_code == 423
    page.get_by_role("link", name="Lift the freeze…", exact=True).click()
    page.get_by_role("button", name="Lift the freeze").click()
    expect(page.get_by_role("status").get_by_text("The freeze is lifted.")).to_be_visible()
    assert not server.curator.home.ledger.status("patients").frozen


def test_a_form_of_another_site_freezes_nothing(visitors: Visitors) -> None:
    page = visitors.visitor("olga", "budget/freeze?population=patients")
    sent = page.request.post(
        visitors.address("budget/freeze"),
        form={"population": "patients", "csrf": "guessed", "once": "1"},
        headers={"Origin": visitors.server.address},
    )
    assert sent.status == 403
    assert not visitors.server.curator.home.ledger.status("patients").frozen


def test_the_history_is_a_file_that_no_spreadsheet_runs(visitors: Visitors) -> None:
    server = visitors.server
    owner = server.token("olga", Role.OWNER)
    body = {"holder": HOSTILE, "epsilon": "0.01", "delta": "1e-9"}
    told = server.call("POST", "/v1/ledger/patients/quotas", owner, json=body)
    assert told.status_code == 200, told.text
    page = visitors.visitor("olga", "budget")
    expect(page.get_by_role("rowheader", name=HOSTILE)).to_be_visible()
    with page.expect_download() as loading:
        page.get_by_role("link", name="Download CSV").click()
    assert loading.value.suggested_filename == "history.csv"
    text = Path(loading.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(each["entry"]) for each in rows] == [
        each["entry"] for each in history(visitors)
    ]
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@" and cell]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_budget_fits_each_width_and_everyone(visitors: Visitors, scheme: str) -> None:
    for who in ("olga", "ann"):
        page = visitors.visitor(who, "budget", color_scheme=scheme)
        visitors.fits(page, who, scheme)


def test_a_budget_without_a_charge(browser: Browser, tmp_path: Path) -> None:
    with clinic(tmp_path, is_asked=False) as server:
        visitors = Visitors(browser, server, tmp_path)
        page = visitors.visitor("olga", "budget")
        expect(page.get_by_text("Nothing was charged yet.")).to_be_visible()
        assert "0%" in fact(page, "Spent")
        assert "no end" in fact(page, "At this rate")
        visitors.close()


def history(visitors: Visitors) -> list[dict[str, int]]:
    """The lines of the ledger of the patients."""
    owner = visitors.server.token("olga", PEOPLE["olga"])
    told = visitors.server.call("GET", "/v1/ledger/patients/history?limit=1000", owner)
    lines: list[dict[str, int]] = told.json()["lines"]
    return lines
