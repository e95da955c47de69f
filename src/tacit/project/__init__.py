"""tacit.toml to catalog, budgets and engines as plain values, and back."""
