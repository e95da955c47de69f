"""Whether the time of a delayed answer tells that a person with many rows is in the table.

`TACIT_TIMING_WORST` and `TACIT_TIMING_OTHERS` say how many requests a side, `TACIT_PERSON_MS`
the assumption of the server, and `TACIT_CAMPAIGN` a folder that keeps what was timed, so that a
run goes on where it stopped. A delayed answer waits most of its time, so that several are asked
at once; pairs are asked in the same order of both sides.
"""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from fractions import Fraction
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from random import Random
from statistics import NormalDist

import duckdb
import numpy as np
from conftest import Bar
from instances import PATIENCE, Command
from scipy.stats import rankdata
from serving import ALL

from tacit.core.codec import decode_event
from tacit.core.event import Composed, DelayNoise
from tacit.core.loss import Loss
from tacit.ledger.entries import Charged, decode_act
from tacit.ledger.ledger import wall_clock
from tacit.project import DELAY, ServerTime
from tacit.query import price_time
from tacit.session.project import apply_project, project_and_ledger
from tacit.store.tokens import AccessToken, Tokens

WORST = int(os.environ.get("TACIT_TIMING_WORST", "10000"))
OTHERS = int(os.environ.get("TACIT_TIMING_OTHERS", "2000"))
LOOK = min(200, OTHERS)
PERSON_MS = os.environ.get("TACIT_PERSON_MS", "10")
RHO = "0.02"
"""The loss of each question; 5% of it, rho 0.001, buys its time."""

AT_ONCE = int(os.environ.get("TACIT_AT_ONCE", "32"))
WARM = 4
GROUP = 100
_numbers = count(10**6)

TEXT = """\
[server]
processes = 1
requests_per_minute = 10000000

[server.time]
TIME

[engines.warehouse]
kind = "duckdb"
path = "clinic.duckdb"

[populations.patients]
unit = "person"
owners = ["olga"]
budget = { rho = 1000000, delta = "1e-3", conversion_delta = "1e-6", least = 0 }

[datasets.visits]
population = "patients"
engine = "warehouse"
epoch = "1"
unit = "person"
max_groups = 2
max_rows = 5
most_rows = { rows = 6000, source = "made up" }

[datasets.visits.columns]
person = "text"
ward = { kind = "text", keys = ["north", "south"], provenance = "public" }
cost = { kind = "integer", bounds = [0, 100], provenance = "policy" }

[public.wards]
engine = "warehouse"
epoch = "1"
lookup = ["ward"]
fan_out = 3

[public.wards.columns]
ward = "text"
beds = { kind = "integer", bounds = [0, 50], provenance = "public" }
"""
ROWS = (
    "CREATE TABLE visits AS SELECT 'p' || i % 500 AS person, "
    "CASE i % 2 WHEN 0 THEN 'north' ELSE 'south' END AS ward, (i % 80)::INTEGER AS cost "
    "FROM range(20000) r(i);"
    "CREATE TABLE wards AS SELECT * FROM (VALUES ('north', 3), ('north', 4), ('north', 5), "
    "('south', 9)) v(ward, beds);"
)
HEAVY = "INSERT INTO visits SELECT 'heavy', 'north', 7 FROM range(5000);"
OPEN = 'kind = "open"'
JOIN = "visits JOIN wards ON visits.ward = wards.ward"
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits WHERE cost <> {}",
    "SELECT SUM(cost) AS s FROM visits WHERE cost <> {}",
    "SELECT AVG(cost) AS a FROM visits WHERE cost <> {}",
    "SELECT VARIANCE(cost) AS v FROM visits WHERE cost <> {}",
    "SELECT MEDIAN(cost) AS m FROM visits WHERE cost <> {}",
    "SELECT MAX(cost) AS h FROM visits WHERE cost <> {}",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE cost <> {} GROUP BY ward",
    "SELECT ward, SUM(cost) AS s FROM visits WHERE cost <> {} GROUP BY ward",
    f"SELECT COUNT(*) AS n FROM {JOIN} WHERE cost <> {{}}",  # noqa: S608 - the fan-out
    f"SELECT SUM(beds) AS b FROM {JOIN} WHERE cost <> {{}}",  # noqa: S608
)


