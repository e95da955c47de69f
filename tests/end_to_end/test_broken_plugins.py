"""Plug-ins that are broken, gone, named twice or hidden inside other models.

An owner can still freeze a population and read its ledger, a guarantee names every plug-in that
a fit used, and an analyst never reads what only the owner may know.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from plugin_pages import installed, write
from test_plugins import project

from tacit.cli.main import main
from tacit.errors import InvalidValue, UnknownName
from tacit.extras import ENGINES, Plugin, find_plugin, maker_of, named_plugins, plugins
from tacit.ml import Pipeline, StandardScaler
from tacit.ml.registry import load_estimators, model_named
from tacit.session.engines import read_project, read_project_unloaded
from tacit.session.project import apply_project, open_project

ENGINE = '"tacit-toy-engine" = "1.0"'
ESTIMATOR = '"tacit-toy-estimator" = "1.0"'
NAMED = {"tacit-toy-estimator": "1.0"}
SAID = "the plug-in tacit-toy-estimator 1.0, which fits the model, keeps the contract"


def applied(tmp_path: Path) -> Path:
    """Return a project whose table a plug-in reads, and whose ledger has its declaration."""
    file = project(tmp_path, ENGINE)
    with installed(write("tacit-toy-engine", tmp_path / "good"), tmp_path / "good site"):
        apply_project(file, by="olga")
    return file


@contextmanager
def gone(tmp_path: Path) -> Iterator[None]:
    """The plug-in was uninstalled."""
    del tmp_path
    yield


@contextmanager
def exits(tmp_path: Path) -> Iterator[None]:
    """The plug-in ends the program when it is imported."""
    change = ("import json", "import json, sys; sys.exit(0)")
    source = write("tacit-toy-engine", tmp_path / "exits", change)
    with installed(source, tmp_path / "exits site"):
        yield


def run(file: Path, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*arguments, "--project", str(file)])
    return done.exit_code, done.output


@pytest.mark.parametrize("state", [gone, exits])
def test_an_owner_can_act_on_the_ledger_without_the_plugin(
    state: object, tmp_path: Path
) -> None:
    file = applied(tmp_path)
    with state(tmp_path):  # type: ignore[operator]
        assert run(file, "freeze", "people", "--as", "olga")[0] == 0
        code, shown = run(file, "status")
        assert code == 0
        assert "an owner has stopped all charges" in shown
        code, shown = run(file, "ledger", "verify")
        assert (code, "people" in shown) == (0, True)
        assert run(file, "token", "list")[0] == 0
        assert "tacit_toy_engine" not in sys.modules


@pytest.mark.parametrize(
    ("state", "told"),
    [(gone, "pip install tacit-toy-engine==1.0"), (exits, "cannot be loaded (SystemExit)")],
)
def test_what_needs_the_engine_says_what_is_wrong_with_it(
    state: object, told: str, tmp_path: Path
) -> None:
    file = applied(tmp_path)
    with state(tmp_path):  # type: ignore[operator]
        for command in (("apply", "--as", "olga"), ("ask", "SELECT COUNT(*) FROM visits")):
            code, shown = run(file, *command)
            assert code != 0
            assert told in " ".join(shown.split())


def test_a_kind_that_nobody_brings_is_refused_without_a_plugin(tmp_path: Path) -> None:
    file = project(tmp_path, "", kind="linse")
    with pytest.raises(InvalidValue, match="must be one of: duckdb"):
        read_project_unloaded(file)


def test_a_guarantee_names_the_plugins_inside_other_models(tmp_path: Path) -> None:
    source = write("tacit-toy-estimator", tmp_path)
    with installed(source, tmp_path / "site"):
        file = project(tmp_path, ESTIMATOR, kind="duckdb")
        apply_project(file, by="olga")
        session = open_project(file, principal="ann")
        from tacit_toy_estimator import ToyMean  # noqa: PLC0415

        scaled = StandardScaler(epsilon=0.5, delta=1e-7, bounds=(0, 100))
        model = Pipeline([("scale", scaled), ("mean", ToyMean(epsilon=1.0, bounds=(-3, 3)))])
        fitted = session.fit(model, dataset="visits", features=["age"])
        assert str(fitted.guarantee_).count(SAID) == 1
        session.close()


def test_a_model_that_refuses_its_settings_is_an_error_of_the_settings(tmp_path: Path) -> None:
    change = ("self.epsilon = epsilon", "self.epsilon = {1: epsilon}[epsilon]")
    with installed(write("tacit-toy-estimator", tmp_path, change), tmp_path / "site"):
        assert model_named("ToyMean", {"epsilon": 1}, plugins=NAMED).epsilon == 1
        with pytest.raises(
            InvalidValue, match=r"cannot be made with these settings \(KeyError"
        ):
            model_named("ToyMean", {"epsilon": 2}, plugins=NAMED)


def test_two_plugins_of_one_name_are_told_to_the_owner_and_to_no_analyst(
    tmp_path: Path,
) -> None:
    both = {**NAMED, "tacit-toy-second": "1.0"}
    source = write("tacit-toy-estimator", tmp_path)
    with installed(source, tmp_path / "site one"), installed(source, tmp_path / "site two"):
        info = next((tmp_path / "site two").glob("*.dist-info"))
        metadata = info / "METADATA"
        metadata.write_text(metadata.read_text().replace("toy-estimator", "toy-second"))
        info.rename(info.with_name("tacit_toy_second-1.0.dist-info"))
        with pytest.raises(InvalidValue, match="'ToyMean' comes from two plug-ins"):
            load_estimators(both)
        assert load_estimators(NAMED) == ("ToyMean",)


def test_an_upgrade_under_a_running_process_is_not_told_to_analysts(tmp_path: Path) -> None:
    source = write("tacit-toy-estimator", tmp_path)
    with installed(source, tmp_path / "site"):
        load_estimators(NAMED)
        metadata = next((tmp_path / "site").glob("*.dist-info/METADATA"))
        metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
        assert model_named("ToyMean", {"epsilon": 2}, plugins=NAMED).epsilon == 2
        with pytest.raises(UnknownName, match="There is no model 'Nothing'") as refused:
            model_named("Nothing", {}, plugins=NAMED)
        assert "tacit-toy" not in str(refused.value)


@pytest.mark.parametrize("lost", ["Name: ", "Version: ", ""])
def test_a_distribution_that_was_half_removed_stops_nothing(lost: str, tmp_path: Path) -> None:
    with installed(write("tacit-toy-engine", tmp_path), tmp_path / "site"):
        metadata = next((tmp_path / "site").glob("*.dist-info/METADATA"))
        kept = [line for line in metadata.read_text().splitlines() if not line.startswith(lost)]
        metadata.write_text("\n".join(kept)) if lost else metadata.unlink()
        assert plugins(ENGINES) == ()
        assert list(named_plugins(ENGINES, {"tacit-toy-engine": "1.0"})) == []
        assert find_plugin(ENGINES, "lines", {"tacit-toy-engine": "1.0"}) is None
        read_project(project(tmp_path, "", kind="duckdb"))


def test_a_plugin_is_named_once(tmp_path: Path) -> None:
    twice = f'"Tacit_Toy.Engine" = "9.9"\n{ENGINE}'
    with pytest.raises(InvalidValue, match="This plug-in is named twice"):
        read_project(project(tmp_path, twice, kind="duckdb"))


def test_a_part_of_a_shared_package_is_named_by_its_own_distribution(tmp_path: Path) -> None:
    (tmp_path / "acme_shared").mkdir()
    for name in ("billing", "engine"):
        (tmp_path / "acme_shared" / f"{name}.py").touch()
        info = tmp_path / f"acme_{name}-3.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: acme-{name}\nVersion: 3.1\n")
        (info / "RECORD").write_text(f"acme_shared/{name}.py,,\nacme_{name}-3.1/METADATA,,\n")
        (info / "top_level.txt").write_text("acme_shared\n")
    sys.path.insert(0, str(tmp_path))
    try:
        inside = type("Engine", (), {"__module__": "acme_shared.engine"})
        outside = type("Engine", (), {"__module__": "acme_shared.nowhere"})
        assert maker_of(inside) == "acme-engine 3.1"
        assert maker_of(outside) == "acme_shared.nowhere.Engine"
        assert maker_of(Plugin) is None
        (tmp_path / "acme_engine-3.1.dist-info" / "METADATA").unlink()
        assert maker_of(inside) != "acme-billing 3.1"
    finally:
        sys.path.remove(str(tmp_path))
