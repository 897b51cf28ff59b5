"""Two weeks of an agent's memory over HTTP, on both engines: see README.md beside this file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from acceptance.scenarios.checks import (
    answering_engine,
    ask,
    check_identity,
    check_records,
    digest,
    rendered,
    secrets_shown,
)
from acceptance.scenarios.memory_over_http import Memory
from acceptance.scenarios.week import WEEKS, Week, load
from fix_memory import SPARING_S, fresh_database, until
from fix_neo4j import wipe
from fix_service import Service, run_command, running

MODES = {"one-by-one": None, "batches-of-seed-7": 7}
KEYS = {"agent": "medium", "owner": "hyper"}  # name of the credential: its ceiling
# An agent plays a week within seconds.
UNHURRIED = {"rate": "1000000", "burst": "1000000"}
PROMPT_TOKENS = 500  # of a short rendering
LEAST_RENDERED = 0.95  # share of the answerable questions whose needed record must be in it
FOUND_EARLY = {1: 0.70, 3: 0.90, 10: 0.97}  # place among the nodes: share of the questions
SOLUTION_PLACE, LEAST_SOLVED = 10, 0.80  # a solution is among the first nodes for this share of the problems
# Shares of the questions about nothing in the weeks whose answer is stronger, and that get one at all.
STRONG, MOST_STRONG, MOST_ANSWERED = 0.25, 0.10, 0.30
JOB_RUNS = 2  # of each job: the second run does what another job's first run made necessary

# One process plays the weeks, once; with a shared Neo4j, the process of all tests that need it (conftest.py).
pytestmark = pytest.mark.xdist_group("neo4j" if os.environ.get("STRATAGRAPH_TEST_NEO4J_URI") else "scenarios")


def command(service: Service, *arguments: str) -> str:
    status, out, err = asyncio.run(run_command(*arguments, env=service.environment))
    assert status == 0, out + err
    return out


def run_jobs(service: Service) -> None:
    """Run every background job as often as JOB_RUNS says, all of them at the same time."""
    names = [job["name"] for job in json.loads(command(service, "jobs", "list", "--json"))]
    with ThreadPoolExecutor() as threads:
        for _ in range(JOB_RUNS):
            for out in threads.map(lambda name: command(service, "jobs", "run", name, "--json"), names):
                assert json.loads(out)["error"] is None, out


@dataclass
class Store:
    """One database with both weeks, each in a tenant of its own, and a service that answers from it in SQL."""

    service: Service
    settings: dict[str, str]
    memories: dict[str, Memory]


class Stores:
    """The stores of all modes, each played at its first use, and the mirror of the mode that was used last."""

    def __init__(self, postgres_url: str, template: str, directory: Path) -> None:
        self._postgres_url = postgres_url
        self._template = template
        self._directory = directory
        self._open = ExitStack()
        self._mirror = ExitStack()
        self._mirrored: tuple[str, str] | None = None
        self._stores: dict[str, Store] = {}

    def __enter__(self) -> Stores:
        return self

    def __exit__(self, *_: object) -> None:
        self._mirror.close()
        self._open.close()

    def of(self, mode: str) -> Store:
        if mode not in self._stores:
            self._stores[mode] = self._play(mode)
        return self._stores[mode]

    def mirrored_at(self, mode: str, bolt: str) -> str:
        """Return the URL of a service that answers from the mirror of this mode's store."""
        if self._mirrored is None or self._mirrored[0] != mode:
            self._mirror.close()
            wipe(bolt)
            settings = self.of(mode).settings | {"neo4j_uri": bolt, "traversal": "neo4j"}
            service = self._mirror.enter_context(running(**settings))
            assert service.url is not None
            answers = partial(self._answers_from_mirror, mode, service.url)
            asyncio.run(until(answers, within_s=120, every_s=SPARING_S))
            command(service, "sync", "verify")  # waits until the worker has applied every change
            self._mirrored = mode, service.url
        return self._mirrored[1]

    async def _answers_from_mirror(self, mode: str, url: str) -> bool:
        """Return whether the mirror has been filled."""
        return answering_engine(self.of(mode).memories[WEEKS[0]], url) == "NEO4J"

    def _play(self, mode: str) -> Store:
        database = self._open.enter_context(fresh_database(self._postgres_url, self._template))
        settings = {"database_url": database, "data_dir": str(self._directory / mode), "single_user": "off"} | UNHURRIED
        service = self._open.enter_context(running("--only", "api", **settings))
        assert service.url is not None
        memories = {name: self._memory(load(name), service, service.url) for name in WEEKS}
        with ThreadPoolExecutor() as clients:  # both agents work at the same time
            for played in [clients.submit(memory.play, MODES[mode]) for memory in memories.values()]:
                played.result()
        run_jobs(service)
        return Store(service, settings, memories)

    def _memory(self, week: Week, service: Service, url: str) -> Memory:
        return Memory(week, url, tokens_of(week, service), self._open.enter_context(httpx.Client(timeout=60)))


