"""Questions about what each person's own rows add up to, in the clinic."""

from fractions import Fraction

from clinic_questions import CONDITIONS, NUMBERS
from hypothesis import strategies as st

from tacit.plan.expression import (
    Arithmetic,
    Bin,
    Case,
    Compare,
    Comparison,
    Constant,
    Expression,
    Field,
    IsNull,
    OneOf,
    Operation,
)
from tacit.plan.plan import (
    Aggregate,
    CountRows,
    CountUnits,
    CountValues,
    Filter,
    Greatest,
    GroupKey,
    Least,
    Mean,
    NamedAggregate,
    PerUnit,
    Plan,
    Post,
    Quantile,
    Relation,
    Scan,
    Sum,
    UnitValue,
    Variance,
)
from tacit.plan.tree_walk import rewritten

INNER_KEYS = ("visits.ward", "visits.smoker", "visits.day", "visits.doctor", "visits.room")
INNER: st.SearchStrategy[Aggregate] = st.one_of(
    st.just(CountRows()),
    st.builds(CountValues, st.sampled_from([Field("pay"), Field("ward")])),
    *(st.builds(each, NUMBERS) for each in (Sum, Mean, Least, Greatest)),
)
COMPARED = st.sampled_from([0, 1, 2, 100, Fraction(1, 2), Fraction(-3, 4)])


def called(node: Field) -> Field:
    """A column as it is called in a whole plan."""
    return Field(f"visits.{node.name}")


@st.composite
def unit_relations(draw: st.DrawFn) -> PerUnit:
    """One row for each person, or for each of their groups."""
    source: Relation = Scan("visits")
    if draw(st.booleans()):
        source = Filter(source, rewritten(draw(CONDITIONS), called))
    keys = draw(st.lists(st.sampled_from(INNER_KEYS), max_size=2, unique=True))
    values = draw(st.lists(INNER, min_size=1, max_size=3))
    named = (UnitValue(f"v{place}", each) for place, each in enumerate(values))
    return PerUnit(source, tuple(keys), rewritten(tuple(named), called))


@st.composite
def unit_plans(draw: st.DrawFn) -> Plan:
    """Questions about such rows, or about what they add up to once more."""
    relation = draw(unit_relations())
    if draw(st.integers(0, 3)) == 0:
        again = draw(st.sampled_from([Sum, Mean, Least, Greatest]))
        relation = PerUnit(relation, (), (UnitValue("v0", again(Field("below.v0"))),))
    fields = st.sampled_from([Field(f"below.{value.name}") for value in relation.values])
    numbers: st.SearchStrategy[Expression] = st.one_of(
        fields, st.builds(Arithmetic, st.sampled_from(Operation), fields, fields)
    )
    conditions: st.SearchStrategy[Expression] = st.one_of(
        st.builds(Compare, st.sampled_from(Comparison), fields, st.builds(Constant, COMPARED)),
        st.builds(Compare, st.sampled_from(Comparison), numbers, numbers),
        st.builds(IsNull, fields),
        st.builds(OneOf, fields, st.just((1, 2, Fraction(1, 4)))),
    )
    keys: list[st.SearchStrategy[Expression]] = [
        fields,
        st.builds(Bin, fields, st.just(50)),
        st.builds(
            lambda wanted: Case(((wanted, Constant("yes")),), Constant("no")), conditions
        ),
    ]
    keys += [st.sampled_from([Field(key) for key in relation.keys])] if relation.keys else []
    aggregates: st.SearchStrategy[Aggregate] = st.one_of(
        st.just(CountRows()),
        st.just(CountUnits()),
        st.builds(Variance, fields, st.booleans()),
        st.builds(Quantile, fields, st.just(Fraction(1, 2))),
        *(st.builds(each, numbers) for each in (CountValues, Sum, Mean, Least)),
    )
    source = Filter(relation, draw(conditions)) if draw(st.booleans()) else relation
    chosen = draw(st.lists(st.one_of(keys), max_size=2, unique=True))
    asked = draw(st.lists(aggregates, min_size=1, max_size=3))
    measures = tuple(NamedAggregate(f"m{place}", each) for place, each in enumerate(asked))
    named = tuple(GroupKey(f"k{place}", key) for place, key in enumerate(chosen))
    return Plan(source, named, measures, Post.showing(*(part.name for part in measures)))
