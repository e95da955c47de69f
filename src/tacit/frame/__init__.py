"""Method calls to the same plan that SQL makes."""
