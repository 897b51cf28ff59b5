"""Analyse the words of all records again: the language of more short texts is found."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    run_script("0053_languages_of_short_texts.sql")
