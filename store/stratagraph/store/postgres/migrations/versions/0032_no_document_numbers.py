"""Drop the document numbers of records, which no search uses any more."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    run_script("0032_no_document_numbers.sql")
