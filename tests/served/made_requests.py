"""Requests to a server, made from a number: what may be asked, what may not, and screens."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

MEASURES = {
    "visits": (
        *("COUNT(*) AS n", "SUM(cost) AS s", "AVG(cost) AS a", "MIN(cost) AS l"),
        *("MAX(day) AS m", "COUNT(DISTINCT patient) AS p", "VARIANCE(cost) AS v"),
        *("MEDIAN(cost) AS q", "SUM(1 / cost) AS i", "AVG(pay) AS x"),
    ),
    "people": ("COUNT(*) AS n", "COUNT(DISTINCT person) AS p", "SUM(id) AS s", "person"),
    "shifts": ("SUM(hours) AS h", "AVG(hours) AS a", "COUNT(*) AS n"),
}
FILTERS = {
    "visits": ("cost > {}", "day < DATE '2026-03-0{}'", "patient = {}", "cost / 0 > {}"),
    "people": ("id < {}", "city = 'Bern'", "person = 'p{}'", "city LIKE '%{}'"),
    "shifts": ("hours > {}", "nurse = 'n{}'"),
}
SCREENS = (
    *("/v1/status", "/v1/datasets", "/health", "/openapi.json", "/v1/tokens", "/metrics"),
    *(
        "/v1/ledger/patients",
        "/v1/ledger/patients/verify",
        "/v1/nothing",
        "/v1/releases/" + 64 * "0",
    ),
)
WRONG: tuple[dict[str, Any], ...] = (
    *({"epsilon": "much"}, {"epsilon": -1}, {"epsilon": 900}, {"seed": 7}, {"sql": 7}),
    *({"sql": "SELECT * FROM visits"}, {"sql": "DROP TABLE people"}, {"sql": "SELECT"}),
    *({"sql": "SELECT COUNT(*) AS n FROM nobody"}, {"delta": "0.5"}, {"rho": "1/3"}),
)

LINE: dict[str, Any] = {
    "model": "LinearRegression",
    "settings": {"epsilon": 0.1, "bounds": [0, 500]},
    "dataset": "visits",
    "features": ["patient"],
    "target": "cost",
}
SCALER: dict[str, Any] = {"model": "StandardScaler", "dataset": "visits", "features": ["cost"]}
FITS: tuple[dict[str, Any], ...] = (
    *(LINE, LINE | {"model": "HuberRegression"}, LINE | {"settings": {"epsilon": 0.1}}),
    *(SCALER | {"settings": {"epsilon": 0.05}}, SCALER | {"settings": {"epsilon": 900}}),
    *(LINE | {"settings": {"seed": 7}}, LINE | {"dataset": "nobody"}, LINE | {"target": None}),
)
"""Models on sums and on rows, and some that are refused."""


@dataclass(frozen=True)
class Made:
    """A request, which is the same at every server but for its token."""

    method: str
    path: str
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    by: str = "ann"

    @property
    def answered(self) -> bool:
        """Whether noise can be in what comes back."""
        return self.path in {"/v1/ask", "/v1/fit"}


def made(number: int) -> Made:
    """The request of a number."""
    draw = Random(number)  # noqa: S311 - a test that can be repeated
    by = draw.choice((*5 * ("ann",), "bob", "bob", "nobody"))
    kind = draw.random()
    if kind < 0.15:
        return Made("GET", draw.choice(SCREENS), by=draw.choice((by, "ada")))
    if kind > 0.95:
        path = draw.choice(("/v1/fit", "/v1/fit", "/v1/fit/quote"))
        headers = {"Content-Type": "application/json"}
        return Made("POST", path, json.dumps(draw.choice(FITS)), headers, by)
    given: dict[str, Any] = {"sql": _sql(draw)}
    path = draw.choice(("/v1/ask", "/v1/ask", "/v1/ask", "/v1/quote", "/v1/explain"))
    if path != "/v1/explain":
        given["epsilon"] = draw.choice(("0.05", "0.1", "1/7"))
    if kind < 0.3:
        given |= draw.choice(WRONG)
    headers = {"Content-Type": "application/json"}
    if draw.random() < 0.3:
        headers["Idempotency-Key"] = f"key {draw.randrange(3)}"
    if draw.random() < 0.05:
        headers["Accept"] = "image/png"
    return Made("POST", path, json.dumps(given), headers, by)


def _sql(draw: Random) -> str:
    table = draw.choice(("visits", "visits", "people", "shifts"))
    source, keys = table, ""
    if table == "people" and draw.random() < 0.5:
        keys = "city"
    if table == "visits" and draw.random() < 0.3:
        source, keys = "visits JOIN people ON patient = id", draw.choice(("city", ""))
    measures = draw.sample(MEASURES[table], draw.choice((1, 1, 2)))
    where = draw.choice(FILTERS[table]).format(draw.randrange(1, 9))
    return (
        f"SELECT {', '.join([keys] * bool(keys) + measures)} FROM {source}"  # noqa: S608
        + (f" WHERE {where}" if draw.random() < 0.6 else "")
        + (f" GROUP BY {keys}" if keys else "")
    )
