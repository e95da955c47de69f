"""Randomisers of answers at their real size: law, variance, audit, intervals and shuffling."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from conftest import Bar
from scipy.stats import binomtest, chisquare

from tacit.audit.lower_bound import epsilon_lower_bound
from tacit.local.frequency_oracles import Hadamard, Hashing, KAry, Subset, Unary
from tacit.local.mean_oracles import OneBit, Piecewise
from tacit.local.oracle import MeanOracle, Oracle, ratio_within, shares
from tacit.local.shuffle import clones_of, shuffled_epsilon
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.exact_numbers import exp_bounds

pytestmark = pytest.mark.claim

ODD = 1e-6
REPORTS = 10**5
E = ratio_within(1)
ROOT = ratio_within("0.5")
LIE = E * Fraction(105, 100)


def drawn(oracle: Oracle | MeanOracle, answer: int, count: int = REPORTS) -> np.ndarray:
    return oracle.randomise(np.full(count, answer), SystemEntropy(b"claim"))


def made(ratio: Fraction, choices: int) -> dict[str, Oracle]:
    """Every oracle for so many choices."""
    return {
        "k-ary": KAry(choices, ratio),
        "optimised unary": Unary.optimal(choices, ratio),
        "hashing": Hashing.best(choices, ratio),
        "subset": Subset.best(choices, ratio),
        "Hadamard": Hadamard(choices, ratio),
        "symmetric unary": Unary.symmetric(choices, ROOT * ratio / E),
    }


WANTED = {
    "k-ary": 3.63,
    "optimised unary": 3.68,
    "hashing": 3.69,
    "subset": 2.84,
    "Hadamard": 4.68,
    "symmetric unary": 3.92,
}


@pytest.mark.parametrize("name", WANTED)
def test_the_variance_for_a_rare_answer_is_as_claimed(name: str, bar: Bar) -> None:
    """Reports are independent, so n times the variance of a share is that of one report's."""
    oracle = made(E, 10)[name]
    told = oracle.tally(drawn(oracle, 0))[1:].astype(float) / REPORTS
    width = float(oracle.odds.true - oracle.odds.other)
    found = float(np.mean(told * (1 - told))) / width**2
    text = f"{WANTED[name]} within 3%"
    bar(f"T17 {name}, 10 choices, epsilon 1, n * variance", found, text, _near(found, name))
    assert errors(oracle, oracle) < 6
    # a client whose ratio is a fifth greater is far off
    assert errors(oracle, made(E * Fraction(6, 5), 10)[name]) > 10


def errors(oracle: Oracle, client: Oracle) -> float:
    """By how many standard errors the reports of ``client`` speak otherwise than assumed."""
    told = oracle.tally(drawn(client, 0)) / REPORTS
    wanted = np.array([oracle.odds.true] + 9 * [oracle.odds.other], dtype=float)
    return float(np.max(np.abs(told - wanted) / (wanted * (1 - wanted) / REPORTS) ** 0.5))


def _near(found: float, name: str) -> bool:
    return abs(found / WANTED[name] - 1) < 0.03


def cells(oracle: Oracle | MeanOracle, reports: np.ndarray) -> np.ndarray:
    """Every report as one number."""
    match oracle:
        case KAry() | OneBit() | Piecewise():
            return reports.ravel()
        case Unary(choices=k):
            return reports @ 2 ** np.arange(k)
        case Subset(choices=k, size=size):
            masks = [sum(2**a for a in each) for each in combinations(range(k), size)]
            places = np.zeros(2**k, dtype=np.int64)
            places[masks] = np.arange(len(masks))
            return places[(2**reports).sum(axis=1)]
        case Hashing():
            base = max(oracle.prime, oracle.buckets)
            return reports @ base ** np.arange(reports.shape[1])
        case Hadamard():
            return reports[:, 0] * 2 + reports[:, 1]
    raise AssertionError


