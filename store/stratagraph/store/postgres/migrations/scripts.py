"""Running the SQL script of a migration, which lies beside its Python module."""

from importlib.resources import files

from alembic import op


def run_script(name: str, **words: str) -> None:
    """Execute the statements of the SQL file `name` in `versions/`, in the migration's transaction.

    A statement ends with `;` at the end of a line that an empty line follows. Each `{word}` in the file is replaced by
    the argument of that name, which must already be quoted as SQL.
    """
    script = files("stratagraph.store.postgres").joinpath("migrations", "versions", name).read_text(encoding="utf-8")
    for word, meaning in words.items():
        script = script.replace(f"{{{word}}}", meaning)
    for statement in script.split(";\n\n"):
        if statement.strip():
            op.execute(statement.strip().removesuffix(";"))
