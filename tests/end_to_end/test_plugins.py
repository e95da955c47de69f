"""A toy engine, mechanism and estimator, from their pages alone, in packages outside ``src``.

Each is installed with real entry points, is found only where the project file names it and its
version, keeps its contract, and answers a question. Next to each is a lie.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import plugin_pages
import pytest
from plugin_pages import MOST_FILES, PAGES, ROOT, files_of, installed, write

import tacit
from tacit.core.catalog import Catalog
from tacit.engines.reference import Tables
from tacit.engines.registry import engine_spec
from tacit.errors import CopyMissing, InvalidValue, UnknownName
from tacit.extras import ENGINES, ESTIMATORS, MECHANISMS, plugins
from tacit.ml.registry import model_named
from tacit.session.engines import read_project
from tacit.session.project import apply_project, open_project
from tacit.testing.engine_contract import EngineContract
from tacit.testing.estimator_contract import EstimatorContract
from tacit.testing.mechanism_contract import MechanismContract

TEXT = """\
[plugins]
PLUGINS

[engines.files]
kind = "KIND"
path = "PATH"

[populations.people]
unit = "person"
owners = ["olga"]
budget = { epsilon = 9, delta = "1e-6" }

[datasets.visits]
population = "people"
engine = "files"
epoch = "1"
unit = "person"
max_groups = 1
max_rows = 2
[datasets.visits.columns]
person = "text"
ward = { kind = "text", keys = ["north", "south"], provenance = "public" }
age = { kind = "integer", bounds = [0, 100], provenance = "policy" }
"""
OPENED = 'int(__import__("tacit.core.unseal").core.unseal.unseal(secrets[0])[0])'
"""What a hostile estimator does: it opens a box by itself."""

QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[None]:
    with installed(write("tacit-toy-engine", tmp_path), tmp_path / "site"):
        yield


@pytest.fixture
def mechanism(tmp_path: Path) -> Iterator[None]:
    with installed(write("tacit-toy-mechanism", tmp_path), tmp_path / "site"):
        yield


@pytest.fixture
def estimator(tmp_path: Path) -> Iterator[None]:
    with installed(write("tacit-toy-estimator", tmp_path), tmp_path / "site"):
        yield


def project(tmp_path: Path, named: str, kind: str = "lines") -> Path:
    """Write a project over a table of 200 visits, in lines and in Parquet."""
    rows = [[f"p{number}", "north" if number % 4 else "south", "40"] for number in range(200)]
    lines = [{"person": "text", "ward": "text", "age": "integer"}, *rows]
    (tmp_path / "visits.lines").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    if kind == "duckdb":
        import duckdb  # noqa: PLC0415 - for this one project

        with duckdb.connect(str(tmp_path / "visits.duckdb")) as owner:
            owner.execute("CREATE TABLE visits (person VARCHAR, ward VARCHAR, age BIGINT)")
            owner.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    file = tmp_path / "tacit.toml"
    text = TEXT.replace("PLUGINS", named).replace("KIND", kind)
    file.write_text(text.replace("PATH", "." if kind == "lines" else "visits.duckdb"))
    return file


@pytest.mark.parametrize("name", PAGES)
def test_a_toy_has_few_files_and_its_page_has_all_of_them(name: str) -> None:
    shown = files_of(name)
    assert 2 <= len(shown) <= MOST_FILES[name]
    kept = {
        path.relative_to(ROOT / "examples/plugins" / name).as_posix(): path.read_text("utf-8")
        for path in (ROOT / "examples/plugins" / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shown == kept


# the engine


def lines_over(folder: Path) -> object:
    from tacit_toy_engine import Lines  # type: ignore[import-not-found]  # noqa: PLC0415

    def over(catalog: Catalog, tables: Tables) -> object:
        for table in catalog.tables:
            names = table.schema.names
            kinds = {column.name: column.kind.value for column in table.schema.columns}
            cells = [
                [None if row[name] is None else str(row[name]) for name in names]
                for row in tables[table.location.table]
            ]
            text = "".join(f"{json.dumps(line)}\n" for line in [kinds, *cells])
            (folder / f"{table.location.table[-1]}.lines").write_text(text)
        return Lines(str(folder))

    return over


@pytest.mark.usefixtures("engine")
def test_the_engine_keeps_its_contract(tmp_path: Path) -> None:
    contract = EngineContract(lines_over(tmp_path), one_of=3)  # type: ignore[arg-type]
    assert contract.violations() == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("    def identities", "    def identity"), "has no identities"),
        (("READ[column.kind](cell)", "READ[column.kind](cell.strip())"), "other integers"),
        (
            ('raise InternalError("The engine failed.") from error', "raise"),
            "that is not Tacit's",
        ),
        (
            ('        """Let go of nothing; a second time too."""', "        del self._folder"),
            "",
        ),
    ],
    ids=["no identities", "strips texts", "tells its errors", "closes once"],
)
def test_an_engine_that_breaks_the_contract_is_found(
    change: tuple[str, str], found: str, tmp_path: Path
) -> None:
    with installed(write("tacit-toy-engine", tmp_path, change), tmp_path / "site"):
        contract = EngineContract(lines_over(tmp_path), one_of=6)  # type: ignore[arg-type]
        broken = contract.violations()
    assert broken
    assert any(found in each for each in broken)


@pytest.mark.usefixtures("engine")
def test_the_engine_answers_in_a_project_that_names_it(tmp_path: Path) -> None:
    file = project(tmp_path, '"tacit-toy-engine" = "1.0"')
    told = apply_project(file, by="olga")
    assert any("visits: read by the plug-in tacit-toy-engine 1.0" in str(each) for each in told)
    session = open_project(file, principal="ann")
    answer = session.sql(QUESTION).ask(epsilon=2)
    session.close()
    north, south = answer.columns[1].values
    assert abs(north - 150) < 60
    assert abs(south - 50) < 60
    said = "the plug-in tacit-toy-engine 1.0, which reads visits, keeps the contract"
    assert said in str(answer.guarantee)


@pytest.mark.usefixtures("engine")
def test_the_engine_answers_by_tacit_open(tmp_path: Path) -> None:
    project(tmp_path, "")
    from tacit_toy_engine import Lines  # noqa: PLC0415

    session = tacit.open(
        engine=Lines(str(tmp_path)),
        table="visits",
        population="people",
        unit="person",
        max_groups=1,
        max_rows=2,
        keys={"ward": ["north", "south"]},
        budget=(9, "1e-6"),
        folder=tmp_path / "ledger",
    )
    answer = session.sql(QUESTION).ask(epsilon=2)
    session.close()
    assert abs(answer.columns[1].values[0] - 150) < 60
    assert "the plug-in tacit-toy-engine 1.0, which reads visits" in str(answer.guarantee)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("", r'write below \[plugins\]: "tacit-toy-engine" = "1.0"'),
        ('"tacit-other" = "1.0"', r'write below \[plugins\]: "tacit-toy-engine" = "1.0"'),
        ('"tacit-toy-engine" = "0.9"', r"names the plug-in tacit-toy-engine 0.9, and 1.0 is"),
        ('"tacit-toy-engine" = ">=1"', "one exact version"),
        ('"../tacit" = "1.0"', "Name a plug-in by its distribution"),
    ],
)
def test_an_engine_that_is_not_named_is_not_loaded(
    named: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidValue, match=told):
        read_project(project(tmp_path, named))
    assert "tacit_toy_engine" not in sys.modules


@pytest.mark.usefixtures("engine")
def test_a_plugin_that_the_project_needs_not_is_not_loaded(tmp_path: Path) -> None:
    """It is named, and none of the project's engines is of its kind."""
    read_project(project(tmp_path, '"tacit-toy-engine" = "1.0"', kind="duckdb"))
    assert [each.name for each in plugins(ENGINES)] == ["lines"]
    assert "tacit_toy_engine" not in sys.modules


