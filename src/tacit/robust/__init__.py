"""Robust statistics: smooth sensitivity, quantiles, location, influence functions."""
