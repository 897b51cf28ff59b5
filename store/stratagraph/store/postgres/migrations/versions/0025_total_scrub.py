"""Store how long the last scrub of the mirror took and how much it compared."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    run_script("0025_total_scrub.sql")
