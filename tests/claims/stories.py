"""The stories of docs/explanation/attacks.md, each as findings: exact, and through Tacit.

Everything of ours is at epsilon 1 in all, with a delta of 10**-6 where noise is Gaussian.
"""

from collections.abc import Callable
from fractions import Fraction
from math import sqrt

import numpy as np
from attacked import GATEWAY, gaussian, laplace, mu_within, people_from
from scipy.sparse import csr_array

from tacit.attacks.answers_gallery import averaging, difference, differencing, side_channel
from tacit.attacks.attack_table import cells_through_tacit, told_at_most
from tacit.attacks.finding import Finding, Measured
from tacit.attacks.linkage import linkage, uniqueness
from tacit.attacks.members_gallery import (
    Fit,
    Predict,
    Ratings,
    confidences,
    identification,
    likelihood_ratios,
    products,
    stands_out,
    table,
)
from tacit.attacks.members_gallery import correlation_scores as agreements
from tacit.attacks.members_gallery import tracing_scores as leanings
from tacit.attacks.membership import presence
from tacit.attacks.reconstruction import bits_told, least_squares
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.robust.quantiles import RankQuantile

OURS = "Tacit, ε = 1"
ALLOWED = told_at_most(1, "1e-6")


def names_removed() -> list[Finding]:
    """7,500 people of one postcode: birth date and sex, beside a voter roll."""
    random, people = people_from(70), 7_500
    facts = [random.integers(0, limit, people) for limit in (79, 365, 2)]
    ill = random.choice(["none", "flu", "cancer", "asthma"], people, p=[0.4, 0.3, 0.2, 0.1])
    order = random.permutation(people)
    named = [column[order] for column in facts]
    return [
        uniqueness(facts),
        linkage(facts, ill, named, ill[order]),
        cells_through_tacit(facts, ill, 1, 0),
    ]


def eight_films() -> list[Finding]:
    """8 ratings, 2 of them wrong, days known to two weeks, among 20,000 people."""
    random, people, items = people_from(71), 20_000, 3_000
    popular = np.cumsum(1 / np.arange(1, items + 1) ** 0.8)
    counts = np.clip(random.lognormal(4.2, 0.9, people).astype(int), 12, 1000)
    person = np.repeat(np.arange(people), counts)
    pairs = np.searchsorted(popular, random.random(person.size) * popular[-1])
    pairs = np.unique(person * items + pairs)
    person, item = pairs // items, pairs % items
    rating, day = random.integers(1, 6, item.size), random.integers(0, 2200, item.size)
    ratings = Ratings.of(person, item, rating, day)
    starts = np.searchsorted(person, np.arange(people + 1))
    targets, named = random.integers(0, people, 1000), []
    for target in targets:
        own = np.arange(starts[target], starts[target + 1])
        known = random.choice(own, 8, replace=own.size < 8)
        items_, how = item[known], rating[known]
        when = day[known] + random.integers(-14, 15, 8)
        items_[:2], how[:2] = random.integers(0, items, 2), random.integers(1, 6, 2)
        found = stands_out(ratings.scores(items_, how, when))
        named.append(-1 if found is None else found)
    rows = identification("rows without names", np.array(named), targets, people)
    return [rows, _films_through_tacit(random)]


def _films_through_tacit(random: np.random.Generator) -> Finding:
    candidates, runs = 500, 20_000
    rated = np.zeros((candidates, 300), dtype=np.int64)
    for row in rated:
        row[random.choice(300, 8, replace=False)] = 1
    truth = random.integers(0, candidates, runs)
    like = laplace(rated[truth], 8, 1).astype(np.float32) @ rated.T.astype(np.float32)
    allowed = float(np.exp(1)) / candidates
    return identification(OURS, np.argmax(like, axis=1), truth, candidates, allowed)


def a_resignation() -> list[Finding]:
    """The mean salary of 200 people before and after one of them left, for each of 5,000."""
    random, people, most = people_from(73), 200, 500_000
    pay = random.integers(20_000, most, (5_000, people))
    before, after = pay.sum(axis=1), pay[:, :-1].sum(axis=1)
    found = []
    for system, first, second in (
        ("exact means", before, after),
        (OURS, laplace(before, most, 0.5), laplace(after, most, 0.5)),
    ):
        guesses = difference(first / people, second / (people - 1), people)
        found.append(differencing(system, guesses, pay[:, -1], 5_000, 10_000 / 480_000))
    return found