def tokens_of(week: Week, service: Service) -> dict[str, str]:
    """Return new credentials of a week's tenant, by their names."""
    tokens = {}
    for name, ceiling in KEYS.items():
        options = ("--tenant", week.name, "--access", "write", "--max-sensitivity", ceiling, "--scope", "*")
        made = json.loads(command(service, "token", "create", f"{week.name}-{name}", "--json", *options))
        tokens[name] = made["token"]
    return tokens


@pytest.fixture(scope="module")  # until the last test of a week: its worker must not write into the next test's mirror
def stores(postgres_url: str, template_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with Stores(postgres_url, template_database, tmp_path_factory.mktemp("scenarios")) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Record a row. At the end the rows are written to scenarios.json, and a summary is printed."""
    rows: list[dict[str, Any]] = []
    yield rows.append
    directory = Path(os.environ.get("STRATAGRAPH_TEST_REPORTS") or tmp_path_factory.getbasetemp())
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "scenarios.json").write_text(json.dumps(rows, indent=1))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("", *_summary(rows), sep="\n")


def _summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line per run: how many needed records came, how high, and how many unknown things got empty answers."""
    yield f"{'week':<9}{'mode':<20}{'engine':<8}{'asked':>6}{'first':>7}{'in place':>10}{'missing':>9}{'empty':>8}"
    for run in dict.fromkeys((row["week"], row["mode"], row["engine"]) for row in rows):
        mine = [row for row in rows if (row["week"], row["mode"], row["engine"]) == run]
        known = [row for row in mine if "empty" not in row]
        unknown = [row for row in mine if "empty" in row]
        placed = [row for row in known if row["place"] is not None]
        first = sum(row["place"] == 1 for row in placed)
        accepted = sum(row["place"] <= row["accepted"] for row in placed)
        empty = f"{sum(row['empty'] for row in unknown)}/{len(unknown)}"
        week, mode, engine = run
        yield (
            f"{week:<9}{mode:<20}{engine:<8}{len(mine):>6}{first:>7}{f'{accepted}/{len(known)}':>10}"
            f"{len(known) - len(placed):>9}{empty:>8}"
        )


@pytest.fixture(params=MODES, scope="module")  # the scope groups the tests by mode, so that each is mirrored once
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=WEEKS)
def week(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def assert_nothing(wrong: list[str]) -> None:
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong])


def test_a_week_has_the_promised_size(week: str) -> None:
    data = load(week)
    assert len(data.steps) >= 100
    assert len({step.label for step in data.steps}) == len(data.steps)
    assert sum(not question.unknown for question in data.questions) >= 30
    assert sum(question.unknown for question in data.questions) >= 5
    kinds = {step.kind for step in data.steps} | {step.proposed for step in data.steps}
    assert kinds >= {"EVENT", "TOOL_OUTPUT", "OBSERVATION", "OUTCOME", "WORKING_STATE", "AGENT_TURN", "EPISODE"}
    assert kinds >= {"ENTITY", "COMPETENCE", "PLAN_GRAPH"}


def test_every_capture_is_stored_and_its_receipt_says_what_it_did(stores: Stores, week: str, mode: str) -> None:
    assert_nothing(stores.of(mode).memories[week].failures)


def test_entities_keep_their_identity(stores: Stores, week: str, mode: str) -> None:
    assert_nothing(check_identity(stores.of(mode).memories[week]))


def test_records_have_the_states_times_and_links_of_the_week(stores: Stores, week: str, mode: str) -> None:
    assert_nothing(check_records(stores.of(mode).memories[week]))


def test_no_secret_is_readable_in_any_record(stores: Stores, week: str, mode: str) -> None:
    assert_nothing(secrets_shown(stores.of(mode).memories[week]))


