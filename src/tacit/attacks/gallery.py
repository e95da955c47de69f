"""A gallery of known attacks, each on exact answers and on answers of Tacit with epsilon 1.

A story is one way in which published data has revealed people. All people here are synthetic,
so the gallery needs no project and no data, and its report can be shared. `tacit attack
--gallery` runs the stories, and docs/explanation/attacks.md explains them.

In each story, all answers of Tacit together have epsilon 1, and a delta of 10**-6 where the
noise is Gaussian. Noise comes from the mechanisms of Tacit, through the gateway.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tacit.accounting import rho_within
from tacit.attacks.answers_gallery import averaging, difference, differencing, side_channel
from tacit.attacks.attack_table import (
    above_chance,
    cells_through_tacit,
    largest_exchange_success,
    largest_success,
)
from tacit.attacks.finding import CONFIDENCE, AttackVerdict, Finding, Measured
from tacit.attacks.linkage import linkage, uniqueness
from tacit.attacks.members_gallery import (
    Fit,
    Predict,
    Ratings,
    confidences,
    correlation_scores,
    identification,
    likelihood_ratios,
    products,
    stands_out,
    table,
    tracing_scores,
)
from tacit.attacks.membership import presence, presence_of_two
from tacit.attacks.people_generator import PeopleGenerator
from tacit.attacks.reconstruction import bits_recovered, least_squares
from tacit.attacks.report import AttackedItem, AttackReport, count_of, side_by_side
from tacit.attacks.secret_values import SecretValues
from tacit.attacks.story_texts import STORY_TEXTS
from tacit.core import Kind, Norm, Rule, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import Gateway, Gaussian, Laplace, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.robust import RankQuantile

EPSILON, DELTA = 1, Fraction(1, 10**6)
OURS = f"Tacit, ε = {EPSILON} in all"
RHO = rho_within(Fraction(EPSILON), DELTA)
ALLOWED = largest_success(EPSILON, DELTA)
"""Largest success of any attacker who decides whether one person is counted."""
EXCHANGED = largest_exchange_success(EPSILON, DELTA)
"""Bound for any attacker who decides which of two people, or of two values, is in the data."""

ONE = Rule("one person")


@dataclass(frozen=True, slots=True)
class GalleryNoise:
    """The noise of Tacit, for integers that one person changes by a known amount."""

    gateway: Gateway

    @classmethod
    def live(cls) -> "GalleryNoise":
        """Return noise that is different in each run and that nobody can predict."""
        return cls(LiveGateway(SystemEntropy(b"the gallery of attacks")))

    def laplace(
        self, values: NDArray[Any], sensitivity: int, epsilon: float = EPSILON
    ) -> NDArray[np.int64]:
        """Return noisy integers, where one person changes their sum by ``sensitivity``.

        Guarantee: the pure loss is epsilon.

        Example:
            >>> GalleryNoise.live().laplace(np.zeros((2, 3)), 1).shape
            (2, 3)
        """
        known = Sensitivity.of(sensitivity, Norm.L1, ONE)
        return self._release(
            Laplace(Fraction(sensitivity) / Fraction(str(epsilon))), values, known
        )

    def gaussian(
        self, values: NDArray[Any], square: int, rho: Fraction = RHO
    ) -> NDArray[np.int64]:
        """Return noisy integers, where ``square`` is the square of their L2 sensitivity.

        Guarantee: the loss is rho in zCDP. The default has epsilon 1 at delta 10**-6.
        """
        known = Sensitivity(Fraction(square), Norm.L2, ONE)
        return self._release(Gaussian(Fraction(square) / (2 * rho)), values, known)

    def medians(self, counts: NDArray[Any], runs: int) -> NDArray[np.int64]:
        """Return ``runs`` private medians of values, of which ``counts[v]`` have the value v.

        Guarantee: the pure loss of each median is epsilon 1, because one person has one value.
        """
        median = RankQuantile(Fraction(1, 2), Fraction(EPSILON), points=counts.size)
        one = Sensitivity.of(1, Norm.L1, ONE)
        secret = Secret(np.asarray(counts, dtype=np.int64))
        return np.array([median.release(secret, one, self.gateway)[0] for _ in range(runs)])

    def _release(
        self, mechanism: Laplace | Gaussian, values: NDArray[Any], known: Sensitivity
    ) -> NDArray[np.int64]:
        flat = np.asarray(values, dtype=np.int64).ravel()
        released = mechanism.release(Secret(flat), known, self.gateway)
        return np.asarray(released, dtype=np.int64).reshape(np.shape(values))


# ------------------------------------------------------------------ rows without names


def names_removed(_: GalleryNoise) -> list[Finding]:
    """Link 7,500 records of one postcode with a voter roll, by birth date and sex."""
    people, size = PeopleGenerator("names-removed"), 7_500
    facts = [people.integers(limit, size) for limit in (79, 365, 2)]
    ill = people.choices(["none", "flu", "cancer", "asthma"], [0.4, 0.3, 0.2, 0.1], size)
    order = people.permutation(size)
    roll = [column[order] for column in facts]
    return [
        uniqueness(facts),
        linkage(facts, ill, roll, ill[order]),
        cells_through_tacit(facts, SecretValues.of(ill, Kind.TEXT), EPSILON, 0),
    ]


def eight_films(noise: GalleryNoise) -> list[Finding]:
    """Find viewers by 8 ratings, 2 of them wrong, with days known to two weeks."""
    people, viewers, films = PeopleGenerator("eight-films"), 20_000, 3_000
    popularity = np.cumsum(1 / np.arange(1, films + 1) ** 0.8)
    counts = np.clip(people.lognormals(4.2, 0.9, viewers).astype(np.int64), 12, 1000)
    person = np.repeat(np.arange(viewers), counts)
    film = np.searchsorted(popularity, people.floats(person.size) * popularity[-1])
    pairs = np.unique(person * films + film)  # a viewer rates a film once
    person, film = pairs // films, pairs % films
    rating, day = 1 + people.integers(5, film.size), people.integers(2200, film.size)
    ratings = Ratings.of(person, film, rating, day)
    starts = np.searchsorted(person, np.arange(viewers + 1))
    targets, named = people.integers(viewers, 1000), []
    for target in targets:
        own = starts[target] + people.permutation(starts[target + 1] - starts[target])
        known = np.resize(own, 8)  # repeats ratings of a viewer who has fewer than 8
        films_, stars = film[known], rating[known]
        films_[:2], stars[:2] = people.integers(films, 2), 1 + people.integers(5, 2)
        days = day[known] + people.integers(29, 8) - 14
        found = stands_out(ratings.scores(films_, stars, days))
        named.append(-1 if found is None else found)
    rows = identification("rows without names", np.array(named), targets, viewers)
    return [rows, _films_through_tacit(people, noise)]


def _films_through_tacit(people: PeopleGenerator, noise: GalleryNoise) -> Finding:
    """Find one of 500 known candidates by noisy counts of 300 films, of which each rated 8.

    The attacker has subtracted the ratings of everybody else.
    """
    candidates, runs = 500, 20_000
    rated = np.zeros((candidates, 300), dtype=np.int64)
    np.put_along_axis(rated, people.subsets(300, 8, candidates), 1, axis=1)
    truth = people.integers(candidates, runs)
    counts = noise.laplace(rated[truth], 8)
    similarity = counts.astype(np.float32) @ rated.T.astype(np.float32)
    limit = exp(EPSILON) / candidates
    return identification(OURS, np.argmax(similarity, axis=1), truth, candidates, limit)


# ------------------------------------------------------------------ answers to questions


def a_resignation(noise: GalleryNoise) -> list[Finding]:
    """Compute a salary from the means of 200 people before and after one of them leaves."""
    people, staff, least, most = PeopleGenerator("a-resignation"), 200, 20_000, 500_000
    pay = least + people.integers(most - least, (5_000, staff))
    before, after = pay.sum(axis=1), pay[:, :-1].sum(axis=1)
    near = 5_000
    chance = (2 * near + 1) / (most - least)
    noisy = [noise.laplace(total, most, EPSILON / 2) for total in (before, after)]
    found = []
    for system, totals, limit in (
        ("exact means", (before, after), None),
        (OURS, noisy, above_chance(chance, EPSILON, 0)),
    ):
        guesses = difference(totals[0] / staff, totals[1] / (staff - 1), staff)
        finding = differencing(system, guesses, pay[:, -1], near, chance)
        found.append(replace(finding, allowed=limit))
    return found


def asking_again(noise: GalleryNoise) -> list[Finding]:
    """Average 100 answers to one count, with new noise each time or with stored answers."""
    people, tries, repeats = PeopleGenerator("asking-again"), 20_000, 100
    present = people.integers(2, tries) == 1
    fresh = np.stack([noise.laplace(1000 + present, 1) for _ in range(repeats)], axis=1)
    stored = np.repeat(noise.laplace(1000 + present, 1)[:, None], repeats, axis=1)
    return [
        averaging(f"ε = {EPSILON} for each of {repeats} repeats", fresh, present, 1000.0),
        averaging(OURS, stored, present, 1000.0, ALLOWED),
    ]


def only_counts(noise: GalleryNoise) -> list[Finding]:
    """Reconstruct the secrets of 10,000 people from 20,000 counts of 500 people each."""
    people, size, questions, counted = PeopleGenerator("only-counts"), 10_000, 20_000, 500
    bits = people.integers(2, size)
    chosen = people.integers(size, questions * counted)
    starts = np.arange(0, chosen.size + 1, counted)
    asked = csr_array((np.ones(chosen.size), chosen, starts), shape=(questions, size))
    asked.sum_duplicates()
    asked.data[:] = 1
    answers = np.asarray(asked @ bits, dtype=np.int64)  # a bit of 0 changes no answer
    most_often = int(asked.sum(axis=0).max())
    systems: dict[str, tuple[NDArray[Any], float | None]] = {
        "exact counts": (answers, None),
        "counts rounded to 10": (10 * np.rint(answers / 10), None),
        f"ε = {EPSILON} per query without a ledger": (noise.laplace(answers, 1), None),
        OURS: (noise.gaussian(answers, most_often), ALLOWED),
    }
    return [
        bits_recovered("reconstruction", system, least_squares(asked, given), bits, limit)
        for system, (given, limit) in systems.items()
    ]


# ------------------------------------------------------------------ statistics of a study

Scored = dict[str, list[tuple[NDArray[Any], NDArray[Any]]]]
"""For each system, pairs of scores: of people in the study, and of other people."""


def many_means(noise: GalleryNoise) -> list[Finding]:
    """Trace people in a study by the means of 1,000 facts about 100 people."""
    people, size, facts = PeopleGenerator("many-means"), 100, 1000
    scored: Scored = {"exact means": [], OURS: []}
    for _ in range(60):
        inside, outside = people.signs((2, size, facts))
        totals, reference = inside.sum(axis=0), np.zeros(facts)
        for system, sums in zip(scored, (totals, noise.gaussian(totals, facts)), strict=True):
            pair = [tracing_scores(part, sums / size, reference) for part in (inside, outside)]
            scored[system].append((pair[0], pair[1]))
    return _presence("tracing", scored)


def tables_of_genes(noise: GalleryNoise) -> list[Finding]:
    """Trace people in a study by the correlations of 30 genes of 50 people."""
    people, size, grid, clip = PeopleGenerator("tables-of-genes"), 50, 100, 25
    scored: Scored = {"exact table": [], OURS: []}
    for _ in range(120):
        shares = 0.1 + 0.8 * people.floats(30)
        deviation = np.sqrt(shares * (1 - shares))
        study, others = ((people.floats((2, size, 30)) < shares) - shares) / deviation
        each = products(study)
        each = each * np.minimum(1, clip / np.linalg.norm(each, axis=1, keepdims=True))
        sums = np.trunc(each * grid).astype(np.int64).sum(axis=0)
        noisy = noise.gaussian(sums, (clip * grid) ** 2) / grid
        for system, published in zip(scored, (table(study), noisy), strict=True):
            pair = [correlation_scores(published, part) for part in (study, others)]
            scored[system].append((pair[0], pair[1]))
    return _presence("correlations", scored)


def one_rich_patient(noise: GalleryNoise) -> list[Finding]:
    """Decide by the mean income of 500 patients whether a very rich one is among them."""
    people, runs, most = PeopleGenerator("one-rich-patient"), 4000, 400
    income = np.clip(people.lognormals(4, 0.6, (2 * runs, 500)), 0, most)
    income[:runs, 0] = 5e6
    income[runs:, 0] = 0  # without the rich one, there is nobody in this place
    sums = noise.laplace(np.rint(np.clip(income, 0, most)).sum(axis=1), most)
    means = income.sum(axis=1) / np.repeat([500, 499], runs)
    return [
        presence("outlier", "exact mean", means[:runs], means[runs:]),
        presence("outlier", OURS, sums[:runs], sums[runs:], ALLOWED),
    ]


def a_model(noise: GalleryNoise) -> list[Finding]:
    """Decide by 64 shadow models whether a person was in the training data of a classifier."""
    people, size, width, shadows, attacked = PeopleGenerator("a-model"), 160, 76, 64, 80
    features, labels = people.signs((size, width)), people.integers(2, size)
    used = np.stack([people.permutation(size) < size // 2 for _ in range(shadows + attacked)])
    scored: Scored = {}
    for system, fit in (
        ("exact model", _fit_by_moments(None)),
        (OURS, _fit_by_moments(noise)),
    ):
        seen = confidences(fit, features, labels, used)
        scored[system] = []
        for target in range(shadows, shadows + attacked):
            ratios = likelihood_ratios(seen[:shadows], used[:shadows], seen[target])
            scored[system].append((ratios[used[target]], ratios[~used[target]]))
    return _presence("model membership", scored)


def _fit_by_moments(noise: GalleryNoise | None) -> Fit:
    """Return a fit by least squares, from exact or noisy moments of features and labels."""

    def fit(features: NDArray[Any], labels: NDArray[Any]) -> Predict:
        rows = np.column_stack([features, 2 * labels - 1])
        width = rows.shape[1]
        moments, ridge = rows.T @ rows, 0.01
        if noise is not None:  # a person changes each of width**2 products by 1 at most
            moments = noise.gaussian(moments, width**2)
            ridge = 2 * width * sqrt(width / (2 * float(RHO)))
        gram = (moments + moments.T)[:-1, :-1] / 2 + ridge * np.eye(width - 1)
        weight = np.linalg.solve(gram, moments[:-1, -1])

        def predict(rows: NDArray[Any]) -> NDArray[Any]:
            yes = 1 / (1 + np.exp(-3 * rows @ weight))
            return np.column_stack([1 - yes, yes])

        return predict

    return fit


def noise_that_fits(noise: GalleryNoise) -> list[Finding]:
    """Distinguish two tables by the noise of a median that is scaled to the table."""
    runs, most = 4000, 9
    calm, shaken = np.array([0, 0, 0, 0, 0, 9, 9]), np.array([0, 0, 0, 0, 9, 9, 9])
    # in the first table, nobody can change the median, so it gets no noise
    fitted = np.zeros(runs), noise.laplace(np.zeros(runs), most)
    ours = [noise.medians(np.bincount(each, minlength=10), runs) for each in (calm, shaken)]
    return [
        side_channel("noise of local sensitivity", *fitted, value=0),
        side_channel(OURS, ours[0], ours[1], value=0, allowed=EXCHANGED),
    ]


def equal_grades(noise: GalleryNoise) -> list[Finding]:
    """Read everybody's grade from the counts of a class in which all grades are equal."""
    counts = np.array([100, 0, 0, 0])
    found = []
    for system, seen in (("exact counts", counts), (OURS, noise.laplace(counts, 1))):
        hits = Measured.share(100.0 * (int(seen.argmax()) == 0), 100)
        found.append(Finding("equal grades", system, "everyone's grade", hits, 0.25, fact=True))
    return found


