"""The whole data model of design/decisions.md: tables, keys, constraints and indexes."""

from importlib.resources import files

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    script = files("stratagraph.store").joinpath("migrations", "versions", "0001_foundation.sql")
    for statement in script.read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            op.execute(statement)
