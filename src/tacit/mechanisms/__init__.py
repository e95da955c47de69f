"""One private recipe a file, and the gateway where a secret meets its draw."""