def asking_again() -> list[Finding]:
    """100 answers to one count, with the same noise kept or other noise each time."""
    random, tries = people_from(78), 20_000
    present = random.random(tries) < 0.5
    anew = np.stack([laplace(1000 + present, 1, 1) for _ in range(100)], axis=1)
    kept = np.repeat(laplace(1000 + present, 1, 1)[:, None], 100, axis=1)
    return [
        averaging("ε = 1 for each of 100 repeats", anew, present, 1000.0),
        averaging(OURS, kept, present, 1000.0, ALLOWED),
    ]


def only_counts() -> list[Finding]:
    """20,000 counts of 500 people each: who of 10,000 has the secret?"""
    random, people, questions, size = people_from(10), 10_000, 20_000, 500
    bits = (random.random(people) < 0.5).astype(np.int64)
    chosen = random.integers(0, people, (questions, size)).ravel()
    starts = np.arange(0, questions * size + 1, size)
    asked = csr_array((np.ones(chosen.size), chosen, starts), shape=(questions, people))
    asked.sum_duplicates()
    asked.data[:] = 1
    answers = np.rint(asked @ bits).astype(np.int64)
    square = int(asked.sum(axis=0).max())
    systems = {
        "exact counts": (answers, None),
        "counts rounded to 10": (10 * np.rint(answers / 10), None),
        "ε = 1 per query without a ledger": (laplace(answers, 1, 1), None),
        OURS: (gaussian(answers, square, mu_within(1)), ALLOWED),
    }
    return [
        bits_told("reconstruction", system, least_squares(asked, given), bits, limit)
        for system, (given, limit) in systems.items()
    ]


def many_means() -> list[Finding]:
    """The means of 1,000 yes-or-no facts about 100 people; then who was among them?"""
    random, people, facts = people_from(77), 100, 1000
    scored: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"exact means": [], OURS: []}
    for _ in range(60):
        inside, outside = random.choice([-1, 1], (2, people, facts))
        totals, middle = inside.sum(axis=0), np.zeros(facts)
        released = {"exact means": totals, OURS: gaussian(totals, facts, mu_within(1))}
        for system, sums in released.items():
            means = sums / people
            pair = leanings(inside, means, middle), leanings(outside, means, middle)
            scored[system].append(pair)
    return _presence("tracing", scored)


def tables_of_genes() -> list[Finding]:
    """Correlations of 30 genes of 50 people; whoever knows Alice's asks whether she was in."""
    random, people, grid, clip = people_from(72), 50, 100, 25
    scored: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"exact table": [], OURS: []}
    for _ in range(120):
        shares = random.uniform(0.1, 0.9, 30)
        spread = np.sqrt(shares * (1 - shares))
        case, other = (np.asarray(random.random((2, people, 30)) < shares) - shares) / spread
        each = products(case)
        each = each * np.minimum(1, clip / np.linalg.norm(each, axis=1, keepdims=True))
        sums = np.trunc(each * grid).astype(np.int64).sum(axis=0)
        noisy = gaussian(sums, (clip * grid) ** 2, mu_within(1)) / grid
        for system, published in (("exact table", table(case)), (OURS, noisy)):
            pair = agreements(published, case), agreements(published, other)
            scored[system].append(pair)
    return _presence("correlations", scored)


def one_rich_patient() -> list[Finding]:
    """The mean income of 500 patients; is the very rich one among them?"""
    random, runs = people_from(74), 4000
    income = np.clip(random.lognormal(4, 0.6, (2 * runs, 500)), 0, 400)
    income[:runs, 0] = 5e6
    sums = laplace(np.rint(np.clip(income, 0, 400)).sum(axis=1), 400, 1)
    means = income.mean(axis=1)
    return [
        presence("one rich patient", "exact mean", means[:runs], means[runs:]),
        presence("one rich patient", OURS, sums[:runs], sums[runs:], ALLOWED),
    ]


