"""The names and texts that people type and read stay as they were pinned.

Each file under ``golden/surface`` is written anew by ``TACIT_GOLDEN=1``; read what changed
before it is kept. No file holds the path of a module, since modules may move.
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import Any, get_args, get_origin

import click
import pytest
from click.testing import CliRunner
from serving import make_project
from sklearn.pipeline import Pipeline as Steps

import tacit
from tacit import errors
from tacit.cli.main import main
from tacit.core.domain import Bounds, Provenance
from tacit.errors import TacitError
from tacit.ml.registry import MODELS, model_named, spec_of
from tacit.query.quote import Fit
from tacit.server.app import make_app
from tacit.server.refusal import _code, refusal_of
from tacit.session.project import curator_of

WIDTH = 80
INSIDES = {"Event", "Grid", "Ledger", "States", "Step"}
"""What a session hands to operators, and no analyst names."""


def public_api() -> str:
    """The public names, and the classes that they hand out: signatures, fields, methods."""
    found = {name: getattr(tacit, name) for name in tacit.__all__}
    handed = {told.__name__: told for part in found.values() for told in _handed_out(part)}
    further = {told.__name__: told for part in handed.values() for told in _handed_out(part)}
    for name in sorted((handed | further).keys() - found.keys() - INSIDES):
        found[name] = (handed | further)[name]
    return "\n\n".join(described(name, part) for name, part in found.items())


def described(name: str, part: Any) -> str:
    """A function or a class, without the module that it stands in."""
    if inspect.ismodule(part):
        return f"{name}: {', '.join(part.__all__)}"
    if not inspect.isclass(part):
        return name + _signature(part)
    above = ", ".join(kind.__name__ for kind in part.__bases__)
    lines = [f"class {name}({above})"]
    if issubclass(part, Enum):
        return "\n".join([*lines, *(f"    {each.name} = {each.value!r}" for each in part)])
    if not issubclass(part, Exception):
        lines[0] += f" = {_signature(part)}"
    if is_dataclass(part):
        lines.append(f"    fields: {', '.join(field.name for field in fields(part))}")
    lines += [f"    {told}" for told in _members(part)]
    return "\n".join(lines)


def _members(part: type) -> Iterator[str]:
    for name, member in sorted(inspect.getmembers_static(part)):
        if name.startswith("_") or _of_python(part, name):
            continue
        if isinstance(member, property):
            yield f"{name} -> {_type(inspect.signature(member.fget).return_annotation)}"
        elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
            yield name + _signature(getattr(part, name))


def _of_python(part: type, name: str) -> bool:
    return any(name in vars(kind) for kind in (Exception, BaseException) if kind in part.mro())


def _handed_out(part: Any) -> Iterator[type]:
    """The classes of ours that a function or the methods of a class return."""
    if inspect.isclass(part) and part.__name__ in INSIDES:
        return
    members = [part] if not inspect.isclass(part) else vars(part).values()
    for member in members:
        call = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if inspect.isfunction(call) and not call.__name__.startswith("_"):
            told = call.__annotations__.get("return")
            kinds = (told, get_origin(told), *get_args(told))
            yield from (k for k in kinds if inspect.isclass(k) and k.__module__[:5] == "tacit")


def _signature(call: Any) -> str:
    told = inspect.signature(call)
    parts, star = list[str](), False
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    for each in told.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or each.kind in {each.KEYWORD_ONLY, each.VAR_POSITIONAL}
        said = marks.get(each.kind, "") + each.name
        said += f": {_type(each.annotation)}" if each.annotation is not each.empty else ""
        said += f" = {_value(each.default)}" if each.default is not each.empty else ""
        parts.append(said)
    return f"({', '.join(parts)}) -> {_type(told.return_annotation)}"


def _type(kind: Any) -> str:
    """An annotation, by the names of its classes alone."""
    if kind in {None, NoneType, inspect.Signature.empty}:
        return "None"
    if isinstance(kind, str):
        return kind
    if kind is Ellipsis:
        return "..."
    told = [
        f"[{', '.join(map(_type, part))}]" if isinstance(part, list) else _type(part)
        for part in get_args(kind)
    ]
    name = getattr(get_origin(kind) or kind, "__name__", None) or str(kind)
    if name in {"Union", "UnionType"}:
        return " | ".join(told)
    return f"{name}[{', '.join(told)}]" if told else name


def _value(value: object) -> str:
    """A default; of those that differ from machine to machine, that there is one."""
    if isinstance(value, Enum):
        return str(value)
    plain = value is None or isinstance(value, int | float | str | bytes | Fraction | tuple)
    return repr(value) if plain or is_dataclass(value) else "..."


def help_text() -> str:
    """What ``--help`` says of every command, at one width."""
    return "\n".join(_helped(main, ()))


def _helped(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    run = CliRunner().invoke(
        main,
        [*path, "--help"],
        prog_name="tacit",
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    assert run.exit_code == 0, run.output
    yield f"$ {' '.join(('tacit', *path, '--help'))}\n{run.output}"
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _helped(command.commands[name], (*path, name))


def error_codes() -> str:
    """The code of every error, and the status and the code that a server tells of it."""
    kinds = [part for _, part in inspect.getmembers(errors, inspect.isclass)]
    found = [kind.__new__(kind) for kind in kinds if issubclass(kind, TacitError)]
    told = [(error, refusal_of(error)) for error in found]
    return "\n".join(
        f"{type(error).__name__} {_code(error)}: {refusal.status} {refusal.told.code}"
        for error, refusal in told
    )


LINES = [([1.0, 1.0], -20.0), ([1.0, 1.0], -60.0)]
CHANGED: dict[str, dict[str, Any]] = {
    "ClassifierChoice": {"candidates": LINES, "bounds": [0, [1, 2]], "classes": ["a", "b"]},
    "CrossValidation": {"model": {"model": "PCA", "settings": {}}, "folds": 3},
    "GaussianNB": {"epsilon": 0.5, "delta": 0.0, "classes": [0, 1, 2]},
    "HuberRegression": {"solver": "newton", "turn": 2, "scales": [1, 2.5]},
    "KMeans": {"n_clusters": 3, "norm": 1.5},
    "LinearRegression": {"bounds": [[0, 0], [1, 2.5]], "fit_intercept": False},
    "LinearSVC": {"epsilon": 2, "iterations": 7},
    "LogisticRegression": {"epsilon": 2, "iterations": 7, "bounds": [-3, 3]},
    "ModelSearch": {"candidates": [{"model": "KMeans", "settings": {}}], "folds": 2},
    "OutputPerturbation": {"loss": "huber", "penalty": 10.0},
    "PCA": {"n_components": 1, "centred": False},
    "Pipeline": {"parts": [["scale", {"model": "StandardScaler", "settings": {}}]]},
    "QuantileRegression": {"quantile": 0.9, "smoothing": 0.25},
    "StandardScaler": {"bounds": [[0, 1], [2, 3]]},
}


def models() -> str:
    """The text of every model, as it is and with other settings, and the keys of fits."""
    made = [model_named(name, told) for name in MODELS for told in ({}, CHANGED[name])]
    made.append(Steps([("scale", model_named("StandardScaler", {}))]))
    lines = []
    for spec in map(spec_of, made):
        fits = Fit(spec, "visits", ("age", "pay"), "cost"), Fit(spec, "visits", ("age",), None)
        lines += [spec, *(f"    {fit.key.hex()}" for fit in fits)]
    return "\n".join(lines)


def openapi() -> str:
    """The server's interface for machines; the version of the package is left out."""
    with TemporaryDirectory() as place:
        file = make_project(Path(place) / "project")
        with closing(curator_of(file, "the server", {})) as curator:
            told = make_app(curator).openapi()
    told["info"].pop("version")
    return json.dumps(told, indent=1, sort_keys=True)


