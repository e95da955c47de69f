"""The survey goes as its page tells it."""

from pathlib import Path
from socket import create_server

import pytest
from walking import Walk

PAGE = (Path(__file__).parents[2] / "docs/tutorials/survey.md").read_text()


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """Somebody in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return Walk(monkeypatch)


def test_the_survey_goes_as_it_is_told(walk: Walk, tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    assert PAGE.count("\n$ tacit survey ") >= 7
    assert walk.through(PAGE.replace("8810", port)) == []
    assert (tmp_path / "found.html").read_text().count("<svg") == 3
    assert (tmp_path / "survey.html").exists()


def test_a_page_that_promises_too_much_is_found(walk: Walk) -> None:
    cheaper = PAGE.replace("epsilon = 6 ", "epsilon = 2 ")
    assert cheaper != PAGE
    start = cheaper[: cheaper.index("Respondents open the page")]
    served = start.replace(" --port 8810 --as olga &", " --as olga")
    wrong = walk.through(served)
    assert len(wrong) == 3
    assert all("One wave has a loss of ε = 3, which is more" in each for each in wrong)
