"""How far two databases lie apart: the three distances that neighbours are defined by."""

from collections.abc import Hashable
from typing import TypeVar, assert_never

from tacit.core.multiset import Multiset
from tacit.core.unit import Neighbours

Element = TypeVar("Element", bound=Hashable)


def symmetric_distance(left: Multiset[Element], right: Multiset[Element]) -> int:
    """How many elements are added and removed on the way: the L1 distance of the histograms.

    Example:
        >>> symmetric_distance(Multiset.of("aab"), Multiset.of("abc"))
        2
    """
    return left.minus(right).size + right.minus(left).size


def replace_distance(left: Multiset[Element], right: Multiset[Element]) -> int | None:
    """How many elements are replaced on the way.

    None where the sizes differ and no replacing leads there.

    Example:
        >>> replace_distance(Multiset.of("aab"), Multiset.of("abc"))
        1
    """
    return left.minus(right).size if left.size == right.size else None


def edit_distance(left: Multiset[Element], right: Multiset[Element]) -> int:
    """How many elements are added, removed or replaced on the way.

    Example:
        >>> edit_distance(Multiset.of("aab"), Multiset.of("abcc"))
        2
    """
    return max(left.minus(right).size, right.minus(left).size)


def are_neighbours(
    left: Multiset[Element], right: Multiset[Element], neighbours: Neighbours
) -> bool:
    """Whether one step of the relation leads from one database to the other, or none does.

    Example:
        >>> are_neighbours(Multiset.of("ab"), Multiset.of("abb"), Neighbours.ADD_REMOVE)
        True
    """
    match neighbours:
        case Neighbours.ADD_REMOVE:
            return symmetric_distance(left, right) <= 1
        case Neighbours.REPLACE_ONE:
            return replace_distance(left, right) in {0, 1}
        case _:
            assert_never(neighbours)
