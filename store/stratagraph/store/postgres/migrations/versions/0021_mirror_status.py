"""Store when the mirror was last followed and maintained, so that health can tell how old its status is."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    run_script("0021_mirror_status.sql")
