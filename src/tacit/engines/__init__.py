"""A bounded plan to a secret table of integers, where the data lives."""
