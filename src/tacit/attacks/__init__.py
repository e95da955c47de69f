"""What a release leaks.

Linkage, differencing, averaging, reconstruction, tracing, membership.
"""
