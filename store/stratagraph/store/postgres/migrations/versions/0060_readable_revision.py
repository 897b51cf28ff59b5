"""Let a running service read the revision of the database, so that it notices a newer one."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0060"
down_revision = "0059"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("maintenance",))
    run_script("0060_readable_revision.sql", **names)
