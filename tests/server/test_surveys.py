"""A survey's server: what it takes, what it refuses in words of its own, and what it keeps."""

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import requests
from serving import running

from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.errors import StoreFailed
from tacit.publish.survey.questions import Choice
from tacit.publish.survey.survey import Survey
from tacit.publish.survey.wave import Box, reports_in
from tacit.server.survey import LONGEST_BODY, survey_app

PEOPLE = Population("students", PrivacyUnit("student", Neighbours.REPLACE_ONE))
COPIED = Choice("copied", "Ever copied?", ("no", "yes"), Fraction(1))
SURVEY = Survey("Student life", "Autumn", PEOPLE, Fraction(3), (COPIED,))
CANARY = "canary8d1f"
ONE, TWO, THREE = "1" * 32, "2" * 32, "3" * 32


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "wave.jsonl")


@pytest.fixture
def site(box: Box) -> Iterator[str]:
    """Where the survey is served."""
    with running(survey_app(SURVEY, box)) as address:
        yield address


def post(site: str, sent: bytes) -> requests.Response:
    return requests.post(f"{site}/reports", sent, timeout=30)


def body(**changed: Any) -> bytes:
    """What a form sends, with some of it changed."""
    sent = {"survey": SURVEY.fingerprint, "id": ONE, "reports": {"copied": [1]}}
    return json.dumps(sent | changed).encode()


def test_a_report_is_kept_and_the_form_is_shown(site: str, tmp_path: Path) -> None:
    page = requests.get(site, timeout=30)
    assert "What you are promised" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert requests.get(f"{site}/health", timeout=30).status_code == 204
    for _ in range(2):
        assert post(site, body()).status_code == 204
    assert (tmp_path / "wave.jsonl").read_text() == f'["{ONE}",{{"copied":[1]}}]\n'


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", 422),
        (CANARY.encode(), 422),
        (b"[" * 5000, 422),
        (b"[1, 2]", 422),
        (b"null", 422),
        (b"\xff\xfe", 422),
        (body(survey=CANARY), 422),
        (body(id=7), 422),
        (body(id=""), 422),
        (body(id="A" * 32), 422),
        (body(id=CANARY), 422),
        (body(reports=CANARY), 422),
        (body(reports={"copied": [CANARY]}), 422),
        (body(reports={"copied": [1], CANARY: [1]}), 422),
        (body(reports={"copied": [1.0]}), 422),
        (b" " * LONGEST_BODY + body(), 413),
    ],
)
def test_what_no_form_sends_is_refused_and_repeated_nowhere(
    site: str, tmp_path: Path, sent: bytes, status: int
) -> None:
    reply = post(site, sent)
    assert reply.status_code == status
    assert CANARY not in reply.text
    assert (tmp_path / "wave.jsonl").read_text() == ""


OWN = "127.0.0.1:PORT"
FOREIGN = [
    {"Origin": "http://["},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1"},  # another port
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{OWN}"},
]
OURS = [
    {},
    {"Origin": f"http://{OWN}"},
    {"Origin": f"https://{OWN}"},  # behind a proxy
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
]


def status_with(site: str, headers: dict[str, str]) -> int:
    place = site.removeprefix("http://")
    sent = {name: part.replace(OWN, place) for name, part in headers.items()}
    return requests.post(f"{site}/reports", body(), headers=sent, timeout=30).status_code


def test_a_page_of_another_site_can_neither_send_reports_nor_frame_the_form(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [status_with(site, headers) for headers in FOREIGN] == [403] * len(FOREIGN)
    assert (tmp_path / "wave.jsonl").read_text() == ""
    page = requests.get(site, timeout=30)
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert page.headers["x-frame-options"] == "DENY"
    assert [status_with(site, headers) for headers in OURS] == [204] * len(OURS)
    monkeypatch.setattr("tacit.server.survey.is_same_origin", lambda _: True)  # the lie
    assert {status_with(site, headers) for headers in FOREIGN} == {204}


def test_what_stands_beside_a_report_is_not_kept(site: str, tmp_path: Path) -> None:
    sent = body(answer=CANARY, name=CANARY)
    reply = requests.post(
        f"{site}/reports?a={CANARY}", sent, headers={"User-Agent": CANARY}, timeout=30
    )
    assert reply.status_code == 204
    assert reports_in(tmp_path / "wave.jsonl") == [{"copied": [1]}]
    assert CANARY not in (tmp_path / "wave.jsonl").read_text()


def test_what_could_not_be_kept_is_told_and_can_be_sent_again(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(CANARY)))
        reply = post(site, body())
    assert (reply.status_code, reply.text) == (
        503,
        "The reply could not be stored. Send it again.",
    )
    assert post(site, body()).status_code == 204
    assert reports_in(tmp_path / "wave.jsonl") == [{"copied": [1]}]


def test_a_full_disk_leaves_no_half_line(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    box.put(ONE, {"copied": [1]})
    with monkeypatch.context() as full:
        full.setattr("os.write", lambda file, line: whole(file, line[:9]))
        with pytest.raises(StoreFailed, match="full"):
            box.put(TWO, {"copied": [0]})
    box.put(THREE, {"copied": [0]})
    assert reports_in(tmp_path / "wave.jsonl") == [{"copied": [1]}, {"copied": [0]}]
    box.close()
