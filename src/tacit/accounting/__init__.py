"""Privacy accounting: the privacy loss of events.

An event describes what a mechanism did (`tacit.core.event`). This package computes the loss of
one event and of several together, converts between pure, approximate and zero-concentrated
differential privacy, calibrates noise to a loss, and explains a loss as the risk of one person.
All results are rounded toward more loss.
"""

from tacit.accounting.convert import (
    KEYS_PART,
    NOISE_PART,
    budget_within,
    epsilon_of_rho,
    least_that,
    rho_within,
    show_loss,
    to_approximate_dp,
    with_epsilon,
)
from tacit.accounting.curves import ball_scale, gaussian_delta, lomax_factor
from tacit.accounting.gaussian_privacy import gaussian_mu, mu_of_square, mu_square
from tacit.accounting.pricing import calibrate, cost_of, delta_at, leaves, loss_of
from tacit.accounting.risk import (
    AttackOdds,
    advantage,
    best_auc,
    exchange,
    in_words,
    odds_of,
    odds_of_event,
    odds_of_mu,
)
from tacit.accounting.trade_off import TradeOff, curve_of_event, curve_of_loss, quick_pairs

__all__ = [
    "KEYS_PART",
    "NOISE_PART",
    "AttackOdds",
    "TradeOff",
    "advantage",
    "ball_scale",
    "best_auc",
    "budget_within",
    "calibrate",
    "cost_of",
    "curve_of_event",
    "curve_of_loss",
    "delta_at",
    "epsilon_of_rho",
    "exchange",
    "gaussian_delta",
    "gaussian_mu",
    "in_words",
    "least_that",
    "leaves",
    "lomax_factor",
    "loss_of",
    "mu_of_square",
    "mu_square",
    "odds_of",
    "odds_of_event",
    "odds_of_mu",
    "quick_pairs",
    "rho_within",
    "show_loss",
    "to_approximate_dp",
    "with_epsilon",
]
