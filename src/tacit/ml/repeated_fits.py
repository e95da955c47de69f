"""Warn where scikit-learn fits a private model many times to the same arrays.

A fit over arrays has no ledger, so that nobody adds the losses of several fits. A
``GridSearchCV`` with 6 settings and 5 folds makes 31 fits, computes exact scores on the rows
that each fit left out, and chooses by them; the guarantee of the best model would state the
loss of one fit. A fit looks at who called it, because scikit-learn tells an estimator nothing
about the search around it. This also works in the worker processes of ``n_jobs``.
"""

import warnings
from collections.abc import Iterator
from inspect import currentframe

SEARCH = "sklearn.model_selection._search"
CALLERS = {
    SEARCH: "a search such as GridSearchCV",
    "sklearn.model_selection._validation": "a cross-validation",
    "sklearn.model_selection._plot": "a learning curve",
    "sklearn.ensemble": "an ensemble",
    "sklearn.calibration": "a calibration",
    "sklearn.feature_selection": "a selection of features",
    "sklearn.multiclass": "a classifier of several classes",
    "sklearn.multioutput": "a model of several targets",
}
"""Modules of scikit-learn that fit an estimator several times, and what they do."""

ONE_FIT = (
    "these rows are fitted once: there is no ledger over arrays, so that nobody adds up the "
    "losses of repeated fits"
)
"""The assumption of a fit over arrays, in a guarantee."""


class RepeatedFitWarning(UserWarning):
    """A private model is fitted many times, and nobody adds up the losses.

    The warning comes from a fit over arrays inside a search or a cross-validation of
    scikit-learn. A session charges every fit of a `tacit.ml.ModelSearch` or
    `tacit.ml.CrossValidation`.
    """


def warn_of_repeats() -> str | None:
    """Warn if scikit-learn is fitting many times, and return the assumption that fails.

    The result is None if no such module is among the callers.

    Example:
        >>> warn_of_repeats() is None
        True
    """
    found = [CALLERS[name] for name in _calling_modules()]
    if not found:
        return None
    # the outermost caller is the one that the user called
    who = found[-1]
    warnings.warn(
        f"{who[0].upper()}{who[1:]} of scikit-learn fits this private model many times, and "
        "computes exact scores on the rows that are left out. Over arrays, nobody adds up the "
        "losses: the guarantee of each model states the loss of one fit. Use "
        "tacit.ml.ModelSearch to choose among settings, or tacit.ml.CrossValidation for "
        "scores, which count every fit; a session also charges them.",
        RepeatedFitWarning,
        stacklevel=2,
    )
    return (
        f"nothing is learned from {who} of scikit-learn around this fit: its other fits, its "
        "scores and its choice are not covered"
    )


def _calling_modules() -> Iterator[str]:
    """Yield the entries of `CALLERS` among the modules that are now on the stack."""
    frame = currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        for name in CALLERS:
            if module == name or module.startswith(f"{name}."):
                yield name
        frame = frame.f_back
