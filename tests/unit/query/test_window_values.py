"""Windows over released rows, and the intervals of sums of noisy cells."""

# ruff: noqa: S608, S311 - a question is a line, and tests draw numbers

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from ward import CATALOG

from tacit.core import Guarantee, Loss, Population, PrivacyUnit, Release, ReleasedColumn
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import canonical
from tacit.query.interval_value import IntervalValue, absolute, apply_monotone, round_away
from tacit.query.post_processing import post_process
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.query.window_values import CellNoise, FrameSums, error_of_sum
from tacit.sql import parse

F = Fraction
LOSS = Loss.zcdp("0.1")
SURE = F(19, 20)
WARDS = ("east", "north", "south")


def question(text: str) -> Quote:
    return price(parse(text, CATALOG), CATALOG, LOSS)


def released(quote: Quote, *counts: int, open_high: bool = False) -> Release:
    """The release of a count by ward, with the intervals that its quote states."""
    [tally] = quote.tallies
    margin = tally.error(SURE)
    noise = tuple((n - margin, n + margin) for n in map(F, counts))
    shown = tuple((low, None) for low, _ in noise) if open_high else noise
    [key], [measure] = quote.question.plan.keys, quote.question.plan.measures
    people = Population("patients", PrivacyUnit("person"))
    return Release(
        (
            ReleasedColumn(key.name, WARDS),
            ReleasedColumn(
                measure.name, tuple(map(F, counts)), shown, SURE, noise if open_high else ()
            ),
        ),
        Guarantee(people, LOSS),
        b"",
    )


def answer(select: str, *counts: int, rest: str = "", open_high: bool = False) -> Release:
    quote = question(f"SELECT ward, {select} AS found FROM visits GROUP BY ward {rest}")
    found = released(quote, *counts, open_high=open_high)
    return post_process(found, quote.question.post, quote)


@pytest.mark.parametrize(
    ("select", "wanted"),
    [
        ("SUM(COUNT(*)) OVER ()", (60, 60, 60)),
        ("SUM(COUNT(*)) OVER (ORDER BY ward)", (10, 40, 60)),
        ("SUM(COUNT(*)) OVER (ORDER BY ward DESC)", (60, 50, 20)),
        ("SUM(COUNT(*)) OVER (ORDER BY 1 = 1)", (60, 60, 60)),  # all rows are equal
        ("SUM(COUNT(*)) OVER (ORDER BY 1 = 1 ROWS UNBOUNDED PRECEDING)", (10, 40, 60)),
        ("SUM(COUNT(*)) OVER (PARTITION BY ward)", (10, 30, 20)),
        ("SUM(COUNT(*)) OVER (PARTITION BY CASE WHEN ward = 'east' THEN 1 END)", (10, 50, 50)),
        ("AVG(COUNT(*)) OVER ()", (20, 20, 20)),
        ("MIN(COUNT(*)) OVER ()", (10, 10, 10)),
        ("MAX(COUNT(*)) OVER (ORDER BY ward)", (10, 30, 30)),
        ("COUNT(*) + COUNT(*) OVER ()", (13, 33, 23)),
        ("ROW_NUMBER() OVER (ORDER BY COUNT(*))", (1, 3, 2)),
        ("RANK() OVER (ORDER BY COUNT(*) DESC)", (3, 1, 2)),
        ("RANK() OVER (ORDER BY COUNT(*) > 15)", (1, 2, 2)),
        ("RANK() OVER (ORDER BY COUNT(*) < 15)", (3, 1, 1)),
        ("DENSE_RANK() OVER (ORDER BY COUNT(*) < 15)", (2, 1, 1)),
        ("LAG(COUNT(*)) OVER (ORDER BY ward)", (None, 10, 30)),
        ("LEAD(COUNT(*), 2) OVER (ORDER BY ward)", (20, None, None)),
        (
            "SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            (10, 40, 50),
        ),
        (
            "SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)",
            (30, 20, None),
        ),
        (
            "SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 2 FOLLOWING AND 9 FOLLOWING)",
            (20, None, None),
        ),
        (
            "MAX(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 9 FOLLOWING AND 9 PRECEDING)",
            (None, None, None),
        ),
    ],
)
def test_windows_are_those_of_sql(select: str, wanted: tuple[int | None, ...]) -> None:
    if "COUNT(*)" not in select.replace("COUNT(*) OVER", ""):
        select = f"{select} + 0 * COUNT(*)"
    assert answer(select, 10, 30, 20)["found"].values == wanted


