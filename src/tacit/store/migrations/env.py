"""What Alembic runs: the steps, on the connection that `tacit.store.store` hands over."""

from alembic import context

from tacit.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