def test_a_plugin_that_is_not_installed_is_told(tmp_path: Path) -> None:
    file = project(tmp_path, '"tacit-toy-engine" = "1.0"', kind="duckdb")
    apply_project(file, by="olga")
    with pytest.raises(InvalidValue, match=r"pip install tacit-toy-engine==1.0"):
        open_project(file)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("import json", "import json, a_module_that_is_not_there"), "cannot be loaded"),
        (("LINES = EngineSpec(", "LINES = dict(kind="), "cannot be loaded"),
        (('EngineSpec("lines"', 'EngineSpec("other"'), "not an EngineSpec of that kind"),
    ],
)
def test_a_plugin_that_fails_is_an_owners_error(
    change: tuple[str, str], told: str, tmp_path: Path
) -> None:
    with (
        installed(write("tacit-toy-engine", tmp_path, change), tmp_path / "site"),
        pytest.raises(InvalidValue, match=told),
    ):
        read_project(project(tmp_path, '"tacit-toy-engine" = "1.0"'))


def test_no_plugin_takes_the_place_of_an_engine_of_tacits_own(tmp_path: Path) -> None:
    change = ('lines = "tacit_toy_engine:LINES"', 'duckdb = "tacit_toy_engine:LINES"')
    with installed(write("tacit-toy-engine", tmp_path, change), tmp_path / "site"):
        assert engine_spec("duckdb", {"tacit-toy-engine": "1.0"}).maker is None
        assert "tacit_toy_engine" not in sys.modules


