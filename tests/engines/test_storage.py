"""Hostile storage: whatever a table's writer stored, a neighbour shows in nothing but noise.

Every triple of a question and two neighbouring stores is made from numbers.
`TACIT_HOSTILE_STORES` says how many there are in all, shared by DuckDB, Parquet and PostgreSQL,
and `TACIT_HOSTILE_STORES_ON_SPARK` how many on Spark; with `TACIT_CAMPAIGN`, a folder, the
figures are kept there, and another run goes on where the last one stopped.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Bar
from hostile_over import laid
from hostile_store import ENGINES, store
from storage_figures import StorageFigures, asked, told_apart
from text_as_stored import read_text_as_stored

from tacit.engines import duckdb_files
from tacit.engines.print import expressions
from tacit.project.tables import CopyPlan

TRIPLES = int(os.environ.get("TACIT_HOSTILE_STORES", "500"))
CAMPAIGN = os.environ.get("TACIT_CAMPAIGN")
ON_SPARK = int(os.environ.get("TACIT_HOSTILE_STORES_ON_SPARK", "10"))
FOUND_WITHIN = 2_000


@pytest.mark.parametrize("engine", dict.fromkeys((*ENGINES, "spark")))
def test_hostile_storage_shows_in_nothing_but_noise(engine: str, bar: Bar) -> None:
    path = Path(CAMPAIGN) / f"storage-{engine}.json" if CAMPAIGN else None
    wanted = TRIPLES * ENGINES.count(engine) // len(ENGINES) or ON_SPARK
    figures = StorageFigures.load(path, engine)
    figures.go_on(wanted, path)
    ways = ", ".join(f"{count} {how}" for how, count in sorted(figures.ways.items()))
    name = f"hostile storage, {engine}"
    bar(f"{name}: triples", f"{figures.triples} ({ways})", f">= {wanted}", True)
    bar(f"{name}: told apart", len(figures.apart), "0", not figures.apart)
    assert not figures.apart, figures.apart[:3]


def first_told(engine: str, *, kept: str | None = None, anyway: bool = False) -> int | None:
    """How many triples were asked until one was told apart."""
    triples = number = 0
    while triples < FOUND_WITHIN and number < FOUND_WITHIN:
        made, number = store(number, engine), number + 1
        if kept is not None and made.kept != kept:
            continue
        with laid(made, anyway=anyway) as found:
            for how, quote in asked(made, found):
                triples += 1
                if told_apart(found, how, quote) is not None:
                    return triples
    return None


Patch = Callable[[pytest.MonkeyPatch], None]


def no_collation(patch: pytest.MonkeyPatch) -> None:
    """A lie: text is read as its column compares it (F-P1, F-P3)."""
    read_text_as_stored(patch)


def strict_files(patch: pytest.MonkeyPatch) -> None:
    """A lie: bytes that are no text fail where they are decoded (F-P2)."""
    patch.setattr(duckdb_files, "_lenient", lambda _: "")
    patch.setattr(duckdb_files, "_check_decoding", lambda *_: None)


def narrow_decimals(patch: pytest.MonkeyPatch) -> None:
    """A lie: a decimal is cast to the type of a finer constant."""
    patch.setattr(expressions, "_comparable_column", expressions.finite)


def any_declaration(patch: pytest.MonkeyPatch) -> None:
    """A lie: a copy is believed whatever declaration it was made by (F-P19)."""
    patch.setattr(CopyPlan, "declaration", "0" * 64)


MENDS: dict[str, tuple[Patch, str]] = {
    "text by its collation, PostgreSQL (F-P1)": (no_collation, "postgresql"),
    "text by its collation, DuckDB (F-P3)": (no_collation, "duckdb"),
    "files read strictly (F-P2)": (strict_files, "parquet"),
    "copies of another unit (F-P19)": (any_declaration, "duckdb"),
    "decimals in the type of a constant": (narrow_decimals, "parquet"),
}


@pytest.mark.parametrize("lie", MENDS)
def test_a_mend_that_is_taken_out_is_found(
    lie: str, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch, engine = MENDS[lie]
    patch(monkeypatch)
    found = first_told(engine)
    bar(f"lie, {lie}: found by triple", found, f"<= {FOUND_WITHIN}", found is not None)


IN_PLACE = {
    "a view with a cast on DuckDB (F-P5)": ("duckdb", "view"),
    "a view with a cast on PostgreSQL (F-P5)": ("postgresql", "view"),
    "files of two schemas on DuckDB (F-P5)": ("duckdb", "glob"),
    "files on Spark (F-P21)": ("spark", "file"),
    "files of two schemas on Spark (F-P21)": ("spark", "other types"),
    "row-level security (F-P22)": ("postgresql", "row security"),
    "a foreign partition (F-P22)": ("postgresql", "foreign partition"),
    "a limit of temporary files (F-P22)": ("postgresql", "few temporary files"),
}


@pytest.mark.parametrize("lie", IN_PLACE)
def test_what_is_read_in_place_where_that_is_not_allowed_is_found(lie: str, bar: Bar) -> None:
    engine, kept = IN_PLACE[lie]
    found = first_told(engine, kept=kept, anyway=True)
    bar(
        f"lie, in place, {lie}: found by triple", found, f"<= {FOUND_WITHIN}", found is not None
    )