def test_batches_leave_the_same_records_as_single_captures(stores: Stores, week: str) -> None:
    one_by_one, batched = (digest(stores.of(mode).memories[week]) for mode in MODES)
    assert_nothing(
        [
            f"{label}: {one_by_one.get(label)} one by one, {batched.get(label)} in batches"
            for label in one_by_one | batched
            if one_by_one.get(label) != batched.get(label)
        ]
    )


def test_a_short_rendering_has_the_needed_record(stores: Stores) -> None:
    """As an agent asks: for text that fits into a prompt, of all types of records."""
    memories = stores.of("one-by-one").memories.values()
    found = {
        f"{memory.week.name}: {question.ask}": is_there
        for memory in memories
        for question in memory.week.questions
        if (is_there := rendered(memory, question, PROMPT_TOKENS)) is not None
    }
    missing = [question for question, is_there in found.items() if not is_there]
    assert len(missing) <= (1 - LEAST_RENDERED) * len(found), missing


def test_a_problem_brings_its_solution_and_what_is_unheard_of_is_not_answered(stores: Stores) -> None:
    """With questions that nothing was calibrated on; what a problem is asked with is not what its solution says."""
    solved, unheard = [], []
    for memory in stores.of("one-by-one").memories.values():
        for problem in memory.week.problems:
            wrong, row = ask(memory, problem, memory.url, "SQL")
            solved.append(not wrong and row["place"] <= SOLUTION_PLACE)
        unheard += [(ask(memory, one, memory.url, "SQL")[1]["strength"], one.ask) for one in memory.week.unheard]
    assert sum(solved) >= LEAST_SOLVED * len(solved)
    for strength, most in ((STRONG, MOST_STRONG), (0.0, MOST_ANSWERED)):
        answered = [one for one in unheard if one[0] > strength]
        assert len(answered) <= most * len(unheard), answered


@pytest.mark.parametrize("engine", ["SQL", pytest.param("NEO4J", marks=pytest.mark.neo4j)])
def test_every_question_gets_what_it_needs_and_nothing_that_no_longer_holds(
    request: pytest.FixtureRequest,
    stores: Stores,
    report: Callable[[dict[str, Any]], None],
    week: str,
    mode: str,
    engine: str,
) -> None:
    memory = stores.of(mode).memories[week]
    url = memory.url
    if engine == "NEO4J":
        url = stores.mirrored_at(mode, request.getfixturevalue("neo4j_server").bolt)
    wrong, rows = [], []
    for question in memory.week.questions:
        found, row = ask(memory, question, url, engine)
        wrong += found
        rows.append(row)
        report({"week": week, "mode": mode, "engine": engine} | row)
    assert_nothing(wrong)
    _assert_found_early(rows)


@pytest.mark.parametrize("mode", ["one-by-one"], indirect=True)
def test_a_week_that_is_moved_is_the_same_week(
    stores: Stores, week: str, mode: str, postgres_url: str, template_database: str, tmp_path: Path
) -> None:
    store = stores.of(mode)
    memory = store.memories[week]
    exported, again, tenant = tmp_path / "week.jsonl", tmp_path / "again.jsonl", ("--tenant", memory.week.name)
    command(store.service, "export", str(exported), *tenant)
    with fresh_database(postgres_url, template_database) as database:
        settings = store.settings | {"database_url": database, "data_dir": str(tmp_path)}
        with running("--only", "api", **settings) as service:
            assert service.url is not None
            command(service, "import", "records", str(exported), *tenant)
            command(service, "export", str(again), *tenant)
            assert again.read_bytes() == exported.read_bytes()
            moved = replace(memory, url=service.url, tokens=tokens_of(memory.week, service))
            assert digest(moved) == digest(memory)
            assert_nothing([wrong for one in memory.week.questions for wrong in ask(moved, one, service.url, "SQL")[0]])


def _assert_found_early(rows: Sequence[Mapping[str, Any]]) -> None:
    """Check how early the needed records come, and that unknown things, and only those, get empty or faint answers."""
    known = [row for row in rows if "empty" not in row]
    unknown = [row for row in rows if "empty" in row]
    for place, share in FOUND_EARLY.items():
        assert sum(row["place"] <= place for row in known) >= share * len(known), f"among the first {place}"
    assert sum(row["nodes"] == 0 for row in known) <= 0.02 * len(known)
    assert sum(row["strength"] < STRONG for row in unknown) >= 0.8 * len(unknown)  # of five; of both weeks, nine of ten
