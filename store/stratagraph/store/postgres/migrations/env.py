"""Alembic's entry point: runs the migrations on the connection that `upgrade` passes in the configuration."""

from alembic import context

from stratagraph.store.postgres.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
