"""Generates the operations of the client from `clients/operations`, and the sync client from the async one.

    make clients

A result of the API is a union of a success and of errors. The client raises errors, so the models are generated from a
schema in which such a result is its success alone; what is sent is the document as it is written.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import unasync
from ariadne_codegen.plugins.base import Plugin
from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    NamedTypeNode,
    NameNode,
    Node,
    ObjectTypeDefinitionNode,
    OperationDefinitionNode,
    UnionTypeDefinitionNode,
    Visitor,
    parse,
    print_ast,
    visit,
)

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parent
BUILD = HERE / "build" / "generate"
PACKAGE = HERE / "stratagraph_client"
ERROR = "MemoryError"


def main() -> None:
    """Write `operations`, `_async/operations.py` and `_sync` of the package anew."""
    documents = parse("\n".join(path.read_text() for path in sorted((CLIENTS / "operations").glob("*.graphql"))))
    schema = parse((CLIENTS.parent / "schema.graphql").read_text())
    errors = _errors(schema)
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    (BUILD / "schema.graphql").write_text(print_ast(_without_errors(schema, errors)))
    (BUILD / "operations.graphql").write_text(print_ast(visit(documents, _WithoutErrors({ERROR, *errors}))))
    (BUILD / "whole.graphql").write_text(print_ast(documents))
    ariadne = "from ariadne_codegen.main import main; main()"
    subprocess.run([sys.executable, "-W", "ignore", "-c", ariadne], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    _take_operations()
    _make_sync()


def _errors(schema: DocumentNode) -> set[str]:
    return {
        one.name.value
        for one in schema.definitions
        if isinstance(one, ObjectTypeDefinitionNode) and any(face.name.value == ERROR for face in one.interfaces)
    }


def _without_errors(schema: DocumentNode, errors: set[str]) -> Node:
    """Return the schema with each union of one success and errors replaced by that success."""
    success: dict[str, str] = {}
    for one in schema.definitions:
        if isinstance(one, UnionTypeDefinitionNode):
            rest = [member.name.value for member in one.types if member.name.value not in errors]
            if len(rest) == 1 and len(rest) < len(one.types):
                success[one.name.value] = rest[0]

    class Replace(Visitor):
        def enter_named_type(self, node: NamedTypeNode, *_: object) -> NamedTypeNode | None:
            name = success.get(node.name.value)
            return NamedTypeNode(name=NameNode(value=name)) if name is not None else None

    return visit(schema, Replace())


class _WithoutErrors(Visitor):
    """Drops what the operations select of errors, and the type names that told a success from an error."""

    def __init__(self, errors: set[str]) -> None:
        super().__init__()
        self._errors = errors

    def enter_fragment_spread(self, node: FragmentSpreadNode, *_: object) -> object:
        return self.REMOVE if node.name.value == "ErrorFields" else None

    def enter_inline_fragment(self, node: InlineFragmentNode, *_: object) -> object:
        return self.REMOVE if node.type_condition.name.value in self._errors else None

    def enter_fragment_definition(self, node: FragmentDefinitionNode, *_: object) -> object:
        return self.REMOVE if node.type_condition.name.value in self._errors else None


class WholeDocuments(Plugin):
    """Has the client send each operation as it is written, with its fragments, and not as it was simplified."""

    def generate_operation_str(self, operation_str: str, operation_definition: OperationDefinitionNode) -> str:
        document = parse((BUILD / "whole.graphql").read_text())
        fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
        operation = next(
            one
            for one in document.definitions
            if isinstance(one, OperationDefinitionNode) and one.name.value == operation_definition.name.value
        )
        used: dict[str, FragmentDefinitionNode] = {}

        class Collect(Visitor):
            def enter_fragment_spread(self, node: FragmentSpreadNode, *_: object) -> None:
                name = node.name.value
                if name not in used:
                    used[name] = fragments[name]
                    visit(fragments[name], Collect())

        visit(operation, Collect())
        return "\n\n".join(print_ast(one) for one in (operation, *used.values()))


def _take_operations() -> None:
    """Move the models into `operations`, and the methods into `_async/operations.py`."""
    made = BUILD / "operations"
    client = re.sub(r"^from \.(\w)", r"from ..operations.\1", (made / "client.py").read_text(), flags=re.MULTILINE)
    client = client.replace("from ..operations.transport import", "from .transport import")
    (PACKAGE / "_async" / "operations.py").write_text(client)
    for name in ("client", "transport", "exceptions"):
        (made / f"{name}.py").unlink(missing_ok=True)
    (made / "__init__.py").write_text('"""Generated by `make clients`: the types of inputs and answers."""\n')
    shutil.rmtree(PACKAGE / "operations", ignore_errors=True)
    shutil.move(made, PACKAGE / "operations")


def _make_sync() -> None:
    """Write `_sync`: the modules of `_async` without `async` and `await`."""
    shutil.rmtree(PACKAGE / "_sync", ignore_errors=True)
    words = {
        "AsyncClient": "Client",
        "AsyncBaseTransport": "BaseTransport",
        "AsyncMemory": "Memory",
        "AsyncOperations": "Operations",
        "AsyncTransport": "Transport",
        "AsyncThread": "Thread",
        "AsyncToolCall": "ToolCall",
        "aclose": "close",
        "aclosing": "closing",
        "aiter_lines": "iter_lines",
        "aread": "read",
        "asynccontextmanager": "contextmanager",
        "AbstractAsyncContextManager": "AbstractContextManager",
        "_async": "_sync",
    }
    rule = unasync.Rule("/_async/", "/_sync/", additional_replacements=words)
    unasync.unasync_files([str(path) for path in sorted((PACKAGE / "_async").glob("*.py"))], [rule])
    for path in (PACKAGE / "_sync").glob("*.py"):
        path.write_text(
            path.read_text().replace("asyncio.sleep", "time.sleep").replace("import asyncio", "import time")
        )


if __name__ == "__main__":
    main()
