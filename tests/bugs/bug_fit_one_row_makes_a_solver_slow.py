"""Newton's steps begin at a small penalty, and one row moves a fit from floats to integers."""

PLACE = "tacit.ml.regularised_risk:penalties"
CAUGHT_BY = (
    "tests/models/test_minimiser_steps.py::test_floats_arrive_on_hostile_rows[1e-09-curve0]"
)
SHOWN = "AssertionError: 1000000000 passes"


def bug(_: object) -> object:
    return lambda last: [last]
