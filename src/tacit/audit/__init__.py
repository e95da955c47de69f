"""Audits that look for broken promises: replay on neighbours, lower bounds on the loss.

An audit runs the same code on a table and on its neighbour, compares what reached each
mechanism with the claimed sensitivity, and estimates from releases how much was lost at
least.
"""

from tacit.audit.lower_bound import ModelBound

__all__ = ["ModelBound"]
