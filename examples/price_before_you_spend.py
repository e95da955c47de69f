"""An analyst looks at prices first: a quote is free and reads no data; repeats are free too."""

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import tacit

WANTED = 40
"""The largest margin of error, in visits, that is acceptable."""

SYNTHETIC = """
COPY (
    SELECT range % 5000 AS patient, ['north', 'south', 'east'][1 + range % 5000 % 3] AS ward
    FROM range(15000)
) TO '{}' (FORMAT parquet)
"""

with TemporaryDirectory() as place:
    file = Path(place) / "visits.parquet"
    duckdb.sql(SYNTHETIC.format(file))
    session = tacit.open(
        file,
        population="patients",
        unit="patient",
        max_groups=1,
        max_rows=3,
        keys={"ward": ["north", "south", "east"]},
        budget=(3, "1e-6"),
        folder=Path(place) / ".tacit",
    )
    question = session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")

    for epsilon in ("0.1", "0.5", "1"):
        preview = question.quote(epsilon=epsilon)
        error = preview.errors[0].always
        print(f"epsilon {epsilon:>3}: at most {int(error)} visits off, with probability 95%")
        if error <= WANTED:
            break
    print(f"\nNothing is spent yet: {session.status().spent}\n")

    print(question.ask(epsilon=epsilon))

    again = session.sql("SELECT COUNT(*) AS n, ward FROM visits GROUP BY ward")
    print(
        f"\nThe same question in other words costs {again.ask(epsilon=epsilon).standing.cost}."
    )
    session.close()