def _presence(attack: str, scored: Scored) -> list[Finding]:
    """Measure, for each system, how often scores show who was in a study of a fixed size."""
    found = []
    for system, pairs in scored.items():
        members, others = (np.concatenate(side) for side in zip(*pairs, strict=True))
        limit = EXCHANGED if system == OURS else None
        found.append(presence_of_two(attack, system, members, others, limit))
    return found


# ------------------------------------------------------------------ the gallery


@dataclass(frozen=True, slots=True)
class Story:
    """One way in which published data has revealed people, and the attacks that show it."""

    name: str
    about: str
    """One sentence for readers who do not know the attack."""
    measure: Callable[[GalleryNoise], list[Finding]]

    def attack(self, noise: GalleryNoise) -> AttackedItem:
        """Run the attacks of the story on synthetic people."""
        return AttackedItem(self.name, side_by_side(self.measure(noise)), self.about)


STORIES = {
    name: Story(name, STORY_TEXTS[name], measure)
    for name, measure in {
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
    }.items()
}
"""All stories by name, in the order of docs/explanation/attacks.md."""

SYNTHETIC = (
    "All people are synthetic, and each story has people of its own. This report can be shared."
)
HOW_TO_READ = (
    "right: how often the attacker is right. a guess: the same without any answer. allowed: "
    f"no attacker on answers with ε = {EPSILON} succeeds more often, also no future one. It is "
    f"{100 * ALLOWED:.3g}% for deciding whether one person is in the data, and "
    f"{100 * EXCHANGED:.3g}% for deciding which of two people is in it, because this is a "
    "change of two people. All successes are measured, so that one may be above its limit by "
    "chance. A success is measurably above its limit, or above a guess, if its whole "
    f"{100 * CONFIDENCE:g}% confidence interval is above it."
)
NEXT_STEPS = (
    'The page "What leaks, and what does not" of the documentation explains each story. To '
    "attack your own data, use `tacit attack SQL` for questions and `tacit attack --table` for "
    "rows."
)


