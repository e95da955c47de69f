"""Decision 47: an answer that no worker can hold is charged, and locks the population."""

PLACE = "tacit.query.worker:Allowed.most_numbers"
CAUGHT_BY = "tests/failures/test_answer_size.py::test_an_answer_that_no_worker_can_make_is_free"
SHOWN = "DID NOT RAISE"


def bug(_: object) -> property:
    return property(lambda _: 10**9)
