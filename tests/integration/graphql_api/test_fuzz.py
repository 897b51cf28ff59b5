"""Random requests to every operation: no internal error, no partial write, no transaction left open."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg
import pytest
from fix_service import MASTER_KEY
from psycopg.rows import dict_row
from schema_fuzz import Fuzz
from structlog.testing import capture_logs

from stratagraph.graphql.schema import build_schema
from stratagraph.memory.feedback import service as feedback
from stratagraph.service.runtime import open_runtime
from stratagraph.service.serving import application
from stratagraph.service.settings import Settings
from stratagraph.service.telemetry import open_telemetry

CASES = 1_200  # about 15 s
SEED = 13
SOAK_CASES = int(os.environ.get("STRATAGRAPH_TEST_FUZZ_CASES", "100000"))
SOAK_SEED = int(os.environ.get("STRATAGRAPH_TEST_FUZZ_SEED", Random().getrandbits(32)))  # a failure names its seed
REFUSALS = {"UNAVAILABLE", "INTERNAL"}  # codes that say that the service failed, not the request
# Tables that a refused request may change: names are interned in transactions of their own, and reads are logged,
# with those of lessons.
INTERNED = {"scope", "predicate", "tenant", "data_key", "retrieval", "lesson_use", "sync_tick", "sync_feed"}
PAID = {"rate_bucket", "rate_lease"}  # by requests that are refused, too
FAILURES = {"internal error", "capture failed", "unhandled exception"}


class Tables:
    """The state of all tables: for each, the number of rows and the newest transaction that wrote one of them."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        tables = sorted({name for (name,) in names} - INTERNED - PAID)
        self._query = " UNION ALL ".join(
            f"SELECT '{name}', count(*), max(xmin::text::bigint) FROM {name}"  # noqa: S608 - names of the catalogue
            for name in tables
        )

    def state(self) -> dict[str, Any]:
        return {name: rest for name, *rest in self._connection.execute(self._query.encode()).fetchall()}


def codes_of(value: Any) -> Iterator[str]:
    """Yield the error codes in an answer's data."""
    if isinstance(value, dict):
        if isinstance(value.get("code"), str):
            yield value["code"]
        for item in value.values():
            yield from codes_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from codes_of(item)


def ids_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("id", "candidateId") and isinstance(item, str):
                yield item
            else:
                yield from ids_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from ids_of(item)


async def fuzz(database_url: str, directory: Path, cases: int, seed: int) -> Counter[str]:
    """Send random requests; return how many ended how. Fails on the first that breaks a rule, naming its number."""
    settings = Settings.model_validate(
        {"database_url": database_url, "single_user": "on", "data_dir": directory, "master_key": MASTER_KEY}
    )
    fuzzed = Fuzz(build_schema()._schema, Random(seed))
    ends: Counter[str] = Counter()
    async with open_runtime(settings) as runtime, open_telemetry(runtime) as telemetry:
        transport = httpx.ASGITransport(app=application(runtime, telemetry), raise_app_exceptions=False)
        with psycopg.connect(database_url, autocommit=True) as connection, capture_logs() as logs:
            tables = Tables(connection)
            before = tables.state()
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                for number in range(cases):
                    is_mutation, name, body = fuzzed.request()
                    answer = await http.post("/graphql", content=body, headers={"content-type": "application/json"})
                    failures = [event for event in logs if event["event"] in FAILURES]
                    case = f"case {number} of seed {seed}, {name}: {body[:3_000]!r}: {answer.text[:1_000]} {failures}"
                    assert answer.status_code < 500, case
                    data = answer.json()
                    codes = {error["extensions"]["code"] for error in data.get("errors", ())}
                    codes.update(codes_of(data.get("data")))
                    assert not codes & REFUSALS, case
                    assert not failures, case
                    logs.clear()
                    if is_mutation:
                        after = tables.state()
                        if codes:
                            changed = {
                                table: (before[table], after[table])
                                for table in after
                                if after[table] != before[table] and table != "sync_snapshot"  # `changes` stores them
                            }
                            assert changed == {}, case
                        before = after
                    ends[f"{name} {'refused' if codes else 'answered'}"] += 1
                    fuzzed.ids.extend(ids_of(data.get("data")))
                    fuzzed.ids[:-60] = []
                    if number % 500 == 0 or number == cases - 1:
                        assert open_transactions(connection) == [], case
    return ends


def open_transactions(connection: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    cursor = connection.cursor(row_factory=dict_row)
    cursor.execute(
        "SELECT state, query FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
    )
    return cursor.fetchall()


async def test_random_requests_cause_no_internal_error_and_leave_nothing_half_done(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "WAIT_S", 0.05)  # for a retrieval that no other process will log
    ends = await fuzz(database_url, tmp_path, CASES, SEED)
    schema = build_schema()._schema
    assert schema.query_type is not None
    assert schema.mutation_type is not None
    reached = {end.split(" ")[0] for end in ends}
    assert reached == {*schema.query_type.fields, *schema.mutation_type.fields}
    both = {name for name in reached if ends[f"{name} answered"] and ends[f"{name} refused"]}
    assert both >= {"captureMemory", "captureMemories", "records", "retrieveGraph", "history", "impact", "pin"}, ends


@pytest.mark.soak
async def test_random_requests_in_great_number(database_url: str, tmp_path: Path) -> None:
    ends = await fuzz(database_url, tmp_path, SOAK_CASES, SOAK_SEED)
    assert sum(ends.values()) == SOAK_CASES
