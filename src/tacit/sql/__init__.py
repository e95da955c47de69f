"""SQL text to a plan: the only parser; what it does not know, it refuses."""
