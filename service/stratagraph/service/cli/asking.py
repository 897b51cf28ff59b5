"""Send a GraphQL document to the running service, or execute it in this process if none runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from stratagraph.service.data_dir import embedded_data_dir
from stratagraph.service.local_socket import CODES, SCHEME, response_of, send
from stratagraph.store.model.errors import StratagraphError

if TYPE_CHECKING:
    from stratagraph.service.runtime import Runtime

DOCUMENTS = Path(__file__).with_name("documents.graphql")
_DEFINITION = re.compile(r"^(?:query|mutation|fragment) (\w+)", re.MULTILINE)
_SPREAD = re.compile(r"\.\.\.(\w+)")


class Refused(StratagraphError):
    """The service refused the request, or its answer is an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def answer_to(name: str, variables: Mapping[str, Any], *, tenant: str, full: bool = False) -> dict[str, Any]:
    """Return `data` of the answer to an operation of `documents.graphql`; `full` is its variable of that name.

    Raises what GraphQL answers with instead, as Refused, and what `respond_to` raises.
    """
    response = respond_to(document(name), {**variables, "full": full}, tenant=tenant)
    refusals = refusals_in(response)
    if refusals:
        raise refusals[0]
    data: dict[str, Any] = response["answer"]["data"]
    return data


def refusals_in(response: Mapping[str, Any]) -> list[Refused]:
    """Return the errors of a response: those of GraphQL, and those that are members of a result union."""
    answer, codes = response["answer"], response["codes"]
    members = [one for one in (answer.get("data") or {}).values() if isinstance(one, dict)]
    found = [Refused(one["extensions"]["code"], one["message"]) for one in answer.get("errors", ())]
    found += [Refused(one["code"], one["message"]) for one in members if one.get("code") in codes and "message" in one]
    if codes and not found:
        message = "The document does not select the message: add `... on MemoryError { code message }`."
        found.append(Refused(codes[0], message))
    return found


def respond_to(text: str, variables: Mapping[str, Any], *, tenant: str, operation: str | None = None) -> dict[str, Any]:
    """Return the response to the document `text`, as `local_socket.send` does.

    It is that of the service on the data directory, if one runs: importing and opening what executes a document takes
    longer than most executions. The service answers with its own settings. Raises Misconfigured where the
    directory has no store, which only a mutation makes.
    """
    request: dict[str, Any] = {"query": text, "variables": variables, "operationName": operation}
    data_dir = embedded_data_dir()
    response = send(data_dir, request, tenant=tenant) if data_dir is not None else None
    if response is not None:
        return response
    from stratagraph.service.cli.output import with_runtime

    return with_runtime(lambda runtime: _executed(runtime, request, tenant), makes_store=_has_mutation(text))


def _has_mutation(text: str) -> bool:
    from graphql import GraphQLError, OperationDefinitionNode, OperationType, parse

    with suppress(GraphQLError):
        operations = [one for one in parse(text).definitions if isinstance(one, OperationDefinitionNode)]
        return any(one.operation is OperationType.MUTATION for one in operations)
    return False


async def _executed(runtime: Runtime, request: Mapping[str, Any], tenant: str) -> dict[str, Any]:
    """Execute a request in this process, by the application that the service would have."""
    import httpx

    from stratagraph.service.in_process import InProcess
    from stratagraph.service.local_application import local_application

    transport = InProcess(local_application(runtime))  # operations have their own deadlines
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=None) as http:
        given = await http.post("/graphql", json=request, headers={"Authorization": f"{SCHEME} {quote(tenant)}"})
    return response_of(given.json(), given.headers[CODES])


def document(name: str) -> str:
    """Return an operation of `documents.graphql` with the fragments that it spreads."""
    text = DOCUMENTS.read_text()
    begins = list(_DEFINITION.finditer(text))
    ends = [one.start() for one in begins[1:]] + [len(text)]
    definitions = {one[1]: text[one.start() : end] for one, end in zip(begins, ends, strict=True)}
    needed = [name]
    for one in needed:  # grows by what each of them spreads
        needed += [spread for spread in dict.fromkeys(_SPREAD.findall(definitions[one])) if spread not in needed]
    return "".join(definitions[one] for one in needed)
