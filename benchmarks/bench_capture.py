"""Measure captures per second, against plain SQL that writes the same rows."""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from secrets import token_bytes
from time import perf_counter, process_time
from typing import Annotated, Any, LiteralString
from uuid import UUID

import psycopg
import typer
from harness import Bound, Case, Store, interleaved, machine, report, server, store, summary, trust
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Column, Table, event
from sqlalchemy.dialects.postgresql import JSONB
from wording import Wording

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres import tables

LIMIT = 2.5  # times the duration of plain SQL
BATCH = 500  # captures in one transaction
CHUNK = 1_000  # rows in one plain INSERT
SCOPES = ("", "team/alpha", "team/beta", "team/gamma")
TOOLS = ("bash", "read_file", "edit_file", "search", "fetch_page", "run_tests", "sql", "list_files")
PREDICATES = (
    *("uses", "prefers", "located_in", "owned_by", "depends_on", "version", "status", "deadline", "written_in"),
    *("maintained_by", "contains", "works_on", "reports_to", "runs_on", "replaces", "cost", "opened_by", "role"),
)
# In an order that satisfies the foreign keys.
WRITTEN = (
    *(tables.fact_slot, tables.record, tables.salience, tables.entity_term, tables.episode, tables.episode_event),
    *(tables.relation, tables.audit, tables.audit_note, tables.audit_head, tables.candidate, tables.idempotency),
    tables.sync_log,
)
# Columns that the database fills in.
DEFAULTED = {("sync_log", "xid"), ("sync_log", "seq"), ("sync_log", "day"), ("candidate", "sequence")}
# Unique columns, for which plain SQL needs values of its own.
KEYS = {"term_key", "thread_key", "fact_key", "handle_key", "call_key", "key_hash"}
Statement = tuple[sql.Composed | bytes, list[Any] | None]
Rows = Mapping[Table, Sequence[Mapping[str, Any]]]


class Agents:
    """Generates captures of several agents working at the same time: messages, tool results, facts."""

    def __init__(self, seed: int, *, active: int) -> None:
        self.wording = Wording(seed)
        self._numbers = count()
        self._threads = [self._thread() for _ in range(active)]
        self._subjects = [self.wording.name() for _ in range(3_000)]

    def _thread(self) -> tuple[str, str, int]:
        """Return a new thread with its scope and topic."""
        pick = self.wording.random
        return f"thread-{next(self._numbers)}", pick.choice(SCOPES), self.wording.some_topic()

    def requests(self, number: int) -> list[CaptureRequest]:
        return [self._request() for _ in range(number)]

    def _request(self) -> CaptureRequest:
        pick = self.wording.random
        place = pick.randrange(len(self._threads))
        thread, scope, topic = self._threads[place]
        if pick.random() < 0.03:  # the task ends and another begins
            self._threads[place] = self._thread()
        draw = pick.random()
        content: dict[str, Any]
        if draw < 0.5:
            kind = SourceKind.AGENT_TURN
            text = f"{self.wording.text(pick.randint(20, 60), topic=topic)} {pick.choice(self._subjects)}"
            content = {"role": pick.choice(("user", "assistant")), "text": text, "thread_id": thread}
        elif draw < 0.8:
            kind = SourceKind.TOOL_OUTPUT
            content = {
                "tool_name": pick.choice(TOOLS),
                "args": {"path": self.wording.path(), "query": self.wording.text(4, topic=topic)},
                "result": self.wording.text(pick.randint(20, 60), topic=topic),
                "call_id": f"call-{next(self._numbers)}",
                "thread_id": thread,
            }
        else:
            kind = SourceKind.OBSERVATION
            content = {
                "subject": pick.choice(self._subjects),
                "predicate": pick.choice(PREDICATES),
                "object": self.wording.text(pick.randint(2, 25), topic=topic),
            }
        return CaptureRequest(
            source="bench",
            source_kind=kind,
            content=content,
            scope=scope,
            tags=tuple(self.wording.words[:20][place % 20 : place % 20 + 2]),
            reason_to_remember="may be needed again" if pick.random() < 0.2 else None,
            idempotency_key=f"key-{next(self._numbers)}" if pick.random() < 0.5 else None,
        )


