"""Store how far the analysis of older records is, and find names with a typo by their trigrams."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "jobs", "read", "search"))
    schema, path = search_path(connection)
    run_script("0027_text_analysis.sql", schema=schema, search_path=path, **names)