def a_model() -> list[Finding]:
    """A classifier of 80 people by 76 features, and 64 shadow models of the attacker."""
    random, people, width, shadows, attacked = people_from(15), 160, 76, 64, 80
    features = random.choice([-1.0, 1.0], (people, width))
    labels = random.integers(0, 2, people)
    used = np.stack(
        [random.permutation(people) < people // 2 for _ in range(shadows + attacked)]
    )
    scored: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for system, mu in (("exact model", None), (OURS, mu_within(1))):
        seen = confidences(by_least_squares(mu), features, labels, used)
        scored[system] = []
        for target in range(shadows, shadows + attacked):
            ratios = likelihood_ratios(seen[:shadows], used[:shadows], seen[target])
            scored[system].append((ratios[used[target]], ratios[~used[target]]))
    return _presence("model membership", scored)


def by_least_squares(mu: float | None) -> Fit:
    """A classifier from the moments of features and labels, exact or with our noise."""

    def fit(features: np.ndarray, labels: np.ndarray) -> Predict:
        rows = np.column_stack([features, 2 * labels - 1])
        each = np.rint(np.clip(rows, -1, 1)).astype(np.int64)
        wide = rows.shape[1]
        # a person moves each of the products by 1 at most
        outer = each.T @ each if mu is None else gaussian(each.T @ each, wide**2, mu)
        keep = 0.01 if mu is None else 2 * wide * sqrt(wide) / mu
        gram = (outer + outer.T)[:-1, :-1] / 2 + keep * np.eye(wide - 1)
        weight = np.linalg.solve(gram, outer[:-1, -1])

        def predict(rows: np.ndarray) -> np.ndarray:
            yes = 1 / (1 + np.exp(-3 * np.clip(rows, -1, 1) @ weight))
            return np.column_stack([1 - yes, yes])

        return predict

    return fit


def noise_that_fits() -> list[Finding]:
    """A median whose noise is as large as this table needs, and no larger."""
    still, loose = np.array([0, 0, 0, 0, 0, 9, 9]), np.array([0, 0, 0, 0, 9, 9, 9])
    random, runs = people_from(14), 4000
    fitted = np.zeros(runs), np.rint(random.laplace(0, 9, runs))
    median = RankQuantile(Fraction(1, 2), rate=Fraction(1), points=10)
    one = Sensitivity.of(1, Norm.L1, Rule("one"))
    ours = [
        np.array([median.release(Secret(counts), one, GATEWAY)[0] for _ in range(runs)])
        for counts in (np.bincount(each, minlength=10) for each in (still, loose))
    ]
    return [
        side_channel("noise of local sensitivity", *fitted, value=0),
        side_channel(OURS, *ours, value=0, allowed=ALLOWED),
    ]


def equal_grades() -> list[Finding]:
    """A hundred equal grades: the count of each grade tells everybody's."""
    counts = np.array([100, 0, 0, 0])
    found = []
    for system, seen in (("exact counts", counts), (OURS, laplace(counts, 1, 1))):
        hits = Measured.share(100.0 * (int(seen.argmax()) == 0), 100)
        found.append(Finding("equal grades", system, "everyone's grade", hits, 0.25, fact=True))
    return found


STORIES: dict[str, Callable[[], list[Finding]]] = {
    "names-removed": names_removed,
    "eight-films": eight_films,
    "a-resignation": a_resignation,
    "asking-again": asking_again,
    "only-counts": only_counts,
    "many-means": many_means,
    "tables-of-genes": tables_of_genes,
    "one-rich-patient": one_rich_patient,
    "a-model": a_model,
    "noise-that-fits": noise_that_fits,
    "equal-grades": equal_grades,
}


def _presence(
    attack: str, scored: dict[str, list[tuple[np.ndarray, np.ndarray]]]
) -> list[Finding]:
    found = []
    for system, pairs in scored.items():
        members, others = (np.concatenate(side) for side in zip(*pairs, strict=True))
        limit = ALLOWED if system == OURS else None
        found.append(presence(attack, system, members, others, limit))
    return found
