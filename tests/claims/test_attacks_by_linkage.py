"""Linkage, k-anonymity and sparse linkage: rows without names name people; ours do not."""

import os
from math import tanh
from pathlib import Path

import numpy as np
import pytest
from attacked import laplace, opened, people_from
from conftest import Bar, given_seconds

from tacit.attacks.finding import AttackVerdict, Finding, Measured
from tacit.attacks.linkage import (
    anonymity,
    background,
    expected_uniqueness,
    homogeneity,
    linkage,
    uniqueness,
)
from tacit.attacks.members_gallery import Ratings, identification, stands_out
from tacit.errors import TacitError

pytestmark = pytest.mark.claim

PEOPLE, ITEMS = 20_000, 3_000
TARGETS = int(os.environ.get("TACIT_TARGETS", "300"))
YEARS, DAYS = 79, 365
SHARES = np.clip(
    np.where(np.arange(YEARS) < 60, 1.0, 1 - (np.arange(YEARS) - 60) / 25), 0.05, 1
)
SHARES = SHARES / SHARES.sum()


def town(random: np.random.Generator, people: int) -> list[np.ndarray]:
    """Birth year, day of the year, and sex, of all people of one ZIP code."""
    year = random.choice(YEARS, people, p=SHARES)
    return [year, random.integers(0, DAYS, people), random.integers(0, 2, people)]


# ------------------------------------------------------------------ Sweeney


def test_birth_date_and_sex_single_people_out(bar: Bar) -> None:
    """T70 (A01, A02): nearly nine of ten are alone; a voter roll then tells their diagnoses."""
    random, people = people_from(70), 7_500
    facts = town(random, people)
    alone = uniqueness(facts)
    predicted = expected_uniqueness(people, np.repeat(SHARES / (2 * DAYS), 2 * DAYS))
    share = alone.success.value
    bar("T70 alone by ZIP, birth date and sex", share, "0.87 +-0.02", abs(share - 0.87) <= 0.02)
    assert abs(share - predicted) <= 0.02
    ill = random.choice(["none", "flu", "cancer", "asthma"], people, p=[0.4, 0.3, 0.2, 0.1])
    order = random.permutation(people)
    raw = linkage(facts, ill, [column[order] for column in facts], ill[order])
    bar(
        "T70 diagnoses told by a voter roll",
        raw.success.value,
        ">= 0.85",
        raw.success.low >= 0.85,
    )


def test_linkage_with_private_cells_stays_near_the_base_rate(bar: Bar) -> None:
    """T70, the protected half: noisy counts of every cell, one person in one of them."""
    random, people, epsilon = people_from(71), 7_500, 1
    ill = random.random(people) < 0.5
    facts = town(random, people)
    place = (facts[0] * DAYS + facts[1]) * 2 + facts[2]
    cells = np.zeros((YEARS * DAYS * 2, 2), dtype=np.int64)
    np.add.at(cells, (place, ill.astype(int)), 1)
    base, allowed = 0.5, 0.5 + tanh(epsilon / 2)
    for system, counts in {
        "exact cells": cells,
        "Tacit, ε = 1": laplace(cells, 1, epsilon),
    }.items():
        seen = counts[place]
        guess = np.where(
            seen[:, 1] == seen[:, 0], random.random(people) < 0.5, seen[:, 1] > seen[:, 0]
        )
        hits = Measured.share(float(np.count_nonzero(guess == ill)), people)
        ours = system.startswith("Tacit")
        told = Finding("linkage", system, "diagnoses", hits, base, allowed if ours else None)
        bar(
            f"T70 diagnoses told, {system}",
            hits.value,
            f"<= base rate + tanh(eps/2) = {allowed:.3f}" if ours else ">= 0.85",
            told.verdict.good if ours else hits.value >= 0.85,
        )
    # the lie: cells that are exact under the name of a promise
    lie = Finding(
        "linkage", "the lie", "diagnoses", Measured.share(9_900, 10_000), base, allowed
    )
    assert lie.verdict is AttackVerdict.BROKEN


def test_no_row_leaves_a_session(tmp_path: Path) -> None:
    """T70: there is nothing to join with, since a question for rows is refused."""
    people = {"name": ["a", "b", "c"], "pay": [1, 2, 3]}
    with (
        opened(tmp_path, people, (3, "1e-6"), bounds={"pay": (0, 3)}) as session,
        pytest.raises(TacitError, match="must be in GROUP BY"),
    ):
        session.sql("SELECT name, pay FROM people")


# ------------------------------------------------------------------ k-anonymity


def test_k_anonymity_falls_to_equal_secrets_and_to_background_knowledge(bar: Bar) -> None:
    """A06: groups of ten whose members agree, or all but agree."""
    group = np.repeat(np.arange(100), 10)
    random = people_from(6)
    secret = np.where(group < 40, "cancer", random.choice(["flu", "none"], group.size))
    secret[(group >= 40) & (group < 70)] = "flu"
    secret[np.arange(400, 700, 10)] = "cancer"  # one in each of these groups
    assert anonymity([group]) == 10
    told = homogeneity([group], secret)
    bar(
        "A06 10-anonymous rows: told by equal secrets",
        told.success.value,
        ">= 0.40",
        told.success.value >= 0.4,
    )
    more = background([group], secret, "cancer")
    bar(
        "A06 told once cancer is ruled out",
        more.success.value,
        ">= 0.45",
        more.success.value >= 0.45,
    )
    assert homogeneity([group], np.tile(["flu", "none"], 500)).success.value == 0


