"""One database for charges, releases, states and tokens: SQLite or PostgreSQL, one port."""
