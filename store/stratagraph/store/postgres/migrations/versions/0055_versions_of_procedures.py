"""Compare the versions of skills and plans by keyed hashes, so that superseded sealed ones need not be decrypted."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    run_script("0055_versions_of_procedures.sql")
