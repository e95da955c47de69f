"""Questions that need no data: constants, and the keys that an owner has declared.

They are answered from public facts, so that they cost nothing, no ledger is asked and no engine
is used. They have the methods of questions about data, so that a tool need not tell them apart.
"""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import (
    Answer,
    BudgetSummary,
    Catalog,
    Guarantee,
    Loss,
    Population,
    PrivacyUnit,
    Release,
    ReleasedColumn,
)
from tacit.plan import PublicRows
from tacit.query.post_processing import post_process
from tacit.render import html, text

NOTHING = Loss.pure(0)
FREE = (
    "This costs nothing: the answer consists of declarations and constants, and no data is "
    "read."
)
NOBODY = Population("nobody", PrivacyUnit("person"))
"""The population of an answer that is about no table."""


@dataclass(frozen=True, slots=True, repr=False)
class FreeAnswer(Answer):
    """An answer that is public; it was not charged, and no ledger has it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts that are shown below the table."""
        return (FREE,)


@dataclass(frozen=True, slots=True, repr=False)
class FreePreview:
    """The preview of a question that costs nothing."""

    standing: BudgetSummary
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """The columns of the answer, of which none has noise."""
        return (
            ReleasedColumn("column", self.names),
            ReleasedColumn("margin of error", ("0",) * len(self.names)),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the table."""
        return (FREE,)

    @property
    def errors(self) -> tuple[()]:
        """The margins of error: no column has one."""
        return ()

    @property
    def advice(self) -> tuple[()]:
        """Cheaper ways to ask: there are none."""
        return ()

    def __repr__(self) -> str:
        return "\n".join((text(self.columns), "", *self.notes))

    def _repr_html_(self) -> str:
        return html(self.columns, self.notes)


@dataclass(frozen=True, slots=True, repr=False)
class FreeQuestion:
    """A statement that is answered from public facts alone, such as SELECT 1.

    Guarantee: neither a ledger nor an engine is reachable from here.

    Example:
        >>> from tacit.plan import Constant
        >>> from tacit.plan.plan import Output, Post
        >>> one = PublicRows((("row", (1,)),), Post((Output("one", Constant(1)),)))
        >>> FreeQuestion(one, NOBODY).ask()["one"].values
        (Fraction(1, 1),)
    """

    rows: PublicRows
    population: Population

    @classmethod
    def of(cls, rows: PublicRows, catalog: Catalog) -> "FreeQuestion":
        """Return the question about ``rows``, with the population of its dataset."""
        private = [name for name in rows.datasets if not catalog.is_public(name)]
        names = [catalog.dataset(name).population for name in private]
        return cls(rows, catalog.population(names[0]) if names else NOBODY)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The tables whose declarations are shown."""
        return self.rows.datasets

    def quote(self, **_amounts: object) -> FreePreview:
        """Return the price, which is 0 whatever amount is given."""
        found = self.ask()
        return FreePreview(found.standing, tuple(column.name for column in found.columns))

    def ask(self, **_amounts: object) -> FreeAnswer:
        """Return the answer. Nothing is charged."""
        columns = tuple(ReleasedColumn(name, values) for name, values in self.rows.columns)
        guarantee = Guarantee(self.population, NOTHING)
        release = post_process(Release(columns, guarantee, b""), self.rows.post)
        losses = (NOTHING,) * 5
        standing = BudgetSummary(self.population.name, *losses, more=0, epsilon=Fraction(0))
        return FreeAnswer(release.columns, guarantee, b"", standing)

    def loss(self, **_amounts: object) -> Loss:
        """Return the loss, which is 0."""
        return NOTHING

    def explain(self) -> str:
        """Explain how the question is answered."""
        return FREE

    def __repr__(self) -> str:
        names = ", ".join(output.name for output in self.rows.post.outputs)
        return f"<a question that costs nothing: {names}>"
