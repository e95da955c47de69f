"""Whether the time of an answer over HTTP tells that a person with many rows is in the table.

`TACIT_TIMING_WORST` and `TACIT_TIMING_OTHERS` say how many requests a side, and
`TACIT_CAMPAIGN` a folder that keeps what was timed, so that a run goes on where it stopped.
Without deadlines one question is asked after the other; with them an answer waits most of its
time, so that three are asked at once, each of a pair of servers of its own.
"""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
from conftest import Bar
from instances import PATIENCE, Command
from scipy.stats import rankdata
from serving import ALL, BUDGET, ROWS, make_project

from tacit.ledger.ledger import wall_clock
from tacit.session.project import project_and_ledger
from tacit.store.tokens import AccessToken, Tokens

WORST = int(os.environ.get("TACIT_TIMING_WORST", "10000"))
OTHERS = int(os.environ.get("TACIT_TIMING_OTHERS", "2000"))
LOOK = min(200, OTHERS)
"""Requests a side by which the worst question is found, where there is no deadline."""

DEADLINE = os.environ.get("TACIT_TIMING_DEADLINE", "0.1")
WARM = 5
"""Requests a side that are not counted: the first of a new child takes longer."""

HEAVY = (
    ";INSERT INTO people VALUES (777, 'ann', 'Bern');"
    "INSERT INTO visits SELECT 777, DATE '2026-02-01', 7 FROM range(5000)"
)
LARGE = {BUDGET: 'rho = 1000000, conversion_delta = "1e-6"'}
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits WHERE patient <> {}",
    "SELECT SUM(cost) AS s FROM visits WHERE patient <> {}",
    "SELECT AVG(cost) AS a FROM visits WHERE patient <> {}",
    "SELECT VARIANCE(cost) AS v FROM visits WHERE patient <> {}",
    "SELECT MEDIAN(cost) AS m FROM visits WHERE patient <> {}",
    "SELECT MIN(cost) AS l FROM visits WHERE patient <> {}",
    "SELECT MAX(cost) AS h FROM visits WHERE patient <> {}",
    "SELECT SUM(cost * cost) AS q FROM visits WHERE patient <> {}",
    (
        "SELECT city, SUM(cost) AS s FROM visits JOIN people ON patient = id "
        "WHERE patient <> {} GROUP BY city"
    ),
    "SELECT city, COUNT(*) AS n FROM people WHERE id <> {} GROUP BY city",
)
PATIENT = 20
_numbers = count(10**6)


class Side:
    """A server over one of two neighbours, and how long it takes."""

    def __init__(self, port: int, token: str, file: Path) -> None:
        self._port, self._file, self.missed = port, file, 0
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        }

    def seconds(self, sql: str) -> float:
        """The seconds from a new question to its answer; one that is late is asked anew."""
        for _ in range(PATIENT):
            taken, status = self._asked(sql)
            if status == 200:
                return taken
            assert status in {423, 500}, f"{sql} is no question: status {status}"
            self.missed += 1
            with project_and_ledger(self._file, {}) as (_, home):
                if home.ledger.status("patients").locked:
                    home.ledger.look("patients", by="olga")
        raise TimeoutError(f"{PATIENT} answers in turn missed a deadline of {DEADLINE} s.")

    def _asked(self, sql: str) -> tuple[float, int]:
        body = json.dumps({"sql": sql.format(next(_numbers)), "rho": "0.001"})
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)) as line:
            line.connect()
            began = time.perf_counter()
            line.request("POST", "/v1/ask", body, self._headers)
            response = line.getresponse()
            response.read()
        return time.perf_counter() - began, response.status


@contextmanager
def sides(place: Path, settings: str) -> Iterator[list[Side]]:
    """Servers over a table, and over the same with one person more."""
    with ExitStack() as ending:
        servers = []
        for name, rows in {"D": ROWS, "more": ROWS + HEAVY}.items():
            more = f"[server]\nprocesses = 1\nrequests_per_minute = 10000000\n{settings}"
            file = make_project(place / name, rows, more, changed=LARGE)
            with project_and_ledger(file, {}) as (_, home):
                allowed = AccessToken("ann", "analyst", ALL.text, wall_clock() + 10**9)
                token = Tokens(home.store).issue(allowed)
            servers.append((Command(file, place / "logs", {}), token, file))
            ending.callback(servers[-1][0].kill)
        yield [Side(server.ready().port, token, file) for server, token, file in servers]


def guessed(both: list[Side], sql: str, times: int, kept: Path) -> float:
    """The AUC of the better guess of the side, that it is the slower or the quicker one."""
    pairs = [json.loads(line) for line in kept.open()] if kept.exists() else []
    draw = Random(len(pairs))  # noqa: S311 - only who is first
    if len(pairs) < times:
        for side in both * WARM:
            side.seconds(sql)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a") as file:
        while len(pairs) < times:
            taken = {side: both[side].seconds(sql) for side in draw.sample((0, 1), 2)}
            pairs.append([taken[0], taken[1]])
            file.write(json.dumps(pairs[-1]) + "\n")
            file.flush()
    ranks = rankdata(np.array(pairs[:times]).T)  # of both sides together
    above = (ranks[:times].sum() - times * (times + 1) / 2) / times**2
    return float(max(above, 1 - above))


def guessed_each(place: Path, share: list[str], kept: Path) -> tuple[list[float], list[int]]:
    """The AUC of each of some questions with a deadline, and what missed it on either side."""
    numbers = [QUESTIONS.index(sql) for sql in share]
    with sides(place / f"on-{numbers[0]}", f"deadline = {DEADLINE}\n") as both:
        times = WORST if len(share) == 1 else OTHERS
        found = [
            guessed(both, sql, times, kept / f"{DEADLINE}-{number}")
            for number, sql in zip(numbers, share, strict=True)
        ]
        return found, [side.missed for side in both]


def test_times_do_not_tell_who_is_there(tmp_path: Path, bar: Bar) -> None:
    kept = Path(os.environ.get("TACIT_CAMPAIGN", tmp_path / "kept"))
    with sides(tmp_path / "off", "") as both:
        off = {
            sql: guessed(both, sql, LOOK, kept / f"off-{number}")
            for number, sql in enumerate(QUESTIONS)
        }
    worst = max(off, key=lambda sql: off[sql])
    bar("AUC without a deadline, the worst question", off[worst], "shown", ok=True)
    bar("which is", worst, "shown", ok=True)
    others = [sql for sql in QUESTIONS if sql != worst]
    shares = [[worst], others[0::2], others[1::2]]
    with ThreadPoolExecutor(len(shares)) as streams:
        told = list(streams.map(lambda share: guessed_each(tmp_path, share, kept), shares))
    auc, *rest = [each for stream, _ in told for each in stream]
    bar(f"AUC of it, {WORST} a side, {DEADLINE} s", auc, "<= 0.52", auc <= 0.52)
    most = max(rest)
    bar(f"AUC of nine others at most, {OTHERS} a side", most, "<= 0.54", most <= 0.54)
    missed = [sum(side) for side in zip(*(late for _, late in told), strict=True)]
    bar(
        "answers of either side that missed the deadline",
        "{} and {}".format(*missed),
        "0 and 0",
        not any(missed),
    )
