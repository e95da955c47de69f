"""Models by name and JSON: what comes back is what was meant, and nothing else is taken."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression as Exact

from tacit.errors import InvalidValue, UnknownName
from tacit.ml.linear_regression import LinearRegression
from tacit.ml.registry import MODELS, model_of, spec_of


@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_from_its_text(name: str) -> None:
    spec = f'{{"model":"{name}","settings":{{}}}}'
    model = model_of(spec)
    assert type(model).__name__ == name
    assert spec_of(model_of(spec_of(model))) == spec_of(model)


def test_a_model_is_known_by_its_class_wherever_that_says_to_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = spec_of(LinearRegression())
    monkeypatch.setattr(LinearRegression, "__module__", "elsewhere")
    assert spec_of(LinearRegression()) == before
    lie = type("LinearRegression", (Exact,), {"__module__": MODELS["LinearRegression"]})
    with pytest.raises(InvalidValue, match="session cannot fit"):
        spec_of(lie())


def test_settings_come_back_as_they_were() -> None:
    model = LinearRegression(epsilon=0.1, bounds=(np.zeros(2), (1, 2.5)), norm=1)
    assert model_of(spec_of(model)).bounds == [[0.0, 0.0], [1, 2.5]]
    assert model_of(spec_of(model)).epsilon == 0.1


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "[]",
        '{"model":"os.system","settings":{"command":"true"}}',
        '{"model":"LinearRegression","settings":{"callback":1}}',
        '{"model":"LinearRegression"}',
        pickle.dumps(LinearRegression()).decode("latin1"),
    ],
)
def test_what_is_no_model_is_refused(spec: str) -> None:
    with pytest.raises((InvalidValue, UnknownName)):
        model_of(spec)


def test_a_model_of_others_or_with_code_in_it_has_no_text() -> None:
    with pytest.raises(InvalidValue, match="session cannot fit"):
        spec_of(Exact())
    with pytest.raises(InvalidValue, match="session cannot fit"):
        spec_of(type("LinearRegression", (LinearRegression,), {})())
    with pytest.raises(InvalidValue, match="a number, text or a list"):
        spec_of(LinearRegression(bounds=print))
    with pytest.raises(ValueError, match="JSON"):
        spec_of(LinearRegression(epsilon=float("nan")))
