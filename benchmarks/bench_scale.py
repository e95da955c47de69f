"""How a private answer grows with the table: DuckDB from 10^6 to 10^8 rows, and 10^5 groups.

Each size is asked in a process of its own, which tells its seconds and its greatest memory.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Bar
from growth_plot import plotted

SIZES = [int(float(size)) for size in os.environ.get("TACIT_SIZES", "1e6,1e7,1e8").split(",")]
ASKED = Path(__file__).with_name("asked_once.py")
PICTURE = Path(__file__).parents[1] / "docs" / "explanation" / "growth.svg"
GIB = 2**30
LEAST, MOST = 10**7, 10**8


def asked(place: Path, rows: int, form: str, column: str = "g") -> dict[str, float]:
    """What one process measured: seconds of ours and of the bare engine, and bytes."""
    run = [sys.executable, str(ASKED), str(place), str(rows), form, column]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, float]]:
    place = tmp_path_factory.mktemp("scale")
    found = {}
    for rows in SIZES:
        for form in ("prepared", "unprepared"):
            found[form, rows] = asked(place, rows, form)
        if rows == LEAST:
            fine = tmp_path_factory.mktemp("fine")  # a copy holds the declared columns only
            found["100,000 groups", rows] = asked(fine, rows, "prepared", "fine")
        (place / f"{rows}.duckdb").unlink()
    return found


def test_answers_grow_with_the_rows(
    grown: dict[tuple[str, int], dict[str, float]], bar: Bar
) -> None:
    for (form, rows), each in grown.items():
        ratio = each["ours"] / each["bare"]
        shown = (
            f"{each['ours']:.2f} s, {ratio:.1f} times bare, {each['bytes'] / GIB:.1f} GiB, "
            f"{each['groups']:.0f} groups"
        )
        bar(f"DuckDB, {form}, 10^{len(str(rows)) - 1} rows", shown, "stated", True)
        if "made" in each and form == "prepared":
            bar(f"copy of 10^{len(str(rows)) - 1} rows made in s", each["made"], "stated", True)
    for form in ("prepared", "unprepared"):
        if (form, MOST) in grown and (form, LEAST) in grown:
            most, least = grown[form, MOST], grown[form, LEAST]
            times = most["ours"] / least["ours"]
            bar(f"{form}: 10^8 rows over 10^7, in time", times, "<= 12", times <= 12)
            memory = most["bytes"] / GIB
            bar(f"{form}: GiB at 10^8 rows", memory, "< 6", memory < 6)
    if SIZES == [10**6, LEAST, MOST]:
        PICTURE.write_text(plotted(grown))
