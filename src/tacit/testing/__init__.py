"""The public test kit.

Scripted entropy, neighbours, exact laws and tests that reject the lie.
"""
