"""Continual release: one reserved horizon, one release a step."""
