"""A data scientist asks for quantiles, and continues in pandas and with a chart."""

import json
from tempfile import TemporaryDirectory

import pandas as pd

import tacit
from tacit.frame import count, median, quantile

PEOPLE = 30_000
SECTORS = ("care", "trade", "building")

# synthetic and skewed, with a few people who earn ten times as much and would dominate a mean
numbers = range(PEOPLE)
people = pd.DataFrame(
    {
        "person": numbers,
        "sector": [SECTORS[number % 3] for number in numbers],
        "pay": [
            30_000 + number**2 % 60_000 + 400_000 * (number % 97 == 0) for number in numbers
        ],
    }
)

with TemporaryDirectory() as ledger:
    session = tacit.open(
        people,
        table="people",
        population="employees",
        unit="person",
        max_groups=1,
        max_rows=1,
        most_rows=(1, "one row for each person"),
        bounds={"pay": (0, 500_000)},
        keys={"sector": SECTORS},
        budget=(3, "1e-6"),
        folder=ledger,
    )
    by_sector = session.table("people").group_by("sector")
    answer = by_sector.agg(n=count(), quarter=quantile("pay", "0.25"), half=median("pay")).ask(
        epsilon=1
    )
    session.close()

frame = answer.to_pandas().set_index("sector")
print(frame.T, "\n")
frame["reach"] = (frame["half_high"] - frame["half_low"]) / 2
print(frame[["half", "reach"]], "\n")

# a Vega-Lite chart with error bars: paste it into any Vega-Lite editor
print(json.dumps(answer.chart("half"))[:160], "...\n")
print(answer.guarantee)