def test_a_hundred_equal_grades_are_told_with_and_without_privacy(
    tmp_path: Path, bar: Bar
) -> None:
    """T79 (A06): noise for one person does not hide what is true of a hundred. We say so."""
    grades = np.array(["A"] * 100)
    raw = homogeneity([np.zeros(100)], grades)
    people = {"name": [f"p{place}" for place in range(100)], "grade": grades}
    known = {"grade": ["A", "B", "C", "D"]}
    with opened(tmp_path, people, (3, "1e-6"), keys=known) as session:
        text = "SELECT grade, COUNT(*) AS n FROM people GROUP BY grade"
        answer = session.sql(text).ask(epsilon=1)
    counts = np.array([float(value) for value in answer["n"].values])
    guess = answer["grade"].values[int(counts.argmax())]
    hits = float(np.count_nonzero(grades == guess))
    still = Finding(
        "equal grades",
        "Tacit, ε = 1",
        "everyone's grade",
        Measured.share(hits, 100),
        0.25,
        None,
        fact=True,
    )
    bar(
        "T79 a hundred equal grades, exact: told",
        raw.success.value,
        "1",
        raw.success.value == 1,
    )
    bar(
        "T79 a hundred equal grades, Tacit: still told",
        still.success.value,
        "1: we say so",
        hits == 100,
    )
    assert still.verdict is AttackVerdict.FACT
    assert not still.verdict.good
    page = (Path(__file__).parents[2] / "docs/explanation/attacks.md").read_text()
    assert "hundred equal grades" in page


# ------------------------------------------------------------------ Narayanan and Shmatikov


def viewers(random: np.random.Generator) -> tuple[Ratings, list[np.ndarray]]:
    """Ratings of 20,000 people for 3,000 items, some far commoner than others."""
    popular = np.cumsum(1 / np.arange(1, ITEMS + 1) ** 0.8)
    counts = np.clip(random.lognormal(4.2, 0.9, PEOPLE).astype(int), 12, 1000)
    person = np.repeat(np.arange(PEOPLE), counts)
    item = np.searchsorted(popular, random.random(person.size) * popular[-1])
    pairs = np.unique(person * ITEMS + item)
    person, item = pairs // ITEMS, pairs % ITEMS
    columns = [
        person,
        item,
        random.integers(1, 6, person.size),
        random.integers(0, 2200, person.size),
    ]
    return Ratings.of(*columns), columns


def test_eight_ratings_name_one_of_twenty_thousand(bar: Bar) -> None:
    """T71 (A03, A04): two of them wrong, and days known to two weeks."""
    random = people_from(71)
    ratings, (person, item, rating, day) = viewers(random)
    starts = np.searchsorted(person, np.arange(PEOPLE + 1))
    began = given_seconds()
    targets, named = random.integers(0, PEOPLE, TARGETS), []
    for target in targets:
        own = np.arange(starts[target], starts[target + 1])
        known = random.choice(own, min(8, own.size), replace=False)
        items, how, when = (
            item[known],
            rating[known],
            day[known] + random.integers(-14, 15, known.size),
        )
        items[:2], how[:2], when[:2] = random.integers(0, [ITEMS, 5, 2200], (2, 3)).T
        found = stands_out(ratings.scores(items, how, when))
        named.append(-1 if found is None else found)
    raw = identification("rows without names", np.array(named), targets, PEOPLE)
    seconds = given_seconds() - began
    false = float(np.mean((np.array(named) != targets) & (np.array(named) >= 0)))
    bar(
        "T71 8 ratings, 2 wrong, +-14 days: identified",
        raw.success.value,
        ">= 0.99",
        raw.success.value >= 0.99,
    )
    bar("T71 named wrongly", false, "<= 0.005", false <= 0.005)
    bar(f"T71 seconds for {TARGETS} of 20,000 x 3,000", seconds, "<= 30", seconds <= 30)


def test_private_counts_of_items_name_nobody(bar: Bar) -> None:
    """T71, the protected half: the attacker knows all others, and which 500 it may be."""
    random, candidates, items, runs = people_from(72), 500, 300, 20_000
    rated = np.zeros((candidates, items), dtype=np.int64)
    for row in rated:
        row[random.choice(items, 8, replace=False)] = 1
    truth = random.integers(0, candidates, runs)
    # what is left of the counts when all others are taken away
    left, like = rated[truth], rated.T.astype(np.float32)

    def found(counts: np.ndarray) -> np.ndarray:
        return np.argmax(counts.astype(np.float32) @ like, axis=1)

    allowed = float(np.exp(1)) / candidates
    raw = identification("exact counts", found(left), truth, candidates)
    ours = identification(
        "Tacit, ε = 1", found(laplace(left, 8, 1)), truth, candidates, allowed
    )
    share = raw.success.value
    bar("T71 exact counts of items: identified", share, ">= 0.99", share >= 0.99)
    wanted = f"<= e^eps/N = {allowed:.4f}"
    bar("T71 Tacit, eps = 1: identified", ours.success.value, wanted, ours.verdict.good)
    one_of_eight = found(laplace(left, 1, 1))
    lie = identification("noise for one of eight", one_of_eight, truth, candidates, allowed)
    assert lie.verdict is AttackVerdict.BROKEN
