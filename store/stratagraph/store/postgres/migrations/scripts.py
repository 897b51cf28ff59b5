"""Migrations are plain SQL beside their Python; this runs one."""

from importlib.resources import files

from alembic import op


def run_script(name: str, **words: str) -> None:
    """Statement by statement: `;` ends one at the end of a line that an empty line follows.

    `{word}` stands for what `words` says, which must be quoted as SQL wants it.
    """
    script = files("stratagraph.store.postgres").joinpath("migrations", "versions", name).read_text(encoding="utf-8")
    for word, meaning in words.items():
        script = script.replace(f"{{{word}}}", meaning)
    for statement in script.split(";\n\n"):
        if statement.strip():
            op.execute(statement.strip().removesuffix(";"))
