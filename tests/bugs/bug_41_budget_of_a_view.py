"""TD-10, 41: each view has a budget under its own name, so a new view is a fresh one."""

from collections.abc import Callable
from dataclasses import replace

from tacit.core.catalog import Catalog

PLACE = "tacit.core.catalog:Catalog.__post_init__"
CAUGHT_BY = "tests/ledger/test_views.py::test_no_new_name_has_a_fresh_budget[renamed]"
SHOWN = "assert (51, 50) == (1, 3)"

Check = Callable[[Catalog], None]


def bug(original: Check) -> Check:
    def post_init(self: Catalog) -> None:
        original(self)
        owned = [
            (replace(self.population(view.population), name=view.name), view)
            for view in self.datasets
        ]
        populations = (*self.populations, *(population for population, _ in owned))
        views = tuple(replace(view, population=view.name) for _, view in owned)
        object.__setattr__(self, "populations", populations)
        object.__setattr__(self, "datasets", views)

    return post_init
