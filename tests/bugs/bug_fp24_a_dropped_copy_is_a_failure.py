"""F-P24: on Spark a paid question fails where its copy was dropped, and locks."""

from collections.abc import Callable

PLACE = "tacit.engines.spark:Spark._resolves"
CAUGHT_BY = (
    "tests/engines/test_spark_copies_anew.py::test_a_paid_question_waits_where_its_copy_is_gone"
)
SHOWN = "populations locked by a copy that was dropped: 1"

Resolves = Callable[..., bool]


def bug(_: Resolves) -> Resolves:
    return lambda *_: True
