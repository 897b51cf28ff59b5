"""Tell callers from each other by an identity of their API key, not by its name; store who wrote a lesson's advice."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    run_script("0058_caller_identities.sql")
