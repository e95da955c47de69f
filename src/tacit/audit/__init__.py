"""Audits that look for violations of the privacy guarantee.

An audit runs the same code on a table and on a neighbouring table, compares the inputs of each
mechanism with the declared sensitivity (record and replay), and computes a lower bound on the
privacy loss from many releases.
"""

from tacit.audit.lower_bound import ModelBound

__all__ = ["ModelBound"]
