"""Attacks on releases, with and without noise: what an attacker learns, measured.

Linkage, differencing, averaging, reconstruction, tracing and membership inference run on
exact answers and on answers of Tacit, so that an owner sees both side by side. Only owners
run them.
"""

__all__ = []
