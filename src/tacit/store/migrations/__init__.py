"""Migrations of the tables, one file for each, run by Alembic on SQLite and PostgreSQL."""
