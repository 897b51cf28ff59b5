"""Salience in SQL, what learning has read, and indexes by which forgetting finds its way."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_script("0005_salience.sql")
