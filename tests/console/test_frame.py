"""The frame of every page: its menu, its width, its themes, its keyboard and its names."""

import pytest
from browsing import PEOPLE, Visitors, violations
from playwright.sync_api import expect

MENUS = {
    "ann": ["Ask", "Answers", "Catalogue", "Budget", "Publications"],
    "olga": ["Ask", "Answers", "Catalogue", "Budget", "Decide", "Publications", "Assure"],
    "ada": ["Catalogue", "Budget", "Assure"],
}


@pytest.mark.parametrize("who", MENUS)
def test_the_menu_has_the_screens_of_the_role(visitors: Visitors, who: str) -> None:
    page = visitors.visitor(who)
    menu = page.get_by_role("navigation", name="Main").get_by_role("link")
    assert [each.strip() for each in menu.all_inner_texts()] == MENUS[who]
    expect(page.get_by_text(PEOPLE[who].value, exact=True)).to_be_visible()


def test_a_page_for_another_role_says_which_role(visitors: Visitors) -> None:
    page = visitors.visitor("ann")
    visitors.open(page, "decide", 403)
    expect(page.get_by_role("heading", name="another role")).to_be_visible()
    expect(page.get_by_text("It is for owner. You are signed in as analyst")).to_be_visible()


def test_a_browser_that_breaks_the_policy_is_noticed(visitors: Visitors) -> None:
    """The lie: a page with an inline script, which the harness must catch."""
    page = visitors.visitor("ann")
    page.evaluate("document.body.append(document.createElement('style'))")
    page.evaluate("document.querySelector('main').setAttribute('style', 'color: red')")
    state = visitors.server.app.state.console.state
    page.wait_for_timeout(300)
    assert state.policy_reports > 0
    assert any("Content Security Policy" in each for each in visitors.reported)
    state.policy_reports = 0
    visitors.expect("Content Security Policy")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_its_window(visitors: Visitors, scheme: str) -> None:
    page = visitors.stranger(color_scheme=scheme)
    for path in ("sign-in", "ask", "catalogue", "assure"):
        if path == "ask":
            visitors.sign_in(page, visitors.server.token("olga", PEOPLE["olga"]))
        visitors.open(page, path)
        for width in (390, 1366, 1920):
            page.set_viewport_size({"width": width, "height": 768})
            visitors.shoot(page, f"{path}-{width}-{scheme}")
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, (path, width, wide)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_frame_keeps_the_rules_of_accessibility(visitors: Visitors, scheme: str) -> None:
    page = visitors.stranger(color_scheme=scheme)
    visitors.open(page, "sign-in?ended=1")
    found = violations(page)
    visitors.sign_in(page, visitors.server.token("ann", PEOPLE["ann"]))
    for path, status in (("catalogue", 200), ("decide", 403), ("nothing", 404)):
        visitors.open(page, path, status)
        found += [f"{path}: {each}" for each in violations(page)]
    assert found == []


def test_what_breaks_a_rule_of_accessibility_is_found(visitors: Visitors) -> None:
    page = visitors.visitor("ann", "catalogue")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(each.startswith("button-name") for each in violations(page))


def test_a_person_signs_in_and_out_by_the_keyboard_alone(visitors: Visitors) -> None:
    page = visitors.stranger()
    visitors.open(page, "sign-in")
    page.keyboard.type(visitors.server.token("ann", PEOPLE["ann"]))  # the field has the focus
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/ask")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Sign out":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
