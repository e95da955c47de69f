"""Below the line in a child process: what it is asked is a question, or a fit."""

from fractions import Fraction
from typing import Any

from tacit.core.catalog import Catalog
from tacit.core.measure import Measure
from tacit.ml.registry import NO_PLUGINS, Plugins, model_of
from tacit.query.fit_quote import Fit, price_fit
from tacit.query.paid_work import QuoteWork
from tacit.query.worker import read_question, work_of


def read_work(
    request: dict[str, Any], catalog: Catalog, plugins: Plugins = NO_PLUGINS
) -> QuoteWork:
    """The work of what was paid for; a fit is priced again, as questions are.

    Its model comes as a name and settings, and no code crosses a process.
    """
    if "fit" not in request:
        return read_question(request, catalog)
    told, (measure, delta) = request["fit"], request["measure"]
    fit = Fit(told["spec"], told["dataset"], tuple(told["features"]), told["target"])
    quote = price_fit(
        fit, model_of(fit.spec, plugins), catalog, Measure(measure), Fraction(delta)
    )
    return work_of(request, quote, catalog)
