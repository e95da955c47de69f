"""A privacy officer sees what a budget means, what happens at its end, and how to verify it."""

from contextlib import closing
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import tacit
from tacit.accounting import in_words
from tacit.errors import BudgetExceeded
from tacit.frame import col, count
from tacit.ledger import AnchorFile, Ledger
from tacit.store import open_store

PATIENTS = 2_000

for epsilon in ("0.1", "1", "3"):
    print(f"Epsilon {epsilon}: {in_words(tacit.Loss.pure(epsilon), prior=Fraction(1, 10))}\n")

visits = pl.DataFrame(
    {"patient": range(PATIENTS), "age": [18 + number % 70 for number in range(PATIENTS)]}
)
with TemporaryDirectory() as place:
    session = tacit.open(
        visits,
        table="visits",
        population="patients",
        unit="patient",
        max_groups=1,
        max_rows=1,
        most_rows=(1, "one row for each patient"),
        bounds={"age": (0, 120)},
        budget=(1, "1e-6"),
        folder=Path(place) / ".tacit",
    )
    for age in range(20, 90, 10):
        question = session.table("visits").where(col("age") >= age).agg(n=count())
        try:
            answer = question.ask(epsilon="0.5")
        except BudgetExceeded as refused:
            print(f"From {age}: refused. {refused}\n")
            break
        print(f"From {age}: about {int(answer['n'].values[0])}")

    print(f"All of it together stays within {session.status().total}.\n")
    session.close()

    # an auditor needs the ledger's file and no data; an anchor that is stored elsewhere shows
    # whether the ledger was rewritten or replaced by an old copy since then
    with closing(open_store(f"sqlite:///{place}/.tacit/ledger.db")) as store:
        anchors = AnchorFile(Path(place) / "anchors")
        anchors.add(store)
        print(Ledger(store).verify("patients", anchors.newest()))
