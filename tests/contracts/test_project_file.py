"""The project file: what it says, and refusals that point at the line."""

import re
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.core.catalog import Epoch, Limits, Link, Location, UnitColumn, ValidatedCopy
from tacit.core.domain import Bounds, Column, Keys, Kind, Provenance
from tacit.core.privacy_unit import Neighbours, PrivacyUnit
from tacit.errors import InvalidValue
from tacit.project.document import Fault, ProjectText
from tacit.project.engines import EngineAddress, SecretPlace
from tacit.project.populations import Allowance, facts_of
from tacit.project.project import Project
from tacit.project.tables import CopyPlace
from tacit.session.engines import read_project

TEXT = """\
# The clinic. Ask Olga before you change this.

[engines.warehouse]
kind = "duckdb"
path = "clinic.duckdb"

[engines.live]
kind = "postgres"
address = "postgresql://tacit@db.clinic.example/clinic"
password = "env:CLINIC_PASSWORD"  # never the password itself

[populations.patients]
unit = "person"
owners = ["olga", "omar"]
budget = { epsilon = 3, delta = "1e-6" }
quotas.ann = { epsilon = 0.5 }

[populations.staff]
unit = "employee"
neighbours = "replace one"
owners = ["olga"]
budget = { rho = 0.1, conversion_delta = "1e-7" }

[datasets.visits]
population = "patients"
engine = "warehouse"
table = "clinic.visits"
epoch = "2026-W46"
link = { column = "patient", parent = "people", parent_column = "id" }
max_groups = 3
max_rows = 10

[datasets.visits.columns]
patient = "integer"
age = { kind = "integer", bounds = [0, 120], provenance = "public" }
cost = { kind = "decimal", step = "0.01", bounds = [0, 20_000.5], provenance = "policy" }
day = { kind = "date", bounds = [2020-01-01, 2029-12-31], provenance = "public" }

[datasets.visits.columns.ward]
kind = "text"
keys = [
    "north",  # since 1987
    "south",
]
provenance = "estimated"

[datasets.people]
population = "patients"
engine = "warehouse"
epoch = "2026-W46"
unit = "person"
max_groups = 1
max_rows = 1
columns = { id = "integer", person = "text" }

[public.regions]
engine = "warehouse"
epoch = "2026"
columns = { ward = "text", region = "text" }
"""


def read(text: str, tmp_path: Path) -> Project:
    file = tmp_path / "tacit.toml"
    file.write_text(text)
    return read_project(file)


def test_a_project_file_is_a_catalogue_with_engines_and_budgets(tmp_path: Path) -> None:
    project = read(TEXT, tmp_path)
    visits = project.catalog.dataset("visits")
    assert visits.schema.columns == (
        Column("patient", Kind.INTEGER),
        Column("age", Kind.INTEGER, Bounds.of(0, 120)),
        Column(
            "cost",
            Kind.DECIMAL,
            Bounds.of(0, "20000.5", Provenance.POLICY),
            step=Fraction(1, 100),
        ),
        Column("day", Kind.DATE, Bounds.days(date(2020, 1, 1), date(2029, 12, 31))),
        Column("ward", Kind.TEXT, keys=Keys(("north", "south"), Provenance.ESTIMATED)),
    )
    assert visits.unit == Link("patient", "people", "id")
    assert visits.limits == Limits(3, 10)
    assert visits.location == Location("warehouse", ("clinic", "visits"))
    assert visits.epoch.label == "2026-W46"
    assert project.catalog.dataset("people").unit == UnitColumn("person")
    assert project.catalog.table("regions").location == Location("warehouse", ("regions",))
    patients, staff = project.people
    assert patients.owners == ("olga", "omar")
    assert patients.budget == Allowance(epsilon=Fraction(3), delta=Fraction(1, 10**6))
    assert patients.quotas == (("ann", Allowance(epsilon=Fraction(1, 2))),)
    assert staff.population.unit == PrivacyUnit("employee", Neighbours.REPLACE_ONE)
    assert staff.budget == Allowance(rho=Fraction(1, 10), conversion_delta=Fraction(1, 10**7))
    live = "postgresql://tacit@db.clinic.example/clinic"
    assert project.engines == (
        EngineAddress("warehouse", "duckdb", "clinic.duckdb"),
        EngineAddress("live", "postgres", live, SecretPlace("env", ("CLINIC_PASSWORD",))),
    )


