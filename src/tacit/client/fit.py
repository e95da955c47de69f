"""Fit over the network: a model goes as its name and settings, and parameters come back."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from tacit.client.paid import Line, paid
from tacit.core.catalog import Catalog
from tacit.core.stored_standing import decode as decode_standing
from tacit.errors import InvalidValue
from tacit.ml.registry import Model, spec_of, taught
from tacit.query.fit_preview import FitPreview
from tacit.query.fit_quote import Fit


def fit(
    wire: Line, catalog: Catalog, model: Model, asked: Fit, request: str | None = None
) -> Model:
    """``model`` with the parameters that a server released, and was charged for."""
    told = sha256(b"tacit request 1\n" + asked.key)
    told.update(repr(catalog).encode())
    release = paid(wire, "/v1/fit", _body(asked), request, told.hexdigest())
    try:
        return taught(model, release, asked.features)
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidValue("What the server told is no model.") from error


def preview(wire: Line, asked: Fit) -> FitPreview:
    """What fitting would cost."""
    told = wire.post("/v1/fit/quote", _body(asked))
    try:
        return FitPreview(decode_standing(told["standing"]), tuple(told["assumptions"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("What the server told is no quote.") from error


def asked_for(model: Any, dataset: str, features: Sequence[str], target: str | None) -> Fit:
    """What is to be fitted, as it is told over the network."""
    return Fit(spec_of(model), dataset, tuple(features), target)


def _body(asked: Fit) -> dict[str, Any]:
    columns = {"features": list(asked.features), "target": asked.target}
    return json.loads(asked.spec) | {"dataset": asked.dataset} | columns  # type: ignore[no-any-return]
