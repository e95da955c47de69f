"""People who answer a survey: a few in a real browser, many over HTTP as browsers do."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from typing import Self

import numpy as np
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tacit.numeric.entropy import SystemEntropy
from tacit.publish.survey.survey import Survey, form_of

WAIT_SECONDS = 60
SITE = "http://survey.test/"

Answers = Mapping[str, int]
"""What one person would say: for each question, an integer from 0 up."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine, without a window."""
    where = shutil.which("chromium")
    assert where, "install Chromium: apt-get install chromium"
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=arguments)
        yield browser
        browser.close()


def answer_in(page: Page, survey: Survey, answers: Answers) -> None:
    """Tick and type as a person does, and press the button."""
    for question in survey.questions:
        field = page.locator(f'input[name="{question.name}"]')
        if "options" in question.shape:
            field.nth(answers[question.name]).check()
        else:
            field.fill(str(answers[question.name] + question.shape["lowest"]))
    page.get_by_role("button").click()


class Mailbox:
    """A site that serves a form and notes what is sent, without a server."""

    def __init__(self, page: Page, survey: Survey) -> None:
        self.sent: list[str] = []
        self.fails = 0
        self.form = form_of(survey)
        page.unroute_all()
        page.route(f"{SITE}**", self._reply)

    def _reply(self, route: Route) -> None:
        if not route.request.url.endswith("/reports"):
            route.fulfill(body=self.form, content_type="text/html")
            return
        self.sent.append(route.request.post_data or "")
        if self.fails:
            self.fails -= 1
            route.abort()
        else:
            route.fulfill(status=204)


class Serving:
    """A `tacit survey serve` of its own."""

    def __init__(self, file: Path, log: Path) -> None:
        with create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        command = [sys.executable, "-m", "tacit.cli", "survey", "serve", str(file)]
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port), "--as", "olga"], stdout=out, stderr=out
            )

    def __enter__(self) -> Self:
        for _ in range(WAIT_SECONDS * 10):
            if self._process.poll() is None and self._answers():
                return self
            time.sleep(0.1)
        raise AssertionError("the survey is not served")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 204
        except OSError:
            return False
        finally:
            connection.close()


def bodies(survey: Survey, answers: Mapping[str, np.ndarray]) -> list[bytes]:
    """What the browsers of so many people would send."""
    entropy, told = SystemEntropy(b"their machines"), {}
    for question in survey.questions:
        reports = question.oracle.randomise(answers[question.name], entropy)
        told[question.name] = reports.reshape(len(reports), -1).tolist()
    people = len(next(iter(told.values())))
    return [
        json.dumps(
            {
                "survey": survey.fingerprint,
                "id": f"{number:032x}",
                "reports": {name: reports[number] for name, reports in told.items()},
            }
        ).encode()
        for number in range(people)
    ]


def post(port: int, bodies: Sequence[bytes], connections: int = 16) -> set[int]:
    """Send them all, over so many connections at once; the statuses that came back."""

    def some(share: Sequence[bytes]) -> set[int]:
        connection, statuses = HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS), set()
        for body in share:
            connection.request("POST", "/reports", body)
            with connection.getresponse() as reply:
                statuses.add(reply.status)
                reply.read()
        connection.close()
        return statuses

    with ThreadPoolExecutor(connections) as pool:
        shares = [bodies[first::connections] for first in range(connections)]
        return set().union(*pool.map(some, shares))
