"""The `tacit` command: one file a group of commands."""
