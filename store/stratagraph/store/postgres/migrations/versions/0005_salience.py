"""Add salience as a SQL function, the mark of episodes that learning has read, and the indexes of forgetting."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_script("0005_salience.sql")
