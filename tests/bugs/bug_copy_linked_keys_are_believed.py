"""A copy keeps a key that is in two people's rows: rows linked by it count for both."""

from collections.abc import Callable

from tacit.engines.prepare import Preparation

PLACE = "tacit.engines.prepare:kept_unique"
CAUGHT_BY = (
    "tests/engines/test_what_one_breaks.py::test_accomplices_do_not_multiply_a_persons_visit"
)
SHOWN = "one person moves a count by: 21"


def bug(original: Callable[..., tuple[str, ...]]) -> Callable[..., tuple[str, ...]]:
    Preparation._check_links = lambda *_: None  # type: ignore[method-assign]
    return lambda dataset, _: original(dataset, ())
