"""Running the SQL script of a migration, which lies beside its Python module."""

from importlib.resources import files

from alembic import op
from sqlalchemy import Connection, text

# By extension, an expression that calls a function of its library, with the extension's schema as a word.
_LIBRARY_CALLS = {"vector": "CAST('[0]' AS {schema}.vector)", "pg_trgm": "{schema}.show_limit()"}


def run_script(name: str, **words: str) -> None:
    """Execute the statements of the SQL file `name` in `versions/`, in the migration's transaction.

    A statement ends with `;` at the end of a line that an empty line follows. Each `{word}` in the file is replaced by
    the argument of that name, which must already be quoted as SQL.
    """
    _load_libraries(op.get_bind())
    script = files("stratagraph.store.postgres").joinpath("migrations", "versions", name).read_text(encoding="utf-8")
    for word, meaning in words.items():
        script = script.replace(f"{{{word}}}", meaning)
    for statement in script.split(";\n\n"):
        if statement.strip():
            op.execute(statement.strip().removesuffix(";"))


def _load_libraries(connection: Connection) -> None:
    """Load the libraries of the installed extensions that have settings.

    A login that is no superuser may set these, as a function's, only in a session that has loaded the library, and the
    session of an upgrade may begin with any migration. It may not use LOAD, so a function of the library is called.
    """
    installed = connection.execute(
        text(
            "SELECT e.extname, quote_ident(n.nspname) AS schema FROM pg_extension e"
            " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = ANY(:names)"
        ),
        {"names": list(_LIBRARY_CALLS)},
    )
    for extension in installed.all():
        connection.execute(text(f"SELECT {_LIBRARY_CALLS[extension.extname].format(schema=extension.schema)}"))
