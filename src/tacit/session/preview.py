"""What a quote shows: the price, the errors to expect, and what would be cheaper."""

from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.core.release import ReleasedColumn
from tacit.core.standing import Standing, rounded
from tacit.plan.expression import Field
from tacit.query.advice import Advice, advice_on
from tacit.query.expected import SIZES, Expected, check_sizes, expected
from tacit.query.quote import Quote
from tacit.render.cell import cell
from tacit.render.html import html
from tacit.render.text import text

SHOWN_PERCENT = "95%"


@dataclass(frozen=True, slots=True, repr=False)
class Preview:
    """A quote as it is shown: free, and the same whatever stands in the tables."""

    quote: Quote
    standing: Standing
    assume_size: tuple[int, ...] = SIZES
    """Rows of a group for which errors are told, where they depend on it."""
    least: bool = False
    """Whether less was asked for than a question costs at least."""

    def __post_init__(self) -> None:
        check_sizes(self.assume_size)

    @property
    def errors(self) -> tuple[Expected, ...]:
        """What each column misses by at most, with 95%; computed columns are not among them."""
        found = {Field(each.name): each for each in expected(self.quote, self.assume_size)}
        shown = self.quote.question.post.outputs
        return tuple(
            replace(found[output.expression], name=output.name)
            for output in shown
            if output.expression in found
        )

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What would answer the same with less noise."""
        return advice_on(self.quote)

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the table."""
        standing, lines = self.standing, []
        fits = f"{standing.more} such questions fit" if standing.more != 1 else "1 such fits"
        spent = f"{rounded(standing.spent)} of {rounded(standing.cap)}"
        lines.append(f"Price: {rounded(standing.cost)}; about {fits}.")
        if self.least:
            lines.append("This is the least price of a question; less noise comes with it.")
        lines.append(f"Spent about {standing.population}: {spent}.")
        if self.quote.survival:
            lines.append(
                "Groups are not public: of "
                + ", ".join(
                    f"{units} {self.quote.population.unit.name}s {_percent(probability)}"
                    for probability, units in self.quote.survival
                )
                + " are shown."
            )
        lines += [f"Cheaper: {each}." for each in self.advice]
        lines += [f"It assumes that {each}." for each in self.quote.assumptions]
        return tuple(lines)

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """The table of errors, as it is shown."""
        names = tuple(each.name for each in self.errors)
        misses = tuple(_missed(each) for each in self.errors)
        heading = f"misses by at most, with {SHOWN_PERCENT}"
        return ReleasedColumn("column", names), ReleasedColumn(heading, misses)


def _missed(each: Expected) -> str:
    if each.always is not None:
        return _about(each.always)
    return ", ".join(f"{_about(error)} at {size} rows" for size, error in each.by_size)


def _about(error: Fraction) -> str:
    return cell(error, (Fraction(0), 2 * error))


def _percent(probability: Fraction) -> str:
    return f"{float(100 * probability):.3g}%"
