"""Tacit: a differentially private curator."""
