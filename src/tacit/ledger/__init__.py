"""Budgets, reserve, the hash chain and its verification: everything that ever left."""
