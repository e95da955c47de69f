"""Written attacks: each is refused without a word of anybody's data, or means what it says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from time import process_time

import clinic
import duckdb
import hospital
import pytest
from attack import Attack
from attacks import ATTACKS
from conftest import Bar
from hospital import Tables
from pace import questions

from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.sensitivity import Norm
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Row
from tacit.errors import InvalidValue, TacitError, UnknownName
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.canonical_form import canonical
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse

LIMITS = Limits(2, 3)
CATALOGS = {"clinic": clinic.catalog(LIMITS), "hospital": hospital.catalog(LIMITS)}
CANARY = "CANARY-7f3a"
LONGEST_TOLD = 500
SLOWEST = 500
"""Plain questions that could be read in the time of one attack."""
PARSER_WORDS = re.compile(r"(?i:Expecting|Line \d|Col:|sqlglot|Traceback|duckdb)|Error|\x1b")


EXTREMES: tuple[Row, ...] = tuple(
    {
        "person": "a",
        "ward": ward,
        "age": age,
        "pay": pay,
        "cost": cost,
        "smoker": age == 0,
        "day": day,
        "until": day,
        "doctor": ward,
        "room": age,
    }
    for ward, age, pay, cost, day in (
        ("", -(2**63), float("nan"), Decimal("-9999999999999999.99"), date.min),
        ("%_\\", 2**63 - 1, float("inf"), Decimal("9999999999999999.99"), date.max),
        ("north", 0, -1e308, Decimal(0), date(2020, 2, 29)),
        (None, None, None, None, None),
    )
)
LINKED: Tables = {
    ("patients",): [
        {"id": 1, "person": "a", "city": "Bern"},
        {"id": 1, "person": "b", "city": None},
        {"id": None, "person": None, "city": "Ulm"},
    ],
    ("visits",): [
        {"id": 1, "patient": 1, "ward": "north", "age": -(2**63)},
        {"id": None, "patient": 2, "ward": "", "age": 2**63 - 1},
        {"id": 1, "patient": None, "ward": None, "age": None},
    ],
    ("labs",): [],
}


@dataclass
class Watched:
    """A DuckDB engine that counts how often it is asked."""

    engine: DuckDB
    asked: list[BoundedPlan] = field(default_factory=list)

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        self.asked.append(plan)
        return self.engine.run(plan, catalog, salt)


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Watched]]:
    row = dict.fromkeys(clinic.TYPES) | {"person": CANARY, "doctor": CANARY}
    visits = clinic.database([row, *EXTREMES])
    linked = hospital.database(LINKED)
    yield {"clinic": Watched(DuckDB(visits)), "hospital": Watched(DuckDB(linked))}
    visits.close()
    linked.close()


def ask(attack: Attack, engine: Watched) -> TacitError | None:
    """What a session does, without a ledger; what it says where it refuses."""
    catalog = CATALOGS[attack.catalog]
    try:
        quote = price(parse(attack.text, catalog), catalog, Loss.zcdp("0.1"))
    except TacitError as error:
        return error
    run(quote, engine, catalog, b"salt", LiveGateway(SystemEntropy(b"charge")))
    return None


def sensitivities(text: str, attack: Attack) -> list[tuple[Fraction, Norm]]:
    """How far one person moves each number that is released."""
    catalog = CATALOGS[attack.catalog]
    quote = price(parse(text, catalog), catalog, Loss.zcdp("0.1"))
    return [(tally.sensitivity.square, tally.sensitivity.norm) for tally in quote.tallies]


def without_words(told: str, text: str) -> str:
    """A refusal without the words that it repeats from the question."""
    for word in set(re.findall(r"\w+", text)):
        told = told.replace(word, "")
    return told


def test_there_are_many_attacks(bar: Bar) -> None:
    texts = {(attack.catalog, attack.text) for attack in ATTACKS}
    bar("written attacks", len(texts), ">= 250", len(texts) >= 250)
    threats = {attack.threat.split()[0] for attack in ATTACKS}
    assert threats >= {"T7", "T9", "T11", "T13", "T14", "T15", "T16", "T17", "T18", "T20"}


@pytest.mark.parametrize(
    "attack", ATTACKS, ids=lambda attack: f"{attack.threat}: {attack.text[:60]!a}"
)
def test_an_attack_is_refused_or_means_what_it_says(
    attack: Attack, engines: dict[str, Watched]
) -> None:
    engine = engines[attack.catalog]
    before, start = len(engine.asked), process_time()
    told = ask(attack, engine)
    assert questions(process_time() - start) < SLOWEST
    if attack.means is not None:
        assert told is None, told
        catalog = CATALOGS[attack.catalog]
        meant = canonical(parse(attack.means, catalog)).plan
        assert canonical(parse(attack.text, catalog)).plan == meant
        return
    if attack.moves is not None:
        assert told is None, told
        assert len(engine.asked) == before + 1
        assert sensitivities(attack.text, attack) == sensitivities(attack.moves, attack)
        return
    assert isinstance(told, InvalidValue | UnknownName), told
    assert len(engine.asked) == before
    assert not PARSER_WORDS.search(without_words(str(told), attack.text))
    assert CANARY not in str(told)
    assert len(str(told)) < LONGEST_TOLD


def test_a_question_reaches_the_engine_that_is_watched(engines: dict[str, Watched]) -> None:
    before = len(engines["clinic"].asked)
    assert ask(Attack("none", "SELECT COUNT(*) FROM visits"), engines["clinic"]) is None
    assert len(engines["clinic"].asked) == before + 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        "COPY visits TO '/tmp/tacit-attack.csv'",
        "SET lock_configuration = false",
        "ATTACH '/tmp/tacit-attack.db' AS x",
        "INSTALL httpfs",
    ],
)
def test_the_engine_is_locked_too(text: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (age INT)")
        DuckDB(connection)
        with pytest.raises(duckdb.Error):
            connection.execute(text)


def test_the_text_that_is_passed_on_would_tell_a_row() -> None:
    """The lie: the analyst's words in the engine's hands, whose errors hold a cell."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits AS SELECT ? AS ward", [CANARY])
        with pytest.raises(duckdb.Error, match=CANARY):
            connection.execute(
                "SELECT COUNT(*) FROM visits WHERE CAST(ward AS INT) > 0"
            ).fetchall()
