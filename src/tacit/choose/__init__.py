"""The mechanism with the least expected error within a loss."""