def law_of(oracle: Oracle | MeanOracle, answer: int) -> np.ndarray:
    """The probability of each report, written anew from the definitions."""
    ratio = float(oracle.ratio)
    match oracle:
        case KAry(choices=k):
            weights = [ratio if told == answer else 1 for told in range(k)]
        case Unary(choices=k):
            odds = [
                float(oracle.odds.true if a == answer else oracle.odds.other) for a in range(k)
            ]
            weights = [
                np.prod([odds[a] if code >> a & 1 else 1 - odds[a] for a in range(k)])
                for code in range(2**k)
            ]
        case Subset(choices=k, size=size):
            weights = [ratio if answer in s else 1 for s in combinations(range(k), size)]
        case Hadamard():
            signs = [(row, bit) for row in range(oracle.rows) for bit in (0, 1)]
            weights = [
                ratio if (row & answer).bit_count() % 2 == bit else 1 for row, bit in signs
            ]
        case OneBit(steps=steps):
            chance = answer / steps
            weights = [chance + (1 - chance) * ratio, chance * ratio + 1 - chance]
        case Piecewise():
            every = range(oracle.steps + oracle.window)
            weights = [ratio if answer <= t < answer + oracle.window else 1 for t in every]
        case Hashing(prime=2, width=1):
            # the matrix is a row of bits, and the value the parity of those that the answer has
            codes = [(a, b, v) for v in (0, 1) for b in (0, 1) for a in (0, 1)]
            weights = [
                ratio if (a * (answer & 1) + b * (answer >> 1)) % 2 == value else 1
                for a, b, value in codes
            ]
        case _:
            raise AssertionError
    return np.array(weights) / sum(weights)


def at(ratio: Fraction, oracle: Oracle | MeanOracle) -> Oracle | MeanOracle:
    """The same randomiser at another ratio."""
    if isinstance(oracle, Unary):
        return Unary.optimal(oracle.choices, ratio)
    return replace(oracle, ratio=ratio)  # type: ignore[type-var]


LAWS: list[Oracle | MeanOracle] = [
    KAry(4, E),
    Unary.optimal(4, E),
    Subset(4, 2, E),
    Hashing(4, 2, 1, E),
    Hadamard(4, E),
    OneBit(2, E),
    Piecewise(8, 2, E),
]


@pytest.mark.parametrize("oracle", LAWS, ids=lambda oracle: type(oracle).__name__)
def test_the_law_is_accepted_and_five_percent_off_is_rejected(
    oracle: Oracle | MeanOracle, bar: Bar
) -> None:
    answer, count = 2, 4 * REPORTS
    wanted = law_of(oracle, answer) * count
    fits = []
    for client in (oracle, at(LIE, oracle)):
        found = cells(client, drawn(client, answer, count))
        fits.append(chisquare(np.bincount(found, minlength=wanted.size), wanted).pvalue)
    name = f"law of {type(oracle).__name__}"
    bar(f"{name}, chi-square p", fits[0], "> 1e-6", fits[0] > ODD)
    bar(f"{name}, ratio 5% off, p", fits[1], "< 1e-6", fits[1] < ODD)


@pytest.mark.parametrize("oracle", LAWS, ids=lambda oracle: type(oracle).__name__)
def test_an_audit_finds_the_epsilon_and_no_more(oracle: Oracle | MeanOracle, bar: Bar) -> None:
    """The event is the set of all reports that are likelier under 2 than under 0."""
    likelier = law_of(oracle, 2) > law_of(oracle, 0) * 1.0001
    hits = [
        int(likelier[cells(each, drawn(each, answer, 4 * REPORTS))].sum())
        for each in (oracle, at(4 * E, oracle))
        for answer in (2, 0)
    ]
    count, shown = 4 * REPORTS, _shown(law_of(oracle, 2), law_of(oracle, 0), likelier)
    found = epsilon_lower_bound(hits[0], count, hits[1], count, 1 - ODD)
    wanted = f"from {0.9 * shown:.2f} to 1"
    name = type(oracle).__name__
    bar(f"audit of {name} at epsilon 1", found, wanted, 0.9 * shown < found <= 1)
    # a client whose ratio is four times as great is caught
    assert epsilon_lower_bound(hits[2], count, hits[3], count, 1 - ODD) > 1