def delayed(person_ms: str) -> str:
    """The rule of a server that delays answers, with a place for each question at once."""
    return f'kind = "delay"\nperson_ms = {person_ms}\nplaces = {AT_ONCE}'


class Side:
    """A server over one of two neighbours, and how long it takes."""

    def __init__(self, port: int, token: str, file: Path) -> None:
        self.file, self._port = file, port
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        }

    def seconds(self, sql: str) -> float:
        """The seconds from a new question to its answer."""
        return self.ask(sql.format(next(_numbers)))

    def ask(self, sql: str) -> float:
        body = json.dumps({"sql": sql, "rho": RHO})
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)) as line:
            line.connect()
            began = time.perf_counter()
            line.request("POST", "/v1/ask", body, self._headers)
            response = line.getresponse()
            said = response.read()
        taken = time.perf_counter() - began
        assert response.status == 200, said
        return taken

    def delays(self) -> list[DelayNoise]:
        """Every delay that the ledger charged."""
        found, after = [], 0
        with project_and_ledger(self.file, {}) as (_, home):
            while entries := home.ledger.entries("patients", after):
                after = entries[-1].seq
                for act in (decode_act(entry.body) for entry in entries):
                    event = decode_event(act.event) if isinstance(act, Charged) else None
                    if isinstance(event, Composed):
                        found += [e for e in event.events if isinstance(e, DelayNoise)]
        return found


@contextmanager
def sides(place: Path, rule: str) -> Iterator[list[Side]]:
    """Servers over a table, and over the same with one person more."""
    with ExitStack() as ending:
        servers = []
        for name, rows in {"D": ROWS, "more": ROWS + HEAVY}.items():
            folder = place / name
            folder.mkdir(parents=True, exist_ok=True)
            with duckdb.connect(str(folder / "clinic.duckdb")) as owner:
                owner.execute(rows)
            file = folder / "tacit.toml"
            file.write_text(TEXT.replace("TIME", rule))
            apply_project(file, by="olga")
            with project_and_ledger(file, {}) as (_, home):
                allowed = AccessToken("ann", "analyst", ALL.text, wall_clock() + 10**9)
                token = Tokens(home.store).issue(allowed)
            servers.append((Command(file, place / "logs", {}), token, file))
            ending.callback(servers[-1][0].kill)
        yield [Side(server.ready().port, token, file) for server, token, file in servers]


def pairs_of(
    both: list[Side], sql: str, times: int, kept: Path, at_once: int
) -> list[list[float]]:
    """So many pairs of seconds, of either side, in random order; earlier ones are kept."""
    pairs = [json.loads(line) for line in kept.open()] if kept.exists() else []
    kept.parent.mkdir(parents=True, exist_ok=True)
    draw = Random(len(pairs))  # noqa: S311 - only who is first

    def pair(order: list[int]) -> list[float]:
        taken = {side: both[side].seconds(sql) for side in order}
        return [taken[0], taken[1]]

    if len(pairs) < times:
        for side in both * WARM:
            side.seconds(sql)
    with kept.open("a") as file, ThreadPoolExecutor(at_once) as streams:
        orders = [draw.sample((0, 1), 2) for _ in range(times - len(pairs))]
        for found in streams.map(pair, orders):
            pairs.append(found)
            file.write(json.dumps(found) + "\n")
            file.flush()
    return pairs[:times]


def auc_of(pairs: list[list[float]]) -> float:
    """The AUC of the better guess of the side, that it is the slower or the quicker one."""
    times = len(pairs)
    ranks = rankdata(np.array(pairs).T)
    above = (ranks[:times].sum() - times * (times + 1) / 2) / times**2
    return float(max(above, 1 - above))


def most(rho: float, times: int) -> float:
    """The AUC that the charge allows, and four standard deviations of its estimate."""
    deviation: float = np.sqrt((2 * times + 1) / (12 * times**2))
    return NormalDist().cdf(rho**0.5) + 4 * deviation


