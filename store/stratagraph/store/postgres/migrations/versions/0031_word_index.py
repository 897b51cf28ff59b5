"""Add the word index: segments of records and blocks of postings, from which word search is exact at any size."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "feed", "search", "read"))
    schema, path = search_path(connection)
    run_script("0031_word_index.sql", schema=schema, search_path=path, **names)