@dataclass
class BareSql:
    """Writes the rows of the last capture again, with new ids and keys, by plain multi-row inserts."""

    connection: psycopg.AsyncConnection[Any]
    numbers: Iterator[int] = field(default_factory=lambda: count(1_000_000_000))
    statements: Sequence[Statement] = ()
    rendered: Sequence[Statement] = ()
    rows: int = 0

    async def read_back(self, answers: Sequence[Captured]) -> None:
        """Fetch all rows of the transaction behind `answers`, and make the statements that write copies of them."""
        # `xmin` holds the low half of the transaction's number.
        written_by = str(int(answers[0].sequence.rpartition(":")[2]) % 2**32)
        rows = {}
        async with self.connection.transaction():
            for table in WRITTEN:
                columns = [column.name for column in table.columns if (table.name, column.name) not in DEFAULTED]
                statement = sql.SQL("SELECT {} FROM {} WHERE xmin = %s::xid").format(
                    sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(table.name)
                )
                found = await (await self.connection.execute(statement, [written_by])).fetchall()
                rows[table] = [dict(zip(columns, row, strict=True)) for row in found]
        # Leave out episodes that existed before: the capture only updated them, and a copy would need a record.
        new = {row["id"] for row in rows[tables.record]}
        rows[tables.episode] = [row for row in rows[tables.episode] if row["id"] in new]
        self.rows = sum(map(len, rows.values()))
        self.statements = [
            (_insert(table, chunk), [_adapted(table.c[name], row[name]) for row in chunk for name in row])
            for table, renewed in self._renewed(rows).items()
            for chunk in _chunks(renewed)
        ]

    def _renewed(self, rows: Rows) -> Rows:
        """Copy the rows with new ids and keys. References to older rows stay."""
        salt = token_bytes(8)
        identified = (tables.record, tables.relation, tables.candidate)
        ids = {row["id"]: new_id() for table in identified for row in rows[table]}
        slots = {row["slot_key"] for row in rows[tables.fact_slot]}

        def renew(table: Table, name: str, value: Any) -> Any:
            if isinstance(value, UUID):
                return ids.get(value, value)
            if isinstance(value, list):
                return [ids.get(item, item) if isinstance(item, UUID) else item for item in value]
            if name in KEYS or (name == "slot_key" and value in slots):
                return value and sha256(salt + value).digest()
            return next(self.numbers) if name in {"doc", "position"} else value

        return {
            table: [{name: renew(table, name, value) for name, value in row.items()} for row in found]
            for table, found in rows.items()
        }

    async def write(self) -> None:
        await self._execute(self.statements)

    def render(self) -> None:
        """Render the values into the statements beforehand, so that the timed run only sends them."""
        cursor = psycopg.AsyncClientCursor(self.connection)
        self.rendered = [(cursor.mogrify(statement, values).encode(), None) for statement, values in self.statements]

    async def write_rendered(self) -> None:
        await self._execute(self.rendered)

    async def _execute(self, statements: Sequence[Statement]) -> None:
        async with self.connection.transaction():
            for statement, values in statements:
                await self.connection.execute(statement, values)