SURFACES: dict[str, Callable[[], str]] = {
    "public_api.txt": public_api,
    "help.txt": help_text,
    "error_codes.txt": error_codes,
    "models.txt": models,
    "openapi.json": openapi,
}


@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_is_the_one_that_was_pinned(name: str, pinned: Any) -> None:
    pinned.check(name, SURFACES[name])


def test_no_file_names_a_module(pinned: Any) -> None:
    modules = [name for name in sys.modules if name.startswith("tacit.")]
    assert "tacit.core.domain" in modules
    for path in (Path(__file__).parent / "golden" / "surface").iterdir():
        assert not [name for name in modules if name in pinned.text(path.name)]


def test_every_model_has_changed_settings() -> None:
    assert CHANGED.keys() == MODELS.keys()


def test_a_renamed_field_and_another_default_of_a_public_class_are_noticed(pinned: Any) -> None:
    @dataclass
    class Renamed:
        low: Fraction
        upper: Fraction
        provenance: Provenance = Provenance.PUBLIC

    @dataclass
    class Another:
        lower: Fraction
        upper: Fraction
        provenance: Provenance = Provenance.POLICY

    told = described("Bounds", Bounds)
    assert told in pinned.text("public_api.txt")
    for lie in (Renamed, Another):
        assert not set(described("Bounds", lie).splitlines()) <= set(told.splitlines())


def test_a_renamed_command_and_option_are_noticed(
    pinned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lie:
        lie.setitem(main.commands, "question", main.commands["ask"])
        lie.delitem(main.commands, "ask")
        assert "+$ tacit question --help" in pinned.changes("help.txt", help_text())
    option = next(each for each in main.commands["demo"].params if each.name == "folder")
    monkeypatch.setattr(option, "opts", ["--place"])
    assert "+  --place" in pinned.changes("help.txt", help_text())


def test_a_renamed_error_is_noticed(pinned: Any) -> None:
    errors.KeyReused.__name__ = "KeyUsedTwice"
    try:
        told = pinned.changes("error_codes.txt", error_codes())
    finally:
        errors.KeyReused.__name__ = "KeyReused"
    assert "+KeyUsedTwice key_used_twice" in told


def test_another_setting_and_another_default_of_a_model_are_noticed(
    pinned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = pinned.text("models.txt").splitlines()
    assert spec_of(model_named("KMeans", {})) in lines
    assert spec_of(model_named("KMeans", {"n_clusters": 9})) not in lines
    made = type(model_named("KMeans", {}))
    monkeypatch.setattr(made.__init__, "__defaults__", (9,))
    assert spec_of(model_named("KMeans", {})) not in lines


def test_a_renamed_route_is_noticed(pinned: Any) -> None:
    told = json.loads(pinned.text("openapi.json"))
    told["paths"]["/v1/question"] = told["paths"].pop("/v1/ask")
    lie = json.dumps(told, indent=1, sort_keys=True)
    assert '+  "/v1/question": {' in pinned.changes("openapi.json", lie)
