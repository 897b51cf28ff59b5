"""Migrations are plain SQL beside their Python; this runs one."""

from importlib.resources import files

from alembic import op


def run_script(name: str) -> None:
    """Statement by statement: `;` ends one at the end of a line that an empty line follows."""
    script = files("stratagraph.store").joinpath("migrations", "versions", name)
    for statement in script.read_text(encoding="utf-8").split(";\n\n"):
        if statement.strip():
            op.execute(statement.strip().removesuffix(";"))
