"""Below the line in a child process: what it is asked is a question, or a fit."""

from fractions import Fraction
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.measure import Measure
from tacit.core.stored_release import encode
from tacit.engines.engine import Engine
from tacit.ml.registry import model_of
from tacit.query.fit import run_fit
from tacit.query.fit_quote import Fit, price_fit
from tacit.query.run import released_by
from tacit.query.worker import answer_question


def answer(request: dict[str, Any], engine: Engine, catalog: Catalog) -> bytes:
    """The bytes of the release of what was paid for; a fit is priced again, as questions are.

    Its model comes as a name and settings, and no code crosses a process.
    """
    if "fit" not in request:
        return answer_question(request, engine, catalog)
    told, (measure, delta) = request["fit"], request["measure"]
    fit = Fit(told["spec"], told["dataset"], tuple(told["features"]), told["target"])
    model = model_of(fit.spec)
    quote = price_fit(fit, model, catalog, Measure(measure), Fraction(delta))
    salt, receipt = bytes.fromhex(request["salt"]), bytes.fromhex(request["receipt"])
    columns = run_fit(quote, engine, catalog, salt, receipt)
    return encode(released_by(quote, columns, receipt, request["noted"]))