WRONG = [
    (
        'unit = "person"\nowners',
        'unit = ""\nowners',
        13,
        "patients.unit' must be a text",
    ),
    ('owners = ["olga"]', "owners = []", 21, "at least one owner"),
    ("[0, 120],", "[0, 120], complete = true,", 35, "declare the keys too"),
    ('"estimated"', '"estimated"\ncomplete = 1', 46, "must be true or false"),
    ('epsilon = 3, delta = "1e-6"', "delta = 1", 15, "epsilon = 3, or rho = 0.1"),
    ("epsilon = 0.5", "epsilon = -1", 16, "epsilon must be above 0"),
    ("replace one", "nobody", 20, "neighbours must be one of"),
    (
        'population = "patients"',
        'population = "patient"',
        25,
        "no population 'patient'. The file declares",
    ),
    (
        'engine = "warehouse"',
        'engine = "house"',
        26,
        "no engine 'house'. The file declares: warehouse",
    ),
    ('parent = "people"', 'parent = "persons"', 29, "no dataset 'persons'. The file declares"),
    (
        "max_groups = 3",
        'max_groups = "3"',
        30,
        "max_groups' must be a whole number",
    ),
    (
        "max_groups = 3",
        "max_group = 3",
        30,
        "'max_group' is not a known name in this part of the file. Known names",
    ),
    (
        'parent_column = "id" }',
        'parent_column = "id", unique_by_constraint = 1 }',
        29,
        "true or",
    ),
    ("[0, 120]", "120", 35, "must be a list, such as [0, 100]"),
    ("quotas.ann = { epsilon = 0.5 }", "quotas = 3", 16, "must be a table of names and values"),
    ("max_rows = 10\n", "", 24, "'max_rows' is missing in this part of the file"),
    ("max_rows = 10", "max_rows = 0", 24, "Limits must be at least 1"),
    (
        'age = { kind = "integer"',
        'age = { kind = "number"',
        35,
        "The kind of a column must be one of: boolean",
    ),
    ("bounds = [0, 120]", "bounds = [120, 0]", 35, "lower <= upper"),
    ("bounds = [0, 120]", "bounds = [0]", 35, "two numbers or two days"),
    ("bounds = [0, 120]", 'bounds = ["a", 1]', 35, "must be a number, such as"),
    (', provenance = "public" }\ncost', " }\ncost", 35, "State where this is known from"),
    ('step = "0.01", ', "", 36, "a decimal column must have a step"),
    (
        'provenance = "estimated"',
        'provenance = "a guess"',
        45,
        "provenance must be one of: public",
    ),
    ('"south",', '"north",', 41, "Keys must be distinct"),
    ('"south",', "1987,", 41, "all text or all integers"),
    ('unit = "person"\nmax', "max", 47, "how a row leads to its person"),
    ('unit = "person"\nmax', 'unit = "who"\nmax', 47, "no column 'who'"),
    (
        'id = "integer", person',
        'id = "text", person',
        24,
        "columns of a link must be of the same kind",
    ),
    ('kind = "duckdb"', 'kind = "oracle"', 4, "must be one of: duckdb, parquet, postgres"),
    ("env:CLINIC_PASSWORD", "hunter2", 10, "Name the place of the secret"),
    ("env:CLINIC_PASSWORD", "env:", 10, "Name the place of the secret"),
    ("env:CLINIC_PASSWORD", "keyring:clinic", 10, '"keyring:service/name" for the system'),
    ("env:CLINIC_PASSWORD", "keyring:/tacit", 10, "Name the place of the secret"),
    ("//tacit@", "//tacit:hunter2@", 9, "This file must not contain a password"),
    ('/clinic"', '/clinic?password=hunter2"', 9, "This file must not contain a password"),
    (
        "postgresql://tacit@",
        "mysql://",
        9,
        "must have the form postgresql://role@host/database",
    ),
    (
        "[public.regions]",
        "[publics.regions]",
        56,
        "'publics' is not a known name in this part of the file",
    ),
    ("max_rows = 10", "max_rows = ", 31, "this is not valid TOML"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "told"), WRONG)
