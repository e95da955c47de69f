"""Alembic's environment: it runs the migrations on the connection of `tacit.store.store`."""

from alembic import context

from tacit.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
