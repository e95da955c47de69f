"""The choice of the mechanism with the least expected error within a given loss."""

from tacit.choose.noise import Candidate, choose_noise, choose_quantile

__all__ = ["Candidate", "choose_noise", "choose_quantile"]
