"""The GraphQL documents of commands are valid, and each operation is sent by a command, whole."""

from __future__ import annotations

import ast

from checkout import ROOT
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    OperationDefinitionNode,
    build_schema,
    get_named_type,
    is_union_type,
    parse,
    print_ast,
    specified_rules,
    validate,
)

from stratagraph.graphql.document_bounds import check_bounds
from stratagraph.graphql.documents import MAX_TOKENS
from stratagraph.service.cli import asking

SCHEMA = build_schema((ROOT / "schema.graphql").read_text())
ALL = parse(asking.DOCUMENTS.read_text())
OPERATIONS = {one.name.value: one for one in ALL.definitions if isinstance(one, OperationDefinitionNode) and one.name}


def test_the_documents_are_valid_together() -> None:
    """Also: every fragment is used, and every variable."""
    assert validate(SCHEMA, ALL, specified_rules) == []
    assert len(OPERATIONS) > 30


def test_each_document_is_sent_with_exactly_its_fragments_and_within_the_bounds() -> None:
    fragments = {one.name.value: print_ast(one) for one in ALL.definitions if isinstance(one, FragmentDefinitionNode)}
    for name, operation in OPERATIONS.items():
        document = parse(asking.document(name), max_tokens=MAX_TOKENS)
        check_bounds(document)
        assert validate(SCHEMA, document, specified_rules) == [], name
        sent, *spread = document.definitions
        assert print_ast(sent) == print_ast(operation)
        assert {print_ast(one) for one in spread} <= set(fragments.values())


def test_each_document_asks_for_the_message_of_an_error() -> None:
    for name, operation in OPERATIONS.items():
        root = SCHEMA.query_type if operation.operation.value == "query" else SCHEMA.mutation_type
        assert root is not None
        for field in operation.selection_set.selections:
            assert isinstance(field, FieldNode)
            if is_union_type(get_named_type(root.fields[field.name.value].type)):
                assert "...Refusal" in asking.document(name), name


def test_commands_send_the_documents_that_there_are() -> None:
    sent = {
        node.args[0].value
        for module in (ROOT / "service/stratagraph/service/cli").glob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("answer_to", "revise", "_show")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert sent == OPERATIONS.keys()
