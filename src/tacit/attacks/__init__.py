"""What leaks: linkage, differencing, averaging, reconstruction, tracing, membership."""
