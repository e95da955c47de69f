"""F-P24: a copy that is made anew has the names of the one that sessions read."""

from collections.abc import Iterator

from tacit.engines.prepare import CopyProgress, Preparation, Run

PLACE = "tacit.project.tables:CopyPlace.mark"
CAUGHT_BY = (
    "tests/engines/test_spark_copies_anew.py::"
    "test_a_copy_that_is_made_anew_is_no_failure_of_those_who_read_the_old_one"
)
SHOWN = "populations locked by a copy that was made anew: 1"


def bug(mark: property) -> property:
    steps = Preparation.steps

    def over(self: Preparation, salt: bytes, run: Run) -> Iterator[CopyProgress]:
        self.drop(run)
        yield from steps(self, salt, run)

    Preparation.steps = over  # type: ignore[method-assign]

    def named(place: object) -> str | None:
        made: str | None = mark.__get__(place)
        return None if made is None else made[:16]

    return property(named)
