"""Surveys in the local model: browsers randomise answers before they are sent."""
