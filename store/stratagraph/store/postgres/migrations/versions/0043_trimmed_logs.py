"""Note of runs of learning whether their log is deleted, and keep it in the order in which they are undone."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    run_script("0043_trimmed_logs.sql")
