"""Persisted documents: those of a folder, which a request names by their hash instead of sending them.

By the appendix "Persisted Documents" of the GraphQL-over-HTTP specification: `documentId` is `sha256:` and the SHA-256
of the document's UTF-8 bytes, in lower-case hexadecimal, as `sha256sum` prints it for the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from graphql import GraphQLError, GraphQLSchema

from stratagraph.graphql.documents import MAX_TEXT_BYTES, Documents
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import Forbidden, InvalidInput, Misconfigured, RecordNotFound

SUFFIX = ".graphql"
MAX_FILES = 10_000
PREFIX = "sha256:"
_ID = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistedDocuments:
    """Documents by their id. With `is_exclusive`, no other document is executed."""

    by_id: Mapping[str, str] = field(default_factory=dict)
    is_exclusive: bool = False

    @classmethod
    def load(cls, directory: Path, schema: GraphQLSchema, *, is_exclusive: bool) -> Self:
        """Read and check the files `*.graphql` of a directory and those below it.

        Raises Misconfigured, naming the file, for one that cannot be read or is not valid.
        """
        try:
            paths = sorted(path for path in directory.rglob(f"*{SUFFIX}") if path.is_file())
            if not directory.is_dir():
                raise Misconfigured(f"STRATAGRAPH_DOCUMENTS_DIR: {directory} is no directory; create it or correct it.")
            if len(paths) > MAX_FILES:
                raise Misconfigured(
                    f"STRATAGRAPH_DOCUMENTS_DIR: {directory} has {len(paths):,} documents; at most {MAX_FILES:,} are"
                    " allowed, remove old ones."
                )
            found, checker = {}, Documents(schema, max_bytes=0)
            for path in paths:
                text = _text_of(path)
                _check(path, text, checker)
                found[document_id(text)] = text
        except OSError as error:
            raise Misconfigured(
                f"STRATAGRAPH_DOCUMENTS_DIR: {directory} cannot be read ({error.strerror}); correct its rights."
            ) from error
        return cls(by_id=found, is_exclusive=is_exclusive)

    def query_of(self, query: str | None, document_id: str | None) -> str | None:
        """Return the document that a request is about; None where it names none.

        Raises InvalidInput if it names two or has a malformed id, RecordNotFound for an unknown id, and Forbidden for a
        document that is not persisted, where only such documents are executed.
        """
        if document_id is None:
            if self.is_exclusive and query is not None:
                raise Forbidden(
                    "This service executes persisted documents only; send `documentId` instead of `query`.",
                    path=["query"],
                )
            return query
        if query is not None:
            raise InvalidInput("`query` and `documentId` are both given; send one of them.", path=["documentId"])
        if not _ID.match(document_id):
            raise InvalidInput(
                f"`documentId`: {shown(document_id)} is no identifier; send sha256: and 64 hexadecimal digits in lower"
                " case.",
                path=["documentId"],
            )
        found = self.by_id.get(document_id)
        if found is None:
            raise RecordNotFound(
                document_id,
                f"There is no persisted document {document_id}; send the document as `query`, or add it to the"
                " directory STRATAGRAPH_DOCUMENTS_DIR and restart the service.",
                path=["documentId"],
            )
        return found


def document_id(text: str) -> str:
    """Return the id of a document.

    >>> document_id("query ($id: ID!) {\\n  user(id: $id) {\\n    name\\n  }\\n}")[:20]
    'sha256:7dba4bd717b41'
    """
    return PREFIX + hashlib.sha256(text.encode()).hexdigest()


def _text_of(path: Path) -> str:
    data = path.read_bytes()
    if len(data) > MAX_TEXT_BYTES:
        raise Misconfigured(
            f"STRATAGRAPH_DOCUMENTS_DIR: {path} has {len(data):,} bytes; at most {MAX_TEXT_BYTES:,} are allowed."
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Misconfigured(f"STRATAGRAPH_DOCUMENTS_DIR: {path} is not UTF-8; convert it.") from error


def _check(path: Path, text: str, checker: Documents) -> None:
    try:
        errors = checker.errors(text, checker.parsed(text))
    except GraphQLError as error:
        errors = [error]
    if errors:
        raise Misconfigured(
            f"STRATAGRAPH_DOCUMENTS_DIR: {path} is no valid document of this version: {errors[0].message} Correct it or"
            " remove it."
        )
