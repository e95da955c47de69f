"""How the tables came to be, one step a file, run by Alembic on either database."""
