"""Periodic publications and surveys."""