def find_stories(names: Sequence[str]) -> list[Story]:
    """Return the stories with these names, each once, or all stories if no name is given.

    Example:
        >>> [story.name for story in find_stories(["a-model"])]
        ['a-model']
    """
    unknown = [name for name in names if name not in STORIES]
    if unknown:
        raise InvalidValue(
            f"The gallery has no story {unknown[0]!r}. Choose from {', '.join(STORIES)}."
        )
    return [STORIES[name] for name in dict.fromkeys(names or STORIES)]


def gallery_report(parts: Sequence[AttackedItem]) -> AttackReport:
    """Return the report of stories that were run, with explanations for new readers."""
    bounded = [each for part in parts for each in part.findings if each.allowed is not None]
    broken = sum(each.verdict is AttackVerdict.BROKEN for each in bounded)
    verdict = ("none is", "1 is")[broken] if broken < 2 else f"{broken} are"  # noqa: PLR2004
    limit = "their limits" if broken > 1 else "its limit"
    tried = count_of(len(bounded), "attack")
    summary = f"Of {tried} on answers of Tacit, {verdict} measurably above {limit}."
    if broken:
        summary += " Run the gallery again, and report it if it happens again."
    notes = (summary, HOW_TO_READ, NEXT_STEPS) if bounded else (HOW_TO_READ, NEXT_STEPS)
    loss = f"ε = {EPSILON}, δ = 1e-6"
    return AttackReport.of_now("synthetic people", loss, parts, notes, SYNTHETIC)