def test_a_refusal_points_at_the_line(
    right: str, wrong: str, line: int, told: str, tmp_path: Path
) -> None:
    assert right in TEXT
    with pytest.raises(InvalidValue) as refusal:
        read(TEXT.replace(right, wrong, 1), tmp_path)
    said = str(refusal.value)
    assert said.startswith(f"tacit.toml:{line}: "), said
    assert told in said
    assert "hunter2" not in said


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read as a text file"):
        read_project(tmp_path / "tacit.toml")


def test_the_line_of_every_value_is_the_one_it_stands_in() -> None:
    source = ProjectText("tacit.toml", TEXT)
    for path, words in {
        ("engines", "warehouse"): "[engines.warehouse]",
        ("populations", "patients", "quotas", "ann"): "quotas.ann",
        ("datasets", "visits", "columns", "ward", "keys"): "keys = [",
        ("datasets", "visits", "columns", "day", "bounds"): "day = {",
        ("datasets", "people", "columns", "id"): "columns = {",
        ("nothing",): "# The clinic",
    }.items():
        assert words in TEXT.splitlines()[source.line_of(path) - 1], path
    assert str(source.refusal(Fault(("engines", "live"), "why"))) == "tacit.toml:7: why"


def test_tables_of_one_kind_may_stand_apart() -> None:
    apart = f"{TEXT}\n[server.time]\nkind = 'open'\n\n[datasets.more]\nepoch = '1'  # why\n"
    source, before = ProjectText("tacit.toml", apart), ProjectText("tacit.toml", TEXT)
    for path in (
        ("datasets", "visits", "columns", "ward", "keys"),
        ("datasets", "visits", "epoch"),
        ("datasets", "people", "columns", "id"),
    ):
        assert source.line_of(path) == before.line_of(path) > 1
    assert source.line_of(("datasets", "more", "epoch")) == len(apart.splitlines())
    changed = source.with_value(("datasets", "visits", "epoch"), "2026-W47")
    assert changed.text == apart.replace('"2026-W46"', '"2026-W47"', 1)
    added = source.with_value(("datasets", "more", "max_rows"), 3)
    assert added.root().value["datasets"]["more"] == {"epoch": "1", "max_rows": 3}
    assert source.without(("datasets", "more", "epoch")).text.count("why") == 0


def test_a_value_is_changed_and_every_comment_stays(tmp_path: Path) -> None:
    source = ProjectText("tacit.toml", TEXT)
    changed = source.with_value(("datasets", "visits", "epoch"), "2026-W47")
    assert changed.text == TEXT.replace('"2026-W46"', '"2026-W47"', 1)
    added = changed.with_value(("populations", "patients", "quotas", "bob"), {"epsilon": 1})
    assert "# since 1987" in added.text
    assert dict(read(added.text, tmp_path).people[0].quotas)["bob"].epsilon == 1
    rewritten = changed.root().value  # what a writer without comments keeps
    assert "Ask Olga" not in str(rewritten)


FACTS = [
    ("max_rows = 10", "max_rows = 10\nmax_rows_in_all = 20"),
    ('unit = "person"\nmax', 'unit = "person"\none_row = true\nmax'),
    (
        'unit = "person"\nmax',
        'unit = "person"\none_row = true\nunique_by_constraint = true\nmax',
    ),
    ("max_rows = 1\n", 'max_rows = 1\nrow_key = "id"\n'),
    ("bounds = [0, 120]", "bounds = [0, 121]"),
    ("max_rows = 10", "max_rows = 11"),
    ('provenance = "policy"', 'provenance = "public"'),
    ('"south"', '"west"'),
    ('epoch = "2026-W46"', 'epoch = "2026-W47"'),
    ('unit = "person"\nmax', 'unit = "id"\nmax'),
    ('parent_column = "id" }', 'parent_column = "id", unique_by_constraint = true }'),
    ('region = "text"', 'region = "integer"'),
    ('step = "0.01"', 'step = "0.1"'),
    ('provenance = "estimated"', 'provenance = "estimated"\ncomplete = true'),
]


