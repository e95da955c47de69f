"""Exact numbers.

Fractions and directed rounding, fixed-point grids, and the one door to randomness.
"""
