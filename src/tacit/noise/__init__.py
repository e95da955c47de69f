"""Exact integer samplers over an entropy stream; they only draw, and never see a secret."""
