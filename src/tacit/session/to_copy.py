"""What is to be copied, where to, and by whom: from the project file and the owner's words."""

from collections.abc import Mapping
from dataclasses import replace

from tacit.core.dataset import Dataset, keeps_order
from tacit.engines.engine_spec import CopyRule
from tacit.engines.prepare import Preparation
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.registry import NO_PLUGINS, engine_spec
from tacit.errors import InvalidValue, UnknownName
from tacit.project.address import AddressRule, Plugins
from tacit.project.copies import PARTS, Copied, CopyPlace
from tacit.project.project import Project
from tacit.project.secret import ENVIRONMENT
from tacit.session.secret import held


def to_copy(
    project: Project, name: str, where: str | None = None, parts: int | None = None
) -> Copied:
    """The table ``name`` of a project, and where its copy shall lie.

    That is where the owner says now, or where the file says, or the usual place.
    """
    known = [table.name for table in project.catalog.tables]
    if name not in known:
        raise UnknownName(f"There is no table {name!r}; there are: {', '.join(known)}.")
    before, kind = project.places.get(name), project.engine_of(name).kind
    table = project.catalog.table(name)
    rule = copy_rule(kind, project.plugins)
    if rule.one_table is not None and parts not in {None, 1}:
        raise InvalidValue(rule.one_table)
    ordered = isinstance(table, Dataset) and keeps_order(table)
    usual = PARTS if ordered and rule.one_table is None else 1
    place = before or CopyPlace(rule.usual, usual)
    place = replace(place, where=where or place.where, parts=parts or place.parts)
    if not rule.fits(place.file):
        raise InvalidValue(
            f"Say where the copy of {name!r} shall lie, by --where: {rule.words}."
        )
    return project.copied(name, place)


def copy_rule(kind: str, plugins: Plugins) -> CopyRule:
    """Where copies of tables of an engine lie; refused for an engine that has none."""
    rule = engine_spec(kind, plugins).copies
    if rule is None:
        raise InvalidValue(f"Copies cannot be made in an engine of kind {kind}.")
    return rule


def preparation(
    copied: Copied, order: str, *notes: str, plugins: Plugins = NO_PLUGINS
) -> Preparation:
    """How a copy is made by the ledger whose salt has the mark ``order``.

    The ``notes`` on its making are written beside it.
    """
    made = copied.made(order)
    return Preparation(
        copied.table,
        made.path,
        _dialect(copied, plugins),
        copied.parts,
        made.mark,
        copied.facts(order),
        made.text_bytes,
        copied.linked,
        notes,
    )


def made_before(copied: Copied, plugins: Plugins = NO_PLUGINS) -> Preparation:
    """The same of the copy that the project file speaks of, whatever it was made by."""
    place, dialect = copied.place, _dialect(copied, plugins)
    return Preparation(copied.table, place.path, dialect, copied.parts, place.mark)


def _dialect(copied: Copied, plugins: Plugins) -> Dialect:
    dialect = engine_spec(copied.engine.kind, plugins).dialect
    if dialect is None:
        raise InvalidValue(f"An engine of kind {copied.engine.kind} prints no SQL.")
    return dialect


def owner_address(
    said: str | None, environment: Mapping[str, str], rule: AddressRule
) -> str | None:
    """The address of whoever may create tables: from a variable, or without a password."""
    if said is None:
        return None
    keeper, _, variable = said.partition(":")
    if keeper == ENVIRONMENT:
        return held(variable, "--by", environment)
    refused = rule.refuse(said, secret=False)
    if refused is not None:
        raise InvalidValue(f"{refused} For --by: env:VARIABLE holds the whole address.")
    return said
