"""F-P19: the tables of a copy are named after its dataset alone, and made over any other."""

from collections.abc import Iterator

from tacit.engines.prepare import CopyProgress, Preparation, Run

PLACE = "tacit.project.tables:CopyPlace.mark"
CAUGHT_BY = (
    "tests/edges/test_whose_copy.py::"
    "test_a_second_project_does_not_overwrite_the_copy_of_the_first"
)
SHOWN = "assert 'tacit_visits_0' != 'tacit_visits_0'"


def bug(_: property) -> property:
    steps = Preparation.steps

    def over(self: Preparation, salt: bytes, run: Run) -> Iterator[CopyProgress]:
        self.drop(run)
        yield from steps(self, salt, run)

    Preparation.steps = over  # type: ignore[method-assign]
    return property(lambda _: None)