def _chunks(rows: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def _insert(table: Table, rows: Sequence[Mapping[str, Any]]) -> sql.Composed:
    one: LiteralString = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
    return sql.SQL("INSERT INTO {} ({}) VALUES {}").format(
        sql.Identifier(table.name),
        sql.SQL(", ").join(map(sql.Identifier, rows[0])),
        sql.SQL(", ").join([sql.SQL(one)] * len(rows)),
    )


def _adapted(column: Column[Any], value: Any) -> Any:
    return Jsonb(value) if isinstance(column.type, JSONB) and value is not None else value


@dataclass
class Clockwork:
    """The time of a capture: processor time of this process, time waiting, and waiting time by statement."""

    wall_s: float = 0.0
    own_s: float = 0.0
    statements: int = 0
    by_statement: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def watching(self) -> Iterator[None]:
        began, own = perf_counter(), process_time()
        yield
        self.wall_s += perf_counter() - began
        self.own_s += process_time() - own

    def listen(self, where: Store) -> None:
        engine = where.database.engine.sync_engine
        starts: list[float] = []
        event.listen(engine, "before_cursor_execute", lambda *_: starts.append(perf_counter()))

        def after(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            self.statements += 1
            self.by_statement[_shortened(statement)] += perf_counter() - starts.pop()

        event.listen(engine, "after_cursor_execute", after)

    def figures(self, captures: int) -> dict[str, Any]:
        slowest = sorted(self.by_statement.items(), key=lambda item: -item[1])[:8]
        in_statements = sum(self.by_statement.values())
        return {
            "python_share": round(self.own_s / self.wall_s, 3),
            "waiting_for_database_share": round(1 - self.own_s / self.wall_s, 3),
            "inside_statements_share": round(in_statements / self.wall_s, 3),
            "statements_per_capture": round(self.statements / captures, 2),
            "slowest_statements_share": {name: round(took / self.wall_s, 3) for name, took in slowest},
        }


def _shortened(statement: str) -> str:
    """Return the beginning of a statement, such as `INSERT INTO record`, as its name in the figures."""
    lines = [line for line in statement.splitlines() if not line.startswith("--")]
    words = " ".join(lines).split()
    return " ".join(words[:3]) if words[0] == "INSERT" else " ".join(words)[:70]


async def _batched(url: str, *, batches: int, size: int) -> tuple[dict[str, Any], Bound]:
    agents = Agents(1, active=30)
    clockwork = Clockwork()
    answers: list[Captured] = []
    rows: list[int] = []
    records: list[int] = []
    requests: list[CaptureRequest] = []

    async with (
        store(url, "bench_batched") as where,
        await psycopg.AsyncConnection.connect(where.url, autocommit=True) as connection,
    ):
        capture = Capture(where.database, where.directory, SystemClock(), Policy())
        bare = BareSql(connection)

        async def prepare_capture() -> None:
            requests[:] = agents.requests(size)

        async def run_capture() -> None:
            with clockwork.watching():
                answers[:] = await capture.capture(trust(), requests, batch=True)

        async def prepare_bare() -> None:
            await bare.read_back(answers)
            rows.append(bare.rows)
            records.append(sum(len(answer.created) for answer in answers))

        async def prepare_rendered() -> None:
            await bare.read_back(answers)
            bare.render()

        cases = {
            "capture": Case(run=run_capture, prepare=prepare_capture),
            "bare_sql": Case(run=bare.write, prepare=prepare_bare),
            "rendered_sql": Case(run=bare.write_rendered, prepare=prepare_rendered),
        }
        await interleaved(cases, 2, title="warming up")
        clockwork = Clockwork()
        clockwork.listen(where)
        rows.clear()
        records.clear()
        took = await interleaved(cases, batches, title="batched")
    medians = {name: statistics.median(values) for name, values in took.items()}
    ratios = {name: round(medians["capture"] / medians[name], 3) for name in medians if name != "capture"}
    figures = {
        "captures_per_transaction": size,
        "rows_per_capture": round(statistics.mean(rows) / size, 2),
        "captures_per_second": round(size / medians["capture"] * 1_000),
        "records_per_second": round(statistics.mean(records) / medians["capture"] * 1_000),
        "per_capture_ms": {name: round(median / size, 4) for name, median in medians.items()},
        "transaction_ms": {name: summary(values) for name, values in took.items()},
        "ratio_to": ratios,
        "where_the_time_goes": clockwork.figures(size * batches),
    }
    return figures, Bound(name="batched capture over bare SQL", value=ratios["bare_sql"], limit=LIMIT)


async def _single(url: str, *, captures: int, tasks: int) -> dict[str, Any]:
    agents = Agents(2, active=8)
    clockwork = Clockwork()
    async with store(url, "bench_single") as where:
        capture = Capture(where.database, where.directory, SystemClock(), Policy())

        async def one() -> None:
            await capture.capture(trust(), agents.requests(1))

        await interleaved({"one": Case(run=one)}, 50, title="warming up")
        clockwork.listen(where)
        with clockwork.watching():
            took = (await interleaved({"one": Case(run=one)}, captures, title="single"))["one"]
        where_it_goes = clockwork.figures(captures)

        async def worker() -> None:
            for _ in range(captures // tasks):
                await one()

        began = perf_counter()
        await asyncio.gather(*(worker() for _ in range(tasks)))
        together = captures // tasks * tasks / (perf_counter() - began)
    return {
        "captures_per_second": round(1_000 / statistics.mean(took)),
        "capture_ms": summary(took),
        f"captures_per_second_by_{tasks}_tasks": round(together),
        "where_the_time_goes": where_it_goes,
    }


def main(quick: Annotated[bool, typer.Option("--quick", help="Measure fewer and smaller batches.")] = False) -> None:
    """Measure captures per second: one per transaction, and 500 per transaction.

    The batches run in turn with plain multi-row INSERTs of the same rows into the same tables. Bound: a batched
    capture takes at most 2.5 times as long. Most of bare SQL's time is the driver's work on its many parameters, so
    the same INSERTs with the values already in their text are timed as well: that is what the server alone needs.
    One JSON document on standard output; exit code 1 if the bound is missed.
    """
    with server() as url:
        batched, bound = asyncio.run(_batched(url, batches=5 if quick else 12, size=100 if quick else BATCH))
        single = asyncio.run(_single(url, captures=100 if quick else 500, tasks=8))
        about = machine(url)
    report("capture", {"batched": batched, "single": single}, bounds=[bound], machine=about)


if __name__ == "__main__":
    typer.run(main)