@pytest.mark.usefixtures("engine")
def test_a_server_does_not_read_files_of_a_plugin_in_place(tmp_path: Path) -> None:
    file = project(tmp_path, '"tacit-toy-engine" = "1.0"')
    apply_project(file, by="olga")
    with pytest.raises(CopyMissing, match="no copy can be made in an engine of kind lines"):
        open_project(file, tell=lambda _: None)
    text = file.read_text().replace("max_rows = 2", "max_rows = 2\nin_place = true")
    file.write_text(text)
    with pytest.raises(InvalidValue, match="whose tables are not served in place"):
        read_project(file)


def test_an_object_that_is_no_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="object is not an engine: it lacks dialect, run"):
        tacit.open(
            engine=object(),  # type: ignore[arg-type]
            table="visits",
            population="people",
            unit="person",
            max_groups=1,
            max_rows=1,
            folder=tmp_path / "ledger",
        )
    assert not (tmp_path / "ledger").exists()


# the mechanism


@pytest.mark.usefixtures("mechanism")
def test_the_mechanism_keeps_its_contract_and_releases() -> None:
    page = files_of("tacit-toy-mechanism")["tacit_toy_mechanism/page.md"]
    contract = MechanismContract.of_plugin("ToyRounded", page)
    assert contract.violations() == []
    drawn = contract.example.sample(contract.example.mechanism, (100,), 10)
    assert set((drawn % 3).reshape(-1).tolist()) == {0}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            ("Laplace(self.scale).release", "Laplace(self.scale / 2).release"),
            "do not have the law",
        ),
        (("Laplace(self.scale).event(", "Laplace(2 * self.scale).event("), "loses more"),
        (("Laplace(self.scale).error(confidence)", "Fraction(0)"), "is exceeded too often"),
        (("**Proof.**", "Trust us."), r"no part **Proof.**"),
    ],
)
def test_a_mechanism_that_breaks_the_contract_is_found(
    change: tuple[str, str], found: str, tmp_path: Path
) -> None:
    source = write("tacit-toy-mechanism", tmp_path, change)
    with installed(source, tmp_path / "site"):
        page = (source / "tacit_toy_mechanism/page.md").read_text()
        broken = MechanismContract.of_plugin("ToyRounded", page).violations()
    assert any(found in each for each in broken)


@pytest.mark.usefixtures("mechanism")
def test_no_session_chooses_a_mechanism_of_a_plugin(tmp_path: Path) -> None:
    assert [each.name for each in plugins(MECHANISMS)] == ["ToyRounded"]
    file = project(tmp_path, '"tacit-toy-mechanism" = "1.0"', kind="duckdb")
    apply_project(file, by="olga")
    session = open_project(file, principal="ann")
    answer = session.sql(QUESTION).ask(epsilon=1)
    session.close()
    assert "plug-in" not in str(answer.guarantee)
    assert "tacit_toy_mechanism" not in sys.modules


# the estimator


def contract_of(*, epsilon: float = 4.0) -> EstimatorContract:
    from tacit_toy_estimator import ToyMean  # type: ignore[import-not-found]  # noqa: PLC0415

    return EstimatorContract(
        lambda: ToyMean(epsilon=epsilon, delta=1e-5, bounds=(0, 1)),
        np.zeros((20, 1)),
        (1.0,),
        lambda model: float(model.mean_),
        fits=60,
    )


