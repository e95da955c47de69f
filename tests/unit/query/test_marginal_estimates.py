"""Tables by least squares: the estimates and variances of linear algebra, and exact totals."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from random import Random

import numpy as np
import pytest
from clinic import TABLE, catalog
from exact import ExactGateway

from tacit.core import Limits, Loss, Release, decode_release, encode_release
from tacit.engines.reference import Reference
from tacit.errors import InternalError
from tacit.mechanisms import Gaussian, GridQuantile, Laplace, LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.marginal_tables import Kept, cells_of, subsets
from tacit.query.intervals import expected_errors, worst_error
from tacit.query.marginal_estimates import (
    NOT_NORMAL,
    WEIGHTS,
    EstimateNoise,
    Weighting,
    estimate_cells,
    noise_variance,
    quote_of_table,
    sum_cells,
)
from tacit.query.open_ends import coverage, refresh
from tacit.query.paid_work import released_by, run
from tacit.query.post_processing import post_process
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.query.rehearsal import table_times
from tacit.query.sums_of_groups import finer_questions
from tacit.sql.parser import parse

SIZES = (2, 3, 2)
MEASURED: dict[Kept, Fraction] = {
    (0, 1, 2): Fraction(4),
    (0, 1): Fraction(9),
    (2,): Fraction(1, 2),
    (): Fraction(30),
}


def marginal(kept: Kept) -> np.ndarray:
    """The matrix that sums the finest cells over the keys that are not kept."""
    parts = [np.eye(n) if place in kept else np.ones((1, n)) for place, n in enumerate(SIZES)]
    found = np.ones((1, 1))
    for part in parts:
        found = np.kron(found, part)
    return found


def noisy(draw: Random) -> dict[Kept, list[int]]:
    return {
        kept: [draw.randint(-50, 50) for _ in range(cells_of(SIZES, kept))] for kept in MEASURED
    }


def test_estimates_and_variances_are_those_of_weighted_least_squares() -> None:
    weighting = Weighting.of(SIZES, MEASURED)
    released = noisy(Random(3))  # noqa: S311 - numbers of a test
    design = np.concatenate([marginal(kept) for kept in MEASURED])
    precision = np.concatenate(
        [np.full(cells_of(SIZES, kept), 1 / float(MEASURED[kept])) for kept in MEASURED]
    )
    seen = np.concatenate([released[kept] for kept in MEASURED]).astype(float)
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design))
    wanted = covariance @ (design.T @ (precision * seen))
    found = estimate_cells(weighting, released).reshape(-1) / 2**weighting.bits
    # weights are rounded to multiples of 1 / WEIGHTS
    assert np.abs(found.astype(float) - wanted).max() < 1e-3
    for kept in subsets((0, 1, 2)):
        sums = marginal(kept)
        theirs = np.diag(sums @ covariance @ sums.T)
        assert np.allclose(theirs, float(weighting.variance(kept)), rtol=1e-6)


def test_weights_add_up_and_noise_that_is_consistent_stays_as_it_is() -> None:
    weighting = Weighting.of(SIZES, MEASURED)
    assert {sum(each.values()) for each in weighting.weights.values()} == {WEIGHTS}
    cells = np.array([place * 10**30 - 7 for place in range(prod(SIZES))], dtype=object)
    seen = {kept: sum_cells(cells, sizes=SIZES, kept=kept).tolist() for kept in MEASURED}
    found = estimate_cells(weighting, seen).reshape(-1)
    assert [Fraction(int(cell), 2**weighting.bits) for cell in found] == cells.tolist()


def test_a_component_that_nobody_asked_for_is_nothing() -> None:
    weighting = Weighting.of((2, 2), {(0,): Fraction(1), (1,): Fraction(1)})
    found = estimate_cells(weighting, {(0,): [10, 20], (1,): [12, 20]})
    unit = 2**weighting.bits
    rows = [int(each) / unit for each in found.sum(axis=1)]
    columns = [int(each) / unit for each in found.sum(axis=0)]
    assert rows == [10.5, 20.5]
    assert columns == [11.5, 19.5]


def test_sums_of_large_integers_do_not_overflow() -> None:
    values = np.array([2**62, 2**62, 2**62, -1], dtype=np.int64)
    assert sum_cells(values, sizes=(2, 2), kept=()).tolist() == [3 * 2**62 - 1]
    assert sum_cells(values, sizes=(2, 2), kept=(0, 1)) is values


def test_the_noise_of_an_estimate() -> None:
    assert noise_variance(Gaussian(Fraction(7))) == 7
    assert noise_variance(Laplace(Fraction(3))) == 18 * NOT_NORMAL
    grid = GridQuantile(Fraction(1, 2), Fraction(1), Fraction(1), 4, 1, flips=False)
    with pytest.raises(InternalError):
        noise_variance(grid)
    small = EstimateNoise(Fraction(1, 2), Fraction(1, 8)).error(Fraction("0.95"))
    assert float(small) == pytest.approx(1.959964 * sqrt(0.5) + 0.125)


# whole answers --------------------------------------------------------------------------------

CLINIC = catalog(Limits(8, 4))
CUBE = (
    "SELECT ward, smoker, FLOOR(age / 60) * 60 AS a, COUNT(*) AS n, SUM(age) AS s, "
    "AVG(age) AS m, VAR_POP(age) AS v, GROUPING(ward, smoker, a) AS g FROM visits "
    "GROUP BY {}"
)


def row(number: int) -> dict[str, object]:
    found: dict[str, object] = {"person": f"p{number}", "pay": None, "cost": None, "day": None}
    found |= {"until": None, "doctor": None, "room": None}
    age, ward = number * 37 % 120, ("north", "south", "it's")[number % 3]
    return found | {"ward": ward, "age": age, "smoker": number % 2 == 0}


ROWS = [row(number) for number in range(300)]


def priced(sets: str, loss: Loss | None = None, text: str = CUBE) -> Quote:
    return price(parse(text.format(sets), CLINIC), CLINIC, loss or Loss.zcdp("0.5"))


def answer(quote: Quote, gateway: object) -> Release:
    columns = run(quote, Reference({TABLE: ROWS}), CLINIC, b"salt", gateway)  # type: ignore[arg-type]
    released = released_by(quote, columns, b"receipt")
    assert decode_release(encode_release(released)) == released
    assert refresh(released, quote) == released
    return post_process(released, quote.question.post)


def by_hand(kept: tuple[int, ...]) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for each in ROWS:
        keys = (each["ward"], int(bool(each["smoker"])), int(str(each["age"])) // 60 * 60)
        found[tuple(key if place in kept else None for place, key in enumerate(keys))] += 1
    return found


@pytest.mark.parametrize(
    ("sets", "tables"),
    [
        ("CUBE (ward, smoker, FLOOR(age / 60) * 60)", subsets((0, 1, 2))),
        ("ROLLUP (ward, smoker, FLOOR(age / 60) * 60)", ((0, 1, 2), (0, 1), (0,), ())),
        ("ward, ROLLUP (smoker, FLOOR(age / 60) * 60)", ((0, 1, 2), (0, 1), (0,))),
        (
            "GROUPING SETS ((ward, smoker), (FLOOR(age / 60) * 60), ())",
            ((0, 1), (2,), ()),
        ),
        ("GROUPING SETS ((ward), (smoker), (FLOOR(age / 60) * 60))", ((0,), (1,), (2,))),
    ],
)
def test_without_noise_each_table_is_what_sql_says(sets: str, tables: tuple[Kept, ...]) -> None:
    found = answer(priced(sets), ExactGateway())
    keys = list(zip(*(found[name].values for name in ("ward", "smoker", "a")), strict=True))
    bits = [tuple(place for place in range(3) if key[place] is not None) for key in keys]
    assert set(bits) == set(tables)
    for place, key in enumerate(keys):
        count = by_hand(bits[place])[key]
        # the finest cells are rounded, and are no integers if they are not asked for
        whole = (0, 1, 2) in tables
        assert abs(found["n"].values[place] - count) <= (0 if whole else Fraction(1, 1024))
        rest = sum(4 >> each for each in range(3) if each not in bits[place])
        assert found["g"].values[place] == rest
        if count and whole:
            rows = [
                int(str(each["age"]))
                for each in ROWS
                if all(
                    wanted is None or have == wanted
                    for have, wanted in zip(
                        (
                            each["ward"],
                            int(bool(each["smoker"])),
                            int(str(each["age"])) // 60 * 60,
                        ),
                        key,
                        strict=True,
                    )
                )
            ]
            assert found["s"].values[place] == sum(rows)
            assert found["m"].values[place] == Fraction(sum(rows), len(rows))
    # the largest tables come first
    assert [len(each) for each in bits] == sorted(map(len, bits), reverse=True)


@pytest.mark.parametrize("loss", [Loss.zcdp("0.1"), Loss.pure(1), Loss.approximate(1, "1e-6")])
def test_totals_are_exactly_the_sums_of_their_parts(loss: Loss) -> None:
    quote = priced("CUBE (ward, smoker, FLOOR(age / 60) * 60)", loss)
    found = answer(quote, LiveGateway(SystemEntropy(b"a charge")))
    rows = list(zip(*(found[name].values for name in ("ward", "smoker", "a")), strict=True))
    for name in ("n", "s"):
        values = dict(zip(rows, found[name].values, strict=True))
        checked = 0
        for key, value in values.items():
            for place, part in product(range(3), (key,)):
                if part[place] is None:
                    parts = [
                        other
                        for cell, other in values.items()
                        if cell[place] is not None
                        and cell[:place] + cell[place + 1 :] == key[:place] + key[place + 1 :]
                    ]
                    assert sum(parts) == value
                    # short binary fractions, so that floats add up too
                    assert sum(map(float, parts)) == float(value)
                    checked += 1
        assert checked > 20


def test_the_margins_of_the_quote_are_those_of_the_answer() -> None:
    quote = priced(
        "CUBE (ward, smoker)", text="SELECT ward, COUNT(*) AS n FROM visits GROUP BY {}"
    )
    [error] = expected_errors(quote)
    assert [name for name, _ in error.by_table] == [
        "key 1, ward",
        "key 1",
        "ward",
        "nothing: the total",
    ]
    assert (
        error.always == max(margin for _, margin in error.by_table) == worst_error(quote, 0, 9)
    )
    found = answer(quote, ExactGateway())
    ends = found["n"].counted or found["n"].intervals
    lengths = {(high - low) / 2 for low, high in ends}  # type: ignore[misc, operator]
    assert lengths == {margin for _, margin in error.by_table}
    # the least exact table has the largest margin: here its total, which one person moves most
    assert dict(error.by_table)["nothing: the total"] == error.always


def test_the_margin_of_a_mean_is_that_of_its_least_exact_table() -> None:
    quote = priced("ROLLUP (ward)", text="SELECT AVG(age) FROM visits GROUP BY {}")
    [error] = expected_errors(quote, [1000])
    alone = [quote_of_table(quote, table.kept) for table in quote.bound.tables]
    assert len({each.tallies for each in alone}) == 2
    assert error.by_size[0][1] > 0
    worst = worst_error(quote, 0, 1000)
    assert worst is not None
    assert worst >= error.by_size[0][1]
    variance = priced("ROLLUP (ward)", text="SELECT VARIANCE(age) FROM visits GROUP BY {}")
    assert worst_error(variance, 0, 1000) is None


def test_the_answer_says_where_totals_are_cut() -> None:
    text = "SELECT COUNT(*) FROM visits GROUP BY {}"
    said = " ".join(coverage(priced("ROLLUP (ward)", text=text).bound, "person"))
    assert "exactly the sum of its parts" in said
    assert "A total over visits.ward has only the rows" in said
    narrow = catalog(Limits(1, 4))
    text = "SELECT COUNT(*) FROM visits GROUP BY CUBE (ward, smoker)"
    cut = " ".join(coverage(price(parse(text, narrow), narrow, Loss.zcdp(1)).bound, "person"))
    assert "beyond 1 group of all keys together" in cut
    plain = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    assert "sum of its parts" not in " ".join(
        coverage(price(parse(plain, narrow), narrow, Loss.zcdp(1)).bound, "person")
    )


def test_no_answer_with_one_table_serves_several_and_the_other_way_round() -> None:
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY {}"
    one, many = priced("ward", text=text), priced("ROLLUP (ward)", text=text)
    assert one.key != many.key
    assert one.subject != many.subject
    assert list(finer_questions(many)) == []
    same = priced("GROUPING SETS ((), (ward))", text=text)
    assert (same.key, same.subject) == (many.key, many.subject)
    plain = priced("GROUPING SETS ((ward))", text=text)
    assert (plain.key, plain.subject) == (one.key, one.subject)


def test_an_answer_with_several_tables_is_as_large_as_all_of_them() -> None:
    text = "SELECT COUNT(*) FROM visits GROUP BY {}"
    assert table_times(priced("ward", text=text).bound) == 1
    # 8 finest cells; 15 are asked for and 15 are measured
    assert table_times(priced("CUBE (ward, smoker)", text=text).bound) == 4
