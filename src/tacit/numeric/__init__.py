"""Exact numbers: fractions, directed rounding, grids, and the one door to randomness."""