def facts(text: str, tmp_path: Path) -> tuple[str, ...]:
    return facts_of(read(text, tmp_path).catalog, "patients")


@pytest.mark.parametrize(("before", "after"), FACTS)
def test_what_is_declared_otherwise_is_another_fact(
    before: str, after: str, tmp_path: Path
) -> None:
    assert before in TEXT
    assert facts(TEXT, tmp_path) != facts(TEXT.replace(before, after, 1), tmp_path)


@pytest.mark.parametrize(("said", "complete"), [("", False), ("false", False), ("true", True)])
def test_keys_are_complete_only_if_the_owner_says_so(
    tmp_path: Path, said: str, *, complete: bool
) -> None:
    more = f'"estimated"\ncomplete = {said}' if said else '"estimated"'
    found = read(TEXT.replace('"estimated"', more, 1), tmp_path).catalog.dataset("visits")
    assert found.schema["ward"].keys == Keys(("north", "south"), Provenance.ESTIMATED, complete)


def test_where_a_table_lives_is_no_fact(tmp_path: Path) -> None:
    moved = TEXT.replace('"clinic.visits"', '"elsewhere"')
    assert facts(TEXT, tmp_path) == facts(moved, tmp_path)
    assert facts(TEXT, tmp_path)[0] == "people.id: integer"


PEOPLE = 'columns = { id = "integer", person = "text" }'
COPY = (
    'row_key = "id"\ncopy = { where = "copies.duckdb", parts = 3, epoch = "2026-W46", '
    'order = "5eed5eed", declaration = "DECLARED" }\n'
)


def copied(tmp_path: Path, text: str = TEXT) -> str:
    """The file after `tacit prepare people`, by a ledger whose salt has the mark 5eed5eed."""
    project = read(text.replace(PEOPLE, 'row_key = "id"\n' + PEOPLE), tmp_path)
    place = CopyPlace("copies.duckdb", 3)
    declared = project.copy_plan("people", place).declaration[:16]
    return text.replace(PEOPLE, COPY.replace("DECLARED", declared) + PEOPLE)


def test_a_copy_is_read_where_it_was_made_and_is_no_fact(tmp_path: Path) -> None:
    text = copied(tmp_path)
    project = read(text, tmp_path)
    copy = project.catalog.dataset("people").copy
    assert copy is not None
    assert copy.tables[2][:2] == ("copies.duckdb", "main")
    assert re.fullmatch("tacit_people_[0-9a-f]{8}5eed5eed_2", copy.tables[2][2])
    assert copy.record[2] == copy.tables[2][2].removesuffix("_2")
    assert "maker: 5eed5eed" in copy.facts
    assert "unit: people.person" in copy.facts
    assert project.files_of("warehouse") == ("copies.duckdb",)
    assert project.files_of("live") == ()
    wished = text.replace(', epoch = "2026-W46"', "")
    assert read(wished, tmp_path).files_of("warehouse") == ()
    bare = TEXT.replace(PEOPLE, 'row_key = "id"\n' + PEOPLE)
    assert facts(bare, tmp_path) == facts(text, tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (', order = "5eed5eed"', "", "an earlier version of Tacit"),
        (re.compile(', declaration = "[0-9a-f]*"'), "", "an earlier version of Tacit"),
        ('copies.duckdb", parts = 3, epoch = "2026-W46"', 'copies.duckdb", epoch = "1"', "'1'"),
        ('unit = "person"\nmax', 'unit = "id"\nmax', "another declaration"),
        ("parts = 3", "parts = 2", "another declaration"),
        ("parts = 3", "parts = 3, text_bytes = 7", "another declaration"),
        ('row_key = "id"\n', 'row_key = "person"\nmax_rows_in_all = 3\n', "another"),
        ('{ id = "integer", person', '{ n = "float", id = "integer", person', "another"),
        ('path = "clinic.duckdb"', 'path = "other.duckdb"', "another declaration"),
        ('epoch = "2026-W46"\nunit', 'table = "t"\nepoch = "2026-W46"\nunit', "another"),
    ],
)
def test_a_copy_of_anything_else_is_not_read(
    tmp_path: Path, before: str | re.Pattern[str], after: str, told: str
) -> None:
    text = copied(tmp_path)
    if isinstance(before, str):
        before = re.compile(re.escape(before))
    changed = before.sub(lambda _: after, text, count=1)
    assert changed != text
    changed = changed.replace('parent_column = "id"', 'parent_column = "person"')
    changed = changed.replace('patient = "integer"', 'patient = "text"')
    project = read(changed, tmp_path)
    assert project.catalog.dataset("people").copy is None
    assert told in project.outdated["people"]
    assert "make it again: tacit prepare people" in project.outdated["people"]


