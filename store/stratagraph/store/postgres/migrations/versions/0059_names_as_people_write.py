"""Compare names as people write them, and bound the pairs to be decided on of one writer."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    run_script("0059_names_as_people_write.sql")
