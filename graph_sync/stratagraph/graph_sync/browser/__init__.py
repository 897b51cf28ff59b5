"""What people take along into Neo4j Browser: a style sheet, saved queries, and role statements for Enterprise.

The files are the thing; this module lists, reads and bundles them. How they are used is told in docs/neo4j-browser.md.
The Browser's style sheets know no comments, so what is to be said of style.grass is said here: rules are applied from
top to bottom and the last one wins, so the labels that every node has come first, types next, entity types after them,
and what is past last. A label without a rule would be given one by the Browser, at the end, and win over all others:
hence the rules for :Mirrored and :Memory.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from stratagraph.store.model.errors import Misconfigured

STYLE = "style.grass"
ROLES = "roles.cypher"
QUERIES = "queries"
BUNDLE = "queries.zip"  # what the Browser imports at one go
BUNDLE_FOLDER = "Stratagraph"  # as which it shows them
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of zip files: equal queries make equal bundles
_TITLE = re.compile(r"// (\d\d .+)\n")
_PARAMETER = re.compile(r"^(?:// )?:param (\w+) => (.+?);?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery:
    """One file of `queries/`. `parameters` gives each parameter with an example; for the first file, how to find it."""

    file: str
    title: str
    parameters: dict[str, str]
    text: str


def style_sheet() -> str:
    """Colours, sizes and captions, as Neo4j Browser reads them."""
    return _read(STYLE)


def role_statements() -> tuple[str, ...]:
    """The statements of roles.cypher, each by itself."""
    lines = [line for line in _read(ROLES).splitlines() if not line.startswith("//")]
    return tuple(statement for part in "\n".join(lines).split(";") if (statement := part.strip()))


def saved_queries() -> tuple[SavedQuery, ...]:
    """In the order of their numbers; the first sets the parameters of the others."""
    names = sorted(entry.name for entry in files(__package__).joinpath(QUERIES).iterdir())
    return tuple(_query(name) for name in names if name.endswith(".cypher"))


def write_kit(folder: Path) -> list[Path]:
    """Write everything into `folder`, over what is there of it; returns what to take along, the queries as one bundle.

    Raises Misconfigured where the folder cannot be written.
    """
    queries = saved_queries()
    try:
        (folder / QUERIES).mkdir(parents=True, exist_ok=True)
        for query in queries:
            (folder / QUERIES / query.file).write_text(query.text, encoding="utf-8")
        (folder / STYLE).write_text(style_sheet(), encoding="utf-8")
        (folder / ROLES).write_text(_read(ROLES), encoding="utf-8")
        (folder / BUNDLE).write_bytes(_bundle(queries))
    except OSError as error:
        raise Misconfigured(f"{error.filename or folder}: {error.strerror}") from error
    return [folder / name for name in (STYLE, BUNDLE, QUERIES, ROLES)]


def _query(name: str) -> SavedQuery:
    text = _read(QUERIES, name)
    title = _TITLE.match(text)
    assert title is not None, name
    return SavedQuery(file=name, title=title[1], parameters=dict(_PARAMETER.findall(text)), text=text)


def _bundle(queries: tuple[SavedQuery, ...]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for query in queries:
            bundle.writestr(zipfile.ZipInfo(f"{BUNDLE_FOLDER}/{query.file}", _FIRST_DAY), query.text)
    return packed.getvalue()


def _read(*path: str) -> str:
    return files(__package__).joinpath(*path).read_text(encoding="utf-8")
