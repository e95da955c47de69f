"""What can be asked of the server: one file a noun."""
