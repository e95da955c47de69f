"""Choice of the mechanism with the smallest expected error within a given privacy loss.

`choose_noise` chooses the noise for a vector of numbers and `choose_quantile` the parameters of
a quantile. `split_loss` divides a loss among the tables of a CUBE. `tacit.choose.keys` chooses
a key selection.
"""

from tacit.choose.marginals import split_loss, tables_to_measure
from tacit.choose.noise import Candidate, choose_noise, choose_quantile, gaussian_in_rho

__all__ = [
    "Candidate",
    "choose_noise",
    "choose_quantile",
    "gaussian_in_rho",
    "split_loss",
    "tables_to_measure",
]
