"""Parsing and validation of documents within bounds, with a cache of those that are valid."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    parse,
    specified_rules,
    validate,
)
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from stratagraph.graphql.document_bounds import check_bounds
from stratagraph.store.model.error_values import shown

MAX_TEXT_BYTES = 64 << 10  # of a document; large values are sent as variables
MAX_LINES = 5_000  # of a document: each location in an error is found by counting lines
MAX_TOKENS = 2_000
MAX_ERRORS = 10  # reported of one document
CACHE_BYTES = 16 << 20  # of parsed documents, by estimate
# A parsed document holds at most about 560 bytes per token, most of them for `{a a a …`, beside its text and the values
# of its strings (measured with tracemalloc on CPython 3.11).
_BYTES_PER_TOKEN = 700
_RULES = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)


class Documents:
    """Parses and validates documents against one schema.

    Valid documents are cached by their text, least recently used ones being dropped over `max_bytes`. Invalid ones are
    not cached, so a client cannot displace the documents of others with texts that cost it nothing to invent.
    """

    def __init__(self, schema: GraphQLSchema, *, max_bytes: int = CACHE_BYTES) -> None:
        self._schema = schema
        self._max_bytes = max_bytes
        self._cached: OrderedDict[str, tuple[DocumentNode, int]] = OrderedDict()
        self.cached_bytes = 0  # by estimate

    def parsed(self, text: str) -> DocumentNode:
        """Return the parsed document. Raises GraphQLError if it is malformed or over a limit."""
        cached = self._cached.get(text)
        if cached is not None:
            self._cached.move_to_end(text)
            return cached[0]
        _check_text(text)
        document = parse(text, max_tokens=MAX_TOKENS)
        check_bounds(document)
        return document

    def errors(self, text: str, document: DocumentNode) -> list[GraphQLError]:
        """Validate the document of `text`; return up to MAX_ERRORS errors, and a note where there are more."""
        if self._cached.get(text, (None, 0))[0] is document:
            return []
        errors = validate(self._schema, document, _RULES, max_errors=MAX_ERRORS)
        if not errors:
            self._keep(text, document)
        return errors

    def _keep(self, text: str, document: DocumentNode) -> None:
        if text in self._cached:
            return
        size = _BYTES_PER_TOKEN * document.token_count + 3 * sys.getsizeof(text)
        self._cached[text] = (document, size)
        self.cached_bytes += size
        while self.cached_bytes > self._max_bytes:
            _, (_, dropped) = self._cached.popitem(last=False)
            self.cached_bytes -= dropped


class BoundedDocuments(SchemaExtension):
    """Has `documents` parse and validate the operation's document, in place of Strawberry's own steps."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def on_parse(self) -> Iterator[None]:
        context = self.execution_context
        assert context.query is not None
        context.graphql_document = self._documents.parsed(context.query)
        # `context.operation_name` is the first operation's where the request names none, also if there are several.
        check_operation(context.graphql_document, context._provided_operation_name)
        yield

    def on_validate(self) -> Iterator[None]:
        context = self.execution_context
        assert context.query is not None
        assert context.graphql_document is not None
        context.pre_execution_errors = self._documents.errors(context.query, context.graphql_document)
        yield


class NoSuchOperation(CannotGetOperationTypeError):
    """`operationName` does not name an operation of the document."""

    def __init__(self, message: str) -> None:
        super().__init__(None)
        self._message = message

    def as_http_error_reason(self) -> str:
        return self._message


def check_operation(document: DocumentNode, name: str | None) -> None:
    """Raise NoSuchOperation, which says what to send, where it is not clear which operation to execute."""
    operations = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    if not operations:
        raise NoSuchOperation("The document has no operation; add a query or a mutation.")
    if name is None:
        if len(operations) > 1:
            raise NoSuchOperation(f"The document has {len(operations)} operations; name one as `operationName`.")
    elif name not in {one.name.value for one in operations if one.name is not None}:
        raise NoSuchOperation(f"The document has no operation named {shown(name)}; correct `operationName`.")


def _check_text(text: str) -> None:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise GraphQLError(
            f"The document has {size:,} bytes; at most {MAX_TEXT_BYTES:,} are allowed. Send large values as variables."
        )
    lines = text.count("\n") + text.count("\r")
    if lines > MAX_LINES:
        raise GraphQLError(f"The document has over {MAX_LINES:,} lines; remove empty ones and comments.")