def in_groups(pairs: list[list[float]]) -> list[list[float]]:
    """The mean seconds of each hundred questions, of either side."""
    whole = len(pairs) // GROUP * GROUP
    means = np.array(pairs[:whole]).reshape(-1, GROUP, 2).mean(axis=1)
    found: list[list[float]] = means.tolist()
    return found


def test_delayed_times_tell_no_more_than_was_charged(tmp_path: Path, bar: Bar) -> None:
    kept = Path(os.environ.get("TACIT_CAMPAIGN", tmp_path / "kept"))
    with sides(tmp_path / "open", OPEN) as both:
        off = {
            sql: auc_of(pairs_of(both, sql, LOOK, kept / f"open-{number}", at_once=1))
            for number, sql in enumerate(QUESTIONS)
        }
    worst = max(off, key=lambda sql: off[sql])
    bar("AUC with open times, the worst question", off[worst], "> 0.6", off[worst] > 0.6)
    bar("which is", worst, "shown", ok=True)
    time_ = price_time(ServerTime(DELAY, person_ms=Fraction(PERSON_MS)), Loss.zcdp(RHO))
    assert time_ is not None
    rho = float(time_.loss.amount)
    share = rho / float(RHO)
    bar("time's share of the price", share, "<= 0.05", share <= 0.05)
    bar("mean delay in ms", float(time_.mean_ms), "shown", ok=True)
    others = [sql for sql in QUESTIONS if sql != worst]
    with sides(tmp_path / "delay", delayed(PERSON_MS)) as both:
        place = kept / f"{PERSON_MS}-{QUESTIONS.index(worst)}"
        pairs = pairs_of(both, worst, WORST, place, AT_ONCE)
        auc, allowed = auc_of(pairs), most(rho, WORST)
        bar(f"AUC of it with a delay, {WORST} a side", auc, f"<= {allowed:.4f}", auc <= allowed)
        found = [
            auc_of(
                pairs_of(
                    both, sql, OTHERS, kept / f"{PERSON_MS}-{QUESTIONS.index(sql)}", AT_ONCE
                )
            )
            for sql in others
        ]
        allowed = most(rho, OTHERS)
        bar(
            f"AUC of nine others at most, {OTHERS} a side",
            max(found),
            f"<= {allowed:.4f}",
            max(found) <= allowed,
        )
        groups = in_groups(pairs)
        if groups:
            allowed = most(GROUP * rho, len(groups))
            auc = auc_of(groups)
            bar(f"AUC of means of {GROUP}", auc, f"<= {allowed:.4f}", auc <= allowed)
        charged = both[0].delays()
        both[0].ask(worst.format(1))
        before = len(both[0].delays())
        again = [both[0].ask(worst.format(1)) for _ in range(3)]
        after = len(both[0].delays())
        bar("delays charged for three repeats", after - before, "0", after == before)
        bar("seconds of a repeat", min(again), "shown", ok=True)
        asked = {each.variance for each in charged}
        assert time_.event is not None
        meant = {time_.event.variance}  # a least price would buy shorter delays
        bar("variances of all delays are those meant", asked == meant, "True", asked == meant)
        quickest = min(min(pair) for pair in pairs)
        bar("quickest delayed answer in s", quickest, "shown", ok=True)


def test_a_person_who_moves_time_further_is_seen(tmp_path: Path, bar: Bar) -> None:
    """The lie: ``person_ms`` is a two hundredth of what it should be."""
    kept, lie = Path(os.environ.get("TACIT_CAMPAIGN", tmp_path / "kept")), "0.05"
    with sides(tmp_path / "lie", delayed(lie)) as both:
        pairs = pairs_of(both, QUESTIONS[3], OTHERS, kept / "lie", at_once=1)
    auc, allowed = auc_of(pairs), most(0.001, OTHERS)
    bar("AUC with a person_ms that is too small", auc, f"> {allowed:.4f}", auc > allowed)