def test_a_copy_depends_on_the_whole_way_to_the_unit(tmp_path: Path) -> None:
    place = CopyPlace("copies.duckdb")
    before = read(TEXT, tmp_path).copy_plan("visits", place)
    assert before.facts("5eed5eed")[2:4] == (
        "link: visits.patient to people.id",
        "unit: people.person",
    )
    other = TEXT.replace('unit = "person"\nmax', 'unit = "id"\nmax')
    after = read(other, tmp_path).copy_plan("visits", place)
    assert before.declaration != after.declaration


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("parts = 3", "parts = 0", "'parts' of a copy must be 1 or more"),
        ("where =", "place =", "'place' is not a known name in this part of the file"),
    ],
)
def test_a_copy_that_cannot_be_is_refused_at_its_line(
    tmp_path: Path, before: str, after: str, told: str
) -> None:
    text = copied(tmp_path)
    line = text[: text.index("copy = ")].count("\n") + 1
    with pytest.raises(InvalidValue, match=rf"tacit\.toml:{line}: .*{told}"):
        read(text.replace(before, after), tmp_path)


def test_a_table_is_said_to_be_served_in_place(tmp_path: Path) -> None:
    said = TEXT.replace(PEOPLE, "in_place = true\n" + PEOPLE)
    assert read(said, tmp_path).catalog.dataset("people").in_place
    assert set(facts(said, tmp_path)) - set(facts(TEXT, tmp_path)) == {
        "people: served in place"
    }
    spark = said.replace(
        'kind = "duckdb"\npath = "clinic.duckdb"', 'kind = "spark"\naddress = "sc://h"'
    )
    with pytest.raises(InvalidValue, match="whose tables are not served in place"):
        read(spark, tmp_path)


@pytest.mark.parametrize("epoch", ["2026-W46", "2026-W45"])
def test_in_place_wins_over_a_copy_which_may_be_outdated(tmp_path: Path, epoch: str) -> None:
    said = copied(tmp_path).replace('epoch = "2026-W46", order', f'epoch = "{epoch}", order')
    assert f'epoch = "{epoch}", order' in said
    alone = read(said, tmp_path)
    assert bool(alone.outdated) == (epoch == "2026-W45")
    both = read(said.replace(PEOPLE, "in_place = true\n" + PEOPLE), tmp_path)
    assert both.catalog.dataset("people").copy is None
    assert not both.outdated
    assert both.places["people"].epoch == epoch  # which can be dropped


def test_names_that_postgresql_cuts_off_have_no_copy() -> None:
    with pytest.raises(InvalidValue, match="at most 63 bytes"):
        ValidatedCopy.of("v" * 56, ("public",), 2, Epoch("1"))
    assert ValidatedCopy.of("v" * 55, ("public",), 2, Epoch("1")).database is None
    [short] = ValidatedCopy.of("ä" * 56, ("public",), 1, Epoch("1"), "5eed" * 4).tables
    assert len(short[1].encode()) <= 63  # which its mark tells from others
    assert short[1].endswith("_5eed5eed5eed5eed_0")


def test_the_page_about_the_file_shows_one_that_is_read(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs/reference/project.md"
    (shown,) = re.findall(r"```toml\n(.*?)```", page.read_text(), flags=re.DOTALL)
    assert [table.name for table in read(shown, tmp_path).catalog.tables] == [
        "people",
        "visits",
        "regions",
    ]
    (told,) = re.findall(r"```\n(tacit\.toml:.*?)\n```", page.read_text())
    with pytest.raises(InvalidValue) as refusal:
        read(shown.replace(', provenance = "public" }\ncost', " }\ncost"), tmp_path)
    assert str(refusal.value) == told
