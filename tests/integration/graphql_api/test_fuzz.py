"""Random requests to every operation: no internal error, no partial write, no transaction left open."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg
import pytest
from answer_shape import AnswerShape
from document_fuzz import DocumentFuzz
from fix_memory import until
from fix_service import MASTER_KEY
from graphql import GraphQLSchema, GraphQLSyntaxError, build_schema, get_operation_ast, parse
from schema_fuzz import Fuzz
from stored_tables import Tables, changed
from structlog.testing import capture_logs

from stratagraph.graphql.schema import sdl
from stratagraph.memory.feedback import waiting
from stratagraph.service.runtime import open_runtime
from stratagraph.service.serving import application
from stratagraph.service.settings import Settings
from stratagraph.service.telemetry import open_telemetry

CASES = 1_000  # about 12 s
SEED = 13
# Where one field of a request fails, graphql-core cancels those beside it, and leaves coroutines that had not begun.
CANCELLED = "ignore::pytest.PytestUnraisableExceptionWarning"
BY_GET = 0.1  # share of the requests that are sent by GET
DOCUMENTS = 0.4  # share of the requests with documents of several fields, fragments and literals; half are not valid
SOAK_CASES = int(os.environ.get("STRATAGRAPH_TEST_FUZZ_CASES", "100000"))
SOAK_SEED = int(os.environ.get("STRATAGRAPH_TEST_FUZZ_SEED", Random().getrandbits(32)))  # a failure names its seed
REFUSALS = {"UNAVAILABLE", "INTERNAL"}  # codes that say that the service failed, not the request
FAILURES = {"internal error", "capture failed", "unhandled exception"}


def codes_of(data: Any) -> Iterator[str]:
    """Yield the codes of the errors that fields of an operation answer."""
    for answer in (data or {}).values():
        if isinstance(answer, dict) and isinstance(answer.get("code"), str):
            yield answer["code"]


def has_success(schema: GraphQLSchema, data: Any) -> bool:
    """Return whether a field of a mutation was, or may have been, carried out."""
    errors = {one.name for one in schema.get_possible_types(schema.type_map["MemoryError"])}  # type: ignore[arg-type]  # an interface
    answers = [one for one in (data or {}).values() if isinstance(one, dict)]
    return any(one.get("__typename") not in errors and "code" not in one for one in answers)


def misshapen(schema: GraphQLSchema, body: bytes, data: Any) -> list[str]:
    """Return where the data of an answer has not the form that the request asks for."""
    try:
        given = json.loads(body)
        document = parse(given["query"])
    except (ValueError, TypeError, KeyError, GraphQLSyntaxError):
        return [] if data is None else ["data for what is no request"]
    operation = get_operation_ast(document, given.get("operationName") or None)
    assert operation is not None
    return AnswerShape(schema, document, given.get("variables") or {}).faults(operation, data)


async def fuzz(database_url: str, directory: Path, cases: int, seed: int) -> Counter[str]:
    """Send random requests; return how many ended how. Fails on the first that breaks a rule, naming its number."""
    settings = Settings.model_validate(
        {"database_url": database_url, "single_user": "on", "data_dir": directory, "master_key": MASTER_KEY}
    )
    schema = build_schema(sdl())
    fuzzed = Fuzz(schema, Random(seed))
    documents = DocumentFuzz(fuzzed)
    ends: Counter[str] = Counter()
    async with open_runtime(settings) as runtime, open_telemetry(runtime) as telemetry:
        transport = httpx.ASGITransport(app=application(runtime, telemetry), raise_app_exceptions=False)
        with psycopg.connect(database_url, autocommit=True) as connection, capture_logs() as logs:
            tables = Tables(connection)
            before = tables.state()
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                for number in range(cases):
                    made = documents if fuzzed.random.random() < DOCUMENTS else fuzzed
                    is_mutation, name, body = made.request()
                    by_get = fuzzed.random.random() < BY_GET
                    answer = await sent(http, body, by_get)
                    failures = [event for event in logs if event["event"] in FAILURES]
                    how = f"{name} by {'GET' if by_get else 'POST'}: {body[:3_000]!r}"
                    case = f"case {number} of seed {seed}, {how}: {answer.text[:1_000]} {failures}"
                    assert answer.status_code < 500, case
                    data = answer.json()
                    codes = {error["extensions"]["code"] for error in data.get("errors", ())}
                    codes.update(codes_of(data.get("data")))
                    assert not codes & REFUSALS, case
                    assert not failures, case
                    assert not (by_get and is_mutation and data.get("data")), case
                    logs.clear()
                    if data.get("data") is not None:
                        assert misshapen(schema, body, data["data"]) == [], case
                    if is_mutation:
                        after = tables.state()
                        if codes and not has_success(schema, data.get("data")):
                            assert changed(before, after) == {}, case
                        before = after
                    ends[f"{name} {'refused' if codes else 'answered'}"] += 1
                    fuzzed.learn(data.get("data"))
                    if number % 500 == 0 or number == cases - 1:
                        await until(partial(no_open_transaction, connection))
    return ends


async def sent(http: httpx.AsyncClient, body: bytes, by_get: bool) -> httpx.Response:
    """Send a request by POST, or by GET with the parts of its body as parameters; what has none is sent as it is."""
    try:
        given = json.loads(body)
        parts = {key: one if isinstance(one, str) else json.dumps(one) for key, one in given.items()}
    except (ValueError, AttributeError):
        by_get, parts = False, {}
    if by_get:
        return await http.get("/graphql", params=parts, headers={"accept": "application/json"})
    return await http.post("/graphql", content=body, headers={"content-type": "application/json"})


async def no_open_transaction(connection: psycopg.Connection[Any]) -> bool:
    """Return whether no other connection waits within a transaction, as one does that logs a retrieval meanwhile."""
    found = connection.execute(
        "SELECT query FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
    )
    return not found.fetchall()


@pytest.mark.filterwarnings(CANCELLED)
async def test_random_requests_cause_no_internal_error_and_leave_nothing_half_done(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "WAIT_S", 0.05)  # for a retrieval that no other process will log
    ends = await fuzz(database_url, tmp_path, CASES, SEED)
    schema = build_schema(sdl())
    assert schema.query_type is not None
    assert schema.mutation_type is not None
    reached = {end.rpartition(" ")[0] for end in ends}
    assert reached - {"document", "nearly valid"} == {*schema.query_type.fields, *schema.mutation_type.fields}
    both = {name for name in reached if ends[f"{name} answered"] and ends[f"{name} refused"]}
    assert both >= {"captureMemory", "captureMemories", "document", "nearly valid"}, ends
    assert len(both) > len(reached) / 2, ends
    assert ends["document answered"] > ends["document refused"] / 3, ends


@pytest.mark.soak
@pytest.mark.filterwarnings(CANCELLED)
async def test_random_requests_in_great_number(database_url: str, tmp_path: Path) -> None:
    ends = await fuzz(database_url, tmp_path, SOAK_CASES, SOAK_SEED)
    print(json.dumps(ends, sort_keys=True))
    assert sum(ends.values()) == SOAK_CASES