def test_a_total_has_the_interval_of_added_variances() -> None:
    quote = question("SELECT ward, SUM(COUNT(*)) OVER () AS t FROM visits GROUP BY ward")
    mechanism = quote.tallies[0].mechanism
    assert isinstance(mechanism, Gaussian)
    found = answer("SUM(COUNT(*)) OVER ()", 10, 30, 20)["found"]
    margin = error_of_sum(mechanism, 3)
    assert margin < 3 * mechanism.error(SURE)
    assert found.intervals == ((60 - margin, 60 + margin),) * 3
    assert found.confidence == SURE


def test_without_the_noise_of_the_quote_doubts_add_up() -> None:
    quote = question("SELECT ward, SUM(COUNT(*)) OVER () AS found FROM visits GROUP BY ward")
    release = released(quote, 10, 30, 20)
    far = 3 * quote.tallies[0].error(SURE)
    alone = post_process(release, quote.question.post)["found"]
    assert alone.intervals[0] == (60 - far, 60 + far)
    assert alone.confidence == F(17, 20)
    # a stored answer with other noise than the quote's is not treated as if it had it
    key, column = release.columns
    shown = tuple((low - 1, high + 1) for low, high in column.intervals)  # type: ignore[misc, operator]
    other = replace(release, columns=(key, replace(column, intervals=shown)))
    served = post_process(other, quote.question.post, quote)["found"]
    assert served.intervals[0] == (60 - far - 3, 60 + far + 3)


def test_rows_that_noise_has_chosen_have_wider_totals() -> None:
    plain = answer("SUM(COUNT(*)) OVER ()", 10, 30, 20)["found"].intervals[0]
    chosen = answer("SUM(COUNT(*)) OVER ()", 10, 30, 20, rest="HAVING COUNT(*) > 1")["found"]
    by_key = answer("SUM(COUNT(*)) OVER ()", 10, 30, 20, rest="HAVING ward <> 'x'")["found"]
    assert by_key.intervals[0] == plain
    assert chosen.intervals[0] is not None
    assert plain is not None
    assert chosen.intervals[0][1] > plain[1]  # type: ignore[operator]


def test_open_ends_stay_open() -> None:
    found = answer("SUM(COUNT(*)) OVER ()", 10, 30, 20, open_high=True)["found"]
    [low, high] = found.intervals[0] or (None, None)
    assert high is None
    assert low is not None


@pytest.mark.parametrize(
    "select",
    ["RANK() OVER (ORDER BY COUNT(*))", "SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC)"],
)
def test_an_order_that_noise_decides_leaves_no_interval(select: str) -> None:
    found = answer(select, 10, 30, 20)["found"]
    assert set(found.intervals) == {None}
    assert found.confidence is not None


def test_a_cell_that_is_not_shown_leaves_no_interval_of_a_total() -> None:
    quote = question("SELECT ward, SUM(COUNT(*)) OVER () AS found FROM visits GROUP BY ward")
    release = released(quote, 10, 30, 20)
    key, column = release.columns
    hidden = replace(
        column, values=(None, *column.values[1:]), intervals=(None, *column.intervals[1:])
    )
    found = post_process(replace(release, columns=(key, hidden)), quote.question.post, quote)[
        "found"
    ]
    assert found.values[0] == 50
    assert found.intervals[0] is None


def test_sums_of_many_frames_are_those_of_their_cells() -> None:
    values = [F(place % 7) for place in range(3000)]
    cells = [IntervalValue(n, (n - 1, None if n == 6 else n + 2), F(1, 10**6)) for n in values]
    sums = FrameSums(cells, None, chosen=False)
    for first, last in [(0, 3000), (0, 6), (1, 7), (2999, 3000), (2, 2)]:
        found = sums.of(first, last, mean=False)
        if first == last:
            assert found.value is None
            continue
        naive = cells[first]
        for cell in cells[first + 1 : last]:
            naive += cell
        assert (found.value, found.interval, found.doubt) == (
            naive.value,
            naive.interval,
            naive.doubt,
        )
    half = sums.of(0, 4, mean=True)
    assert (half.value, half.interval) == (F(3, 2), (F(1, 2), F(7, 2)))