@pytest.mark.usefixtures("estimator")
def test_the_estimator_keeps_its_contract() -> None:
    assert contract_of().violations() == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            ("row_square=2 * axis.reach**2", "row_square=axis.reach // 99"),
            "distinguishes neighbours",
        ),
        (("event_of([self._sums(training)]", "event_of([]"), "makes 1 releases, and its event"),
        (
            ('Parameter.of("mean_", float(', f'Parameter.of("mean_", {OPENED} + float('),
            "not computed from releases only",
        ),
    ],
    ids=["too little noise", "an event too few", "a value of its own"],
)
def test_an_estimator_that_breaks_the_contract_is_found(
    change: tuple[str, str], found: str, tmp_path: Path
) -> None:
    with installed(write("tacit-toy-estimator", tmp_path, change), tmp_path / "site"):
        broken = list(contract_of().released_otherwise())
    assert any(found in each for each in broken)


def test_a_canary_shows_an_estimator_with_too_little_noise(tmp_path: Path) -> None:
    change = ("row_square=2 * axis.reach**2", "row_square=axis.reach**2 // 2000")
    with installed(write("tacit-toy-estimator", tmp_path, change), tmp_path / "site"):
        assert list(contract_of(epsilon=1.0).shown_by_canary())


@pytest.mark.usefixtures("estimator")
def test_the_estimator_is_fitted_in_a_project_that_names_it(tmp_path: Path) -> None:
    file = project(tmp_path, '"tacit-toy-estimator" = "1.0"', kind="duckdb")
    apply_project(file, by="olga")
    session = open_project(file, principal="ann")
    from tacit_toy_estimator import ToyMean  # noqa: PLC0415

    model = session.fit(
        ToyMean(epsilon=4.0, bounds=(0, 100)), dataset="visits", features=["age"]
    )
    session.close()
    assert abs(model.mean_ - 40) < 10
    said = "the plug-in tacit-toy-estimator 1.0, which fits the model, keeps the contract"
    assert said in str(model.guarantee_)


@pytest.mark.usefixtures("estimator")
def test_an_estimator_that_is_not_named_is_not_fitted(tmp_path: Path) -> None:
    file = project(tmp_path, "", kind="duckdb")
    apply_project(file, by="olga")
    session = open_project(file, principal="ann")
    from tacit_toy_estimator import ToyMean  # noqa: PLC0415

    with pytest.raises(InvalidValue, match="A session cannot fit a ToyMean"):
        session.fit(ToyMean(epsilon=4.0, bounds=(0, 100)), dataset="visits", features=["age"])
    session.close()


@pytest.mark.usefixtures("estimator")
def test_an_analyst_loads_nothing_by_a_name() -> None:
    """What a server is sent is a name: it tells neither what is installed, nor loads it."""
    with pytest.raises(UnknownName, match="There is no model 'ToyMean'; there are") as refused:
        model_named("ToyMean", {})
    assert "tacit-toy" not in str(refused.value)
    assert "tacit_toy_estimator" not in sys.modules
    made = model_named("ToyMean", {"epsilon": 2}, plugins={"tacit-toy-estimator": "1.0"})
    assert made.plugin == "tacit-toy-estimator 1.0"


def test_an_estimator_cannot_take_the_name_of_tacits_own(tmp_path: Path) -> None:
    change = (
        'ToyMean = "tacit_toy_estimator:ToyMean"',
        'KMeans = "tacit_toy_estimator:ToyMean"',
    )
    with installed(write("tacit-toy-estimator", tmp_path, change), tmp_path / "site"):
        assert [each.name for each in plugins(ESTIMATORS)] == ["KMeans"]
        named = {"tacit-toy-estimator": "1.0"}
        assert type(model_named("KMeans", {}, plugins=named)).__module__ == "tacit.ml.k_means"
        file = project(tmp_path, '"tacit-toy-estimator" = "1.0"', kind="duckdb")
        apply_project(file, by="olga")
        with pytest.raises(
            InvalidValue, match="called 'KMeans', which is the name of one of Tacit's"
        ):
            open_project(file)


def test_the_pages_are_the_three_that_are_walked() -> None:
    assert set(plugin_pages.PAGES) == set(MOST_FILES)
