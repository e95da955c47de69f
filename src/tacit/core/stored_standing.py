"""Losses and standings as plain values, exactly."""

from typing import Any

from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.standing import Standing
from tacit.errors import InvalidValue
from tacit.numeric.exact import exact, plain

LOSSES = ("cost", "spent", "cap", "total", "promised")


def encode_loss(loss: Loss) -> dict[str, str]:
    """The measure, the amount and the delta of a loss.

    Example:
        >>> encode_loss(Loss.zcdp("0.05"))
        {'measure': 'rho with delta', 'amount': '0.05', 'delta': '0'}
    """
    amount, delta = plain(loss.amount), plain(loss.delta)
    return {"measure": loss.measure.value, "amount": amount, "delta": delta}


def decode_loss(told: dict[str, str]) -> Loss:
    """The loss that was told as ``told``."""
    try:
        measure = Measure(told["measure"])
        return Loss(measure, exact(told["amount"]), exact(told["delta"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("This is not a loss.") from error


def encode(standing: Standing) -> dict[str, Any]:
    """Where a budget stands."""
    losses = {name: encode_loss(getattr(standing, name)) for name in LOSSES}
    return {"population": standing.population, **losses, "more": standing.more}


def decode(told: dict[str, Any]) -> Standing:
    """The standing that was told as ``told``.

    Guarantee: ``decode(encode(standing)) == standing``.
    """
    try:
        losses = {name: decode_loss(told[name]) for name in LOSSES}
        return Standing(told["population"], **losses, more=int(told["more"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("This is not where a budget stands.") from error