def test_intervals_of_sums_hold_and_shorter_ones_do_not() -> None:
    random = Random(5)
    cells, sigma = 12, 10
    noise = CellNoise(Gaussian(F(sigma**2)), F(1), F(0), cells)
    margin, held, short = noise.of_sum(cells), 0, 0
    for _ in range(4000):
        error = abs(sum(round(random.gauss(0, sigma)) for _ in range(cells)))
        held += error <= margin
        short += error <= F(3, 4) * margin
    assert held >= 4000 * 0.935
    assert short < 4000 * 0.9
    assert CellNoise(Laplace(F(10)), F(1), F(0), 4).of_sum(4) == 4 * Laplace(F(10)).error(
        1 - F(1, 80)
    )


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (F(1), F(3), (F(1), F(3))),
        (F(-3), F(-1), (F(1), F(3))),
        (F(-3), F(1), (F(0), F(3))),
        (F(-1), None, (F(0), None)),
        (None, F(-1), (F(1), None)),
        (F(2), None, (F(2), None)),
    ],
)
def test_absolute_values(
    low: F | None, high: F | None, wanted: tuple[F | None, F | None]
) -> None:
    found = absolute(IntervalValue(F(-2), (low, high), F(1, 20)))
    assert (found.value, found.interval) == (F(2), wanted)


def test_rounding_maps_both_ends() -> None:
    near = IntervalValue(F("2.5"), (F("-2.5"), F("2.49")), F(1, 20))
    found = apply_monotone(near, round_away)
    assert (found.value, found.interval, found.doubt) == (F(3), (F(-3), F(2)), F(1, 20))


def test_coalesce_knows_nothing_where_noise_removed_a_value() -> None:
    quote = question(
        "SELECT ward, COALESCE(1 / (COUNT(*) - 10), 7) AS found FROM visits GROUP BY ward"
    )
    found = post_process(released(quote, 10, 30, 20), quote.question.post)["found"]
    assert found.values[0] == 7
    assert found.intervals[0] is None
    assert found.confidence is not None


def test_a_union_reads_the_cells_of_one_release() -> None:
    part = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    quote = question(f"SELECT ward, n, SUM(n) OVER () AS t FROM ({part} UNION ALL {part}) u")
    assert canonical(parse(part, CATALOG)).hash == quote.question.hash
    found = post_process(released(quote, 10, 30, 20), quote.question.post, quote)
    assert found["ward"].values == WARDS * 2
    # each cell counts twice: its noise is not independent, and doubts add up
    far = 6 * quote.tallies[0].error(SURE)
    assert found["t"].intervals[0] == (120 - far, 120 + far)


def test_a_truth_that_noise_decided_in_a_step_below_leaves_no_interval() -> None:
    below = "SELECT COUNT(*) {} AS many, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS t"
    outer = "SELECT CASE WHEN many THEN n ELSE 2 * n END AS found"
    # the window keeps both steps apart
    text = f"{outer} FROM ({below.format('> 15')} FROM visits GROUP BY ward) q"
    quote = question(text)
    found = post_process(released(quote, 10, 30, 20), quote.question.post, quote)["found"]
    assert found.values == (20, 30, 20)
    assert found.intervals == (None, None, None)
    sure = "SELECT ward = 'east' AS many, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS t"
    quote = question(f"{outer} FROM ({sure} FROM visits GROUP BY ward) q")
    found = post_process(released(quote, 10, 30, 20), quote.question.post, quote)["found"]
    assert None not in found.intervals


def test_a_count_of_values_that_noise_made_null_is_not_sure() -> None:
    few = "COUNT(*) / COUNT(CASE WHEN COUNT(*) > 15 THEN 1 END) OVER ()"
    found = answer(few, 10, 30, 20)["found"]
    assert found.values == (5, 15, 10)
    assert found.intervals in {(), (None, None, None)}
    sure = answer("COUNT(*) / COUNT(ward) OVER ()", 10, 30, 20)["found"]
    assert None not in sure.intervals
    assert sure.confidence == SURE
