"""Spark Connect: the same engine over the network, with the same integers and errors."""

from collections.abc import Callable
from typing import cast

import hospital
import pytest
from clinic import TABLE, catalog
from engines_over import reference
from neighbouring import SALT, opened
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession
from spark_over import show
from spark_session import remote
from test_written import CORPORA, TIGHT, crowd

from tacit.core.catalog import Catalog, Limits
from tacit.engines.spark import SETTINGS, Spark
from tacit.errors import InternalError, InvalidValue
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.bounding import bound
from tacit.plan.canonical_form import canonical
from tacit.sql.parser import parse

ONE_OF = 12


def session() -> SparkSession:
    """A client's session has the face of the other, and is no kind of it."""
    return cast("SparkSession", remote())


def planned(text: str, declared: Catalog) -> BoundedPlan:
    return bound(canonical(parse(text, declared)).plan, declared).plan


@pytest.mark.parametrize(("declared", "texts"), CORPORA, ids=["clinic", "hospital"])
def test_written_questions_mean_the_same_over_the_network(
    declared: Callable[[Limits], Catalog], texts: list[str]
) -> None:
    found = declared(TIGHT)
    public = {table.location.table: hospital.REGIONS for table in found.public}
    tables = {**crowd(found), **public}
    engine = Spark(session())
    assert isinstance(engine._session, ConnectSession)
    show(engine._session, found, tables)
    for text in texts[::ONE_OF]:
        plan = planned(text, found)
        meant = reference(found, tables).run(plan, found, SALT)
        assert opened(engine.run(plan, found, SALT)) == opened(meant), text


def test_a_session_over_the_network_is_set_like_any_other() -> None:
    engine = Spark(session())
    assert {name: engine._session.conf.get(name) for name in SETTINGS} == dict(SETTINGS)
    found = engine._session.sql("SELECT '${env:HOME}'").collect()
    assert found[0][0] == "${env:HOME}"
    # the lie: a session as Spark makes it
    assert session().sql("SELECT '${env:HOME}'").collect()[0][0] != "${env:HOME}"


def test_an_error_over_the_network_has_the_same_text() -> None:
    declared = catalog(TIGHT)
    engine = Spark(session())
    with pytest.raises(InvalidValue, match="'visits' has no table with the declared columns"):
        engine.check(declared)
    # there is a table, and its costs are words
    types = ", ".join(f"'SECRET-hiv+' AS {name}" for name in declared.tables[0].schema.names)
    engine._session.sql(f"CREATE OR REPLACE TEMP VIEW {TABLE[0]} AS SELECT {types}").collect()
    with pytest.raises(InvalidValue, match=r"visits\.age is declared as"):
        engine.check(declared)
    with pytest.raises(InternalError, match=r"^The engine failed\.$") as caught:
        engine.run(planned("SELECT SUM(cost) FROM visits", declared), declared, SALT)
    assert "SECRET" in str(caught.value.__cause__)
