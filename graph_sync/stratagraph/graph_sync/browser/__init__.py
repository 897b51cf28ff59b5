"""The kit for Neo4j Browser: a style sheet, saved queries, and role statements for Enterprise.

This module lists, reads and bundles the files; docs/mirror.md describes their use.

The Browser's style sheets allow no comments, so style.grass is explained here. Rules apply from top to bottom and the
last one wins: first the labels that every node has, then record types, then entity types, and :Past last. The Browser
appends a rule for every label that has none, which would win over all others; hence the rules for :Mirrored and
:Memory.
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
BUNDLE = "queries.zip"  # the file that the Browser imports
BUNDLE_FOLDER = "Stratagraph"  # the folder in which it shows the queries
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can hold, so that equal queries make equal bundles
_TITLE = re.compile(r"// (\d\d .+)\n")
_PARAMETER = re.compile(r"^(?:// )?:param (\w+) => (.+?);?$", re.MULTILINE)
_FOLD = re.compile(r"\n *(?=[^ \n:/])")  # before a line of the first file that continues a parameter's expression


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery:
    """One file of `queries/`. `parameters` maps each parameter to an example; in the first file, to its expression."""

    file: str
    title: str
    parameters: dict[str, str]
    text: str


def style_sheet() -> str:
    """Return the style sheet: colours, sizes and captions, as Neo4j Browser reads them."""
    return _read(STYLE)


def role_statements() -> tuple[str, ...]:
    """Return the statements of roles.cypher, one by one."""
    lines = [line for line in _read(ROLES).splitlines() if not line.startswith("//")]
    return tuple(statement for part in "\n".join(lines).split(";") if (statement := part.strip()))


def saved_queries() -> tuple[SavedQuery, ...]:
    """Return the saved queries in the order of their numbers; the first sets the parameters of the others."""
    names = sorted(entry.name for entry in files(__package__).joinpath(QUERIES).iterdir())
    return tuple(_query(name) for name in names if name.endswith(".cypher"))


def write_kit(folder: Path) -> list[Path]:
    """Write the kit into `folder`, replacing an earlier one; return the paths of its parts.

    Raises Misconfigured if the folder cannot be written.
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
        raise Misconfigured(
            f"The kit cannot be written to {error.filename or folder}: {error.strerror}. Choose a folder that you may"
            " write."
        ) from error
    return [folder / name for name in (STYLE, BUNDLE, QUERIES, ROLES)]


def _query(name: str) -> SavedQuery:
    text = _read(QUERIES, name)
    title = _TITLE.match(text)
    assert title is not None, name
    if "\n:param" in text:  # the Browser reads the expression of a parameter to the end of its line
        text = _FOLD.sub(" ", text)
    return SavedQuery(file=name, title=title[1], parameters=dict(_PARAMETER.findall(text)), text=text)


def _bundle(queries: tuple[SavedQuery, ...]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for query in queries:
            bundle.writestr(zipfile.ZipInfo(f"{BUNDLE_FOLDER}/{query.file}", _FIRST_DAY), query.text)
    return packed.getvalue()


def _read(*path: str) -> str:
    return files(__package__).joinpath(*path).read_text(encoding="utf-8")