def _shown(left: np.ndarray, right: np.ndarray, likelier: np.ndarray) -> float:
    """What the event shows of an honest client with draws without end."""
    return float(np.log(left[likelier].sum() / right[likelier].sum()))


@pytest.mark.parametrize("oracle", [KAry(2, E), Subset.best(10, E), Hadamard(10, E)], ids=str)
def test_intervals_hold_the_share_as_often_as_they_say(oracle: Oracle, bar: Bar) -> None:
    """Each run asks a new random sample of people, of whom three in ten say 1."""
    runs, people = 600, 400
    truth = (np.random.default_rng(10).random(runs * people) < 0.3).astype(np.int64)
    reports = oracle.randomise(truth, SystemEntropy(b"claim")).reshape(runs, people, -1)
    held = naive = 0
    for run in reports:
        told = int(oracle.tally(run)[1])
        (share,) = shares(oracle.odds, [told], people)
        held += share.interval[0] <= Fraction(3, 10) <= share.interval[1]
        # the lie: an interval of the people alone, as if they had told the truth
        half = 1.96 * (0.3 * 0.7 / people) ** 0.5
        naive += abs(float(share.value) - 0.3) < half
    least = binomtest(held, runs, 0.95, alternative="less").pvalue
    name = f"coverage of {type(oracle).__name__}, {oracle.choices} choices"
    bar(name, held / runs, "95% or more", least > ODD)
    assert binomtest(naive, runs, 0.95, alternative="less").pvalue < ODD


PEOPLE_OF_MEANS = {
    "nobody has any": [0],
    "one in twenty has all": [0] * 19 + [100],
    "one in five has none": [100] * 4 + [0],
    "all numbers": list(range(101)),
}


@pytest.mark.parametrize("people", PEOPLE_OF_MEANS)
def test_intervals_of_thirty_hold_the_mean_as_often_as_they_say(people: str, bar: Bar) -> None:
    """Each run asks 30 new people, by the piecewise mechanism at epsilon 3."""
    runs, count, oracle = 1500, 30, Piecewise.best(100, ratio_within(3))
    numbers = np.array(PEOPLE_OF_MEANS[people])
    asked = np.random.default_rng(11).choice(numbers, runs * count)
    reports = oracle.randomise(asked, SystemEntropy(b"claim")).reshape(runs, count)
    truth, held, naive = Fraction(int(numbers.sum()), numbers.size), 0, 0
    for run in reports:
        found = oracle.mean(run)
        held += found.interval[0] <= truth <= found.interval[1]
        # the lie: a normal interval with the variance of the reports
        half = 1.96 * float(np.std(run, ddof=1)) / count**0.5 / float(oracle._slope)
        naive += abs(float(found.value - truth)) <= half
    least = binomtest(held, runs, 0.95, alternative="less").pvalue
    bar(f"coverage of a mean of 30, {people}", held / runs, "95% or more", least > ODD)
    if people == "nobody has any":
        assert binomtest(naive, runs, 0.95, alternative="less").pvalue < ODD


def test_shuffled_reports_lose_as_little_as_computed(bar: Bar) -> None:
    coin, people, delta = KAry(2, E), 10_000, 1e-6
    general = shuffled_epsilon(E, 1 / E, people, delta)
    warner = shuffled_epsilon(E, clones_of(coin), people, delta)
    bar("T18 shuffled, any randomiser", general, "<= 0.054", general <= 0.054)
    bar("T18 shuffled, Warner's coin", warner, "0.0432 or a little more", warner < 0.0435)
    assert warner >= 0.0432
    assert general >= warner
    # the lie: twice as many people than there are
    assert shuffled_epsilon(E, clones_of(coin), 2 * people, delta) < 0.0432


def test_probabilities_are_rounded_toward_more_privacy(bar: Bar) -> None:
    given_up = float(1 - E / exp_bounds(Fraction(1))[0])
    bar("epsilon given up by rounding, of 1", given_up, "in [0, 1e-5]", 0 <= given_up < 1e-5)
