"""What is to be copied, where to, and by whom: from the project file and the owner's words."""

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.core.dataset import Dataset, UnitColumn
from tacit.errors import InvalidValue, UnknownName
from tacit.project.copies import PARTS, CopyPlace, place_of
from tacit.project.engines import EngineAddress, without_secret, without_token
from tacit.project.entry import Entry, Fault
from tacit.project.project import project_of
from tacit.project.secret import ENVIRONMENT
from tacit.project.source import Source
from tacit.session.secret import held


@dataclass(frozen=True, slots=True)
class Declared:
    """A dataset, without its copy; its engine; and where the file says that its copy is."""

    dataset: Dataset
    engine: EngineAddress
    place: CopyPlace | None


def declared(source: Source, name: str) -> Declared:
    """The dataset ``name`` of a project file, whose copies may be old, or gone."""
    known = source.root().value.get("datasets", {})
    if name not in known:
        raise UnknownName(f"There is no {name!r} in datasets; there are: {', '.join(known)}.")
    bare = source
    for each in known:
        bare = bare.without(("datasets", each, "copy"))
    project = project_of(bare)
    dataset = project.catalog.dataset(name)
    [engine] = [each for each in project.engines if each.name == dataset.location.engine]
    if "copy" not in known[name]:
        return Declared(dataset, engine, None)
    try:
        place = place_of(Entry(known[name]["copy"], ("datasets", name, "copy")))
    except Fault as fault:
        told = source.refusal(fault)
    else:
        return Declared(dataset, engine, place)
    raise told


def worth_it(dataset: Dataset) -> None:
    """Refuse a dataset that no question would read from a copy, with the next step."""
    name, unit = dataset.name, dataset.unit
    if not isinstance(unit, UnitColumn):
        raise InvalidValue(
            f"A copy is ordered by the unit, and {name!r} has a link to it, in {unit.column}; "
            f"name the unit in a column of its own: tacit protect {name} --unit COLUMN ..."
        )
    if unit.one_row:
        raise InvalidValue(
            f"Each unit has one row in {name!r}: nothing is bounded, and no copy is needed."
        )
    limits = dataset.limits
    missing = {
        "--row-key COLUMN": dataset.row_key,
        "--max-rows-in-all 4": limits.max_rows_in_all,
    }
    if None in missing.values():
        lacking = " ".join(option for option, said in missing.items() if said is None)
        raise InvalidValue(
            f"{name!r} lacks what a copy is ordered by and read up to: a row_key, the column "
            "that tells the rows of a unit apart, and max_rows_in_all, how many of them count. "
            f"Say so, and record it: tacit protect {name} --unit {unit.column} --max-groups "
            f"{limits.max_groups} --max-rows {limits.max_rows} {lacking}; tacit apply"
        )


def chosen(found: Declared, where: str | None, parts: int | None) -> CopyPlace:
    """Where the copy shall lie: where the owner says now, or where the file says."""
    before, kind = found.place, found.engine.kind
    wanted = where or (before.where if before else None)
    ways = {
        "duckdb": "main, a schema of the same file, or copies.duckdb, a file of its own",
        "parquet": "copies.duckdb, a file of its own",
        "postgres": "copies, a schema of the same database",
        "spark": "copies, a database of its catalogue",
    }
    if kind == "spark" and parts not in {None, 1}:
        raise InvalidValue("A copy on Spark is one table, whose buckets are its parts.")
    if wanted is not None:
        usual = 1 if kind == "spark" else PARTS
        place = CopyPlace(wanted, parts or (before.parts if before else usual))
        if kind == "duckdb" or (place.file is None) == (kind in {"postgres", "spark"}):
            return place
    raise InvalidValue(
        f"Say where the copy of {found.dataset.name!r} shall lie, by --where: {ways[kind]}."
    )


def owner_address(
    said: str | None, environment: Mapping[str, str], *, spark: bool = False
) -> str:
    """The address of whoever may create tables: from a variable, or without a password."""
    if said is None:
        raise InvalidValue(
            "Tacit's own role only reads. Name an address that may create tables, by --by: "
            "env:VARIABLE, which holds it, or postgresql://owner@host/database."
        )
    keeper, _, variable = said.partition(":")
    if keeper == ENVIRONMENT:
        return held(variable, "--by", environment)
    try:
        (without_token if spark else without_secret)(Entry(said, ("--by",)))
    except Fault as fault:
        told = InvalidValue(f"{fault.message} For --by: env:VARIABLE holds the whole address.")
    else:
        return said
    raise told
