"""Add the leases and schedules of background jobs, and the rows that jobs set aside."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "feed", "jobs"))
    run_script("0010_jobs.sql", **names)
