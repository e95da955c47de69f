"""Randomised response and frequency oracles: the client side and the estimator."""
