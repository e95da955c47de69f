"""F-S6: the quota of a team limits none of its members."""

from collections.abc import Callable, Iterable, Sequence

PLACE = "tacit.ledger.budget:sort_holders"
CAUGHT_BY = "tests/server/test_governance.py::test_a_team_has_one_quota_for_all_of_its_members"
SHOWN = "assert 200 == 402"

Sort = Callable[[str, Iterable[Sequence[str]]], tuple[str, ...]]


def bug(_: Sort) -> Sort:
    return lambda principal, _: (principal,)
