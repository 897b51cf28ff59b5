"""Every saved query of the Neo4j Browser kit, run on a mirrored memory that has results for each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import neo4j
import pytest
from fix_memory import Memory, trust_of
from neo4j.exceptions import Neo4jError
from story import ROLL_BACK, capture_story, sync_mirror

from stratagraph.graph_sync.browser import SavedQuery, role_statements, saved_queries
from stratagraph.store.model.enums import MemoryType, SourceKind

pytestmark = pytest.mark.neo4j

SETTER, *QUERIES = saved_queries()
BY_NUMBER = {query.title[:2]: query for query in QUERIES}
# These must read the index backwards and stop; sorting would read all records of the tenant.
NEWEST_FIRST = {"04", "21", "23", "26"}
ELSEWHERE = "Elsewhere"  # what another tenant's names contain
# Operators without an index that a query plan may use; all other plans must use indexes.
JUSTIFIED = {
    "01": {"NodeByLabelScan"},  # there is one MirrorInfo node
    "02": {"UnionNodeByLabelsScan"},  # it counts everything
    "08": {"DirectedRelationshipTypeScan"},  # all disputes there are
    "09": {"DirectedUnionRelationshipTypesScan"},  # all revisions there are
    "11": {"CartesianProduct"},  # of two index seeks by name
    "14": {"NodeByLabelScan"},  # plans are few
    "28": {"NodeByLabelScan"},  # plans are few
    "22": {"NodeByLabelScan"},  # there is one such record for each thread
}


@dataclass
class Browser:
    """Runs saved queries with the parameters that the first saved query sets."""

    driver: neo4j.AsyncDriver
    parameters: dict[str, Any] = field(default_factory=dict)

    async def set_parameters(self) -> None:
        for name, how in SETTER.parameters.items():
            (record,) = (await self.driver.execute_query(f"RETURN {how} AS value")).records
            self.parameters[name] = record["value"]

    async def run(self, number: str, **parameters: Any) -> list[dict[str, Any]]:
        return (await self.execute(BY_NUMBER[number], **parameters))[0]

    async def execute(self, query: SavedQuery, **parameters: Any) -> tuple[list[dict[str, Any]], neo4j.ResultSummary]:
        given = {name: (self.parameters | parameters)[name] for name in query.parameters}
        result = await self.driver.execute_query(query.text, given)
        return [dict(record) for record in result.records], result.summary

    async def operators(self, query: SavedQuery) -> list[str]:
        given = {name: self.parameters[name] for name in query.parameters}
        result = await self.driver.execute_query(f"EXPLAIN {query.text}", given)
        assert result.summary.plan is not None
        return operators(result.summary.plan)


def operators(plan: dict[str, Any]) -> list[str]:
    return [
        plan["operatorType"].split("@")[0],
        *(name for child in plan.get("children", ()) for name in operators(child)),
    ]


def shown(rows: list[dict[str, Any]]) -> tuple[set[str], list[neo4j.graph.Relationship]]:
    """Return the names of the nodes in the rows, and the relationships."""
    parts = graph_parts(rows)
    names = {part["name"] for part in parts if isinstance(part, neo4j.graph.Node) and "name" in part}
    return names, [part for part in parts if isinstance(part, neo4j.graph.Relationship)]


def graph_parts(rows: list[dict[str, Any]]) -> list[neo4j.graph.Entity]:
    """Return the nodes and relationships in the rows, including those of paths."""
    values = [value for row in rows for value in row.values()]
    paths = [value for value in values if isinstance(value, neo4j.graph.Path)]
    parts = [part for path in paths for part in (*path.nodes, *path.relationships)]
    return parts + [value for value in values if isinstance(value, neo4j.graph.Entity)]


def ends(relationships: list[neo4j.graph.Relationship], kind: str) -> set[tuple[str, str]]:
    return {
        (relation.start_node["name"], relation.end_node["name"])
        for relation in relationships
        if relation.type == kind and relation.start_node is not None and relation.end_node is not None
    }


@pytest.fixture
async def browser(memory: Memory, clean_neo4j: str) -> AsyncIterator[Browser]:
    await capture_story(memory)
    await sync_mirror(memory, clean_neo4j)
    async with neo4j.AsyncGraphDatabase.driver(clean_neo4j, warn_notification_severity="OFF") as driver:
        # Until the indexes are sampled, which the server does now and then, plans are made as for empty ones.
        await driver.execute_query("CALL db.prepareForReplanning(60)")
        opened = Browser(driver)
        await opened.set_parameters()
        yield opened


async def test_every_saved_query_returns_rows_without_a_warning_and_uses_indexes(browser: Browser) -> None:
    assert None not in browser.parameters.values()
    wrong: dict[str, Any] = {}
    for query in QUERIES:
        rows, summary = await browser.execute(query)
        warnings = [status.status_description for status in summary.gql_status_objects if status.is_notification]
        used = await browser.operators(query)
        number = query.title[:2]
        whole = {name for name in used if "Scan" in name or name == "CartesianProduct"} - JUSTIFIED.get(number, set())
        if number in NEWEST_FIRST:
            whole |= {"Sort", "Top", "PartialTop"} & set(used)
        if not rows or warnings or whole or summary.query_type != "r":
            wrong[query.title] = (len(rows), warnings, whole, summary.query_type)
    assert wrong == {}


async def test_the_saved_queries_return_the_records_of_the_story(browser: Browser) -> None:
    fresh = (await browser.run("01"))[0]
    assert isinstance(fresh["shows_all_until"], neo4j.time.DateTime)
    (tenant,) = await browser.run("02")
    counted = await browser.run("03")
    assert sum(row["records"] for row in counted) == tenant["records"]
    assert {row["type"] for row in counted} == {kind.label for kind in MemoryType}
    assert {row["state"] for row in counted} == {"active", "contested", "superseded", "retracted"}
    assert tenant["records"] - tenant["with_a_name"] == 1, "a fact above the limit for names"

    known, _ = shown(await browser.run("05", name="Keycloak"))
    assert {"Keycloak", "Keycloak runs ahead by 48 s", "Keycloak issues tokens for Lantern"} <= known
    times = [row["at"] for row in await browser.run("06")]
    assert times == sorted(times)
    assert len(times) > 10
    episode, links = shown(await browser.run("07"))
    assert "Episode login outage, success" in episode
    assert len(ends(links, "PART_OF")) == 7
    assert len(ends(links, "DEPENDS_ON")) == 3

    _, doubts = shown(await browser.run("08"))
    assert ends(doubts, "CONTESTED_BY") == {("Keycloak token lifetime 5 minutes", "Keycloak token lifetime 15 minutes")}
    _, replaced = shown(await browser.run("09"))
    keeps = "Lantern keeps sessions in"
    assert ends(replaced, "SUPERSEDES") == {
        (f"{keeps} Redis", f"{keeps} Memcached"),
        (f"{keeps} Memcached", f"{keeps} Postgres"),
        ("Ben Okafor", "Benjamin Okafor"),
    }
    facts = {row["fact"]: row for row in await browser.run("10")}
    assert facts[f"{keeps} Postgres"]["replaced_by"] == f"{keeps} Memcached"
    assert facts[f"{keeps} Postgres"]["until"] == facts[f"{keeps} Memcached"]["since"]
    assert (facts[f"{keeps} Redis"]["state"], facts[f"{keeps} Redis"]["until"]) == ("active", None)
    assert facts["Lantern hosted in Frankfurt"]["state"] == "retracted"

    path, _ = shown(await browser.run("11", name="Chiara Rossi", other="clock skew"))
    assert {"Chiara Rossi", "clock skew is prevented by time synchronisation", "clock skew"} <= path
    grounds, _ = shown(await browser.run("12", fact="clock skew is prevented by time synchronisation"))
    assert {"Incident of 12 May caused by clock skew", 'search_logs({"service":"lantern"})'} <= grounds
    learned, _ = shown(await browser.run("13", source='search_logs({"service":"lantern"})'))
    assert "clock skew is prevented by time synchronisation" in learned

    plans, links = shown(await browser.run("14"))
    assert {"Plan: roll Lantern back", "migrate_database"} <= plans
    assert ("build_image", "deploy_canary") in ends(links, "FEEDS")
    steps = [row["step"] for row in await browser.run("15", plan="Plan: deploy Lantern without logging anybody out")]
    assert steps == ["build_image", "run_tests", "migrate_database", "deploy_canary", "watch_error_rate", "deploy"]
    users, _ = shown(await browser.run("16", tool="deploy"))
    assert {"Plan: roll Lantern back", "Plan: deploy Lantern without logging anybody out"} <= users
    (called,) = await browser.run("17", tool="deploy")
    assert (called["episode"], called["failed"]) == ("Episode login outage, success", False)
    failed, links = shown(await browser.run("24"))
    assert {"run_tests", "Plan: roll Lantern back", "Plan: deploy Lantern without logging anybody out"} <= failed
    assert {link.type for link in links} == {"USES_TOOL", "HAS_STEP"}
    tools = {row["tool"]: row for row in await browser.run("25")}
    assert [
        (row["records_with_calls"], row["failed"], row["plans"]) for row in (tools["run_tests"], tools["deploy"])
    ] == [
        (2, 1, 2),
        (1, 0, 2),
    ]
    assert len(tools["deploy"]["entities"]) == 1

    learned, links = shown(await browser.run("26"))
    assert ("Episode login outage, success", "Plan: roll Lantern back") in ends(links, "DERIVED_SEMANTIC")
    (taught,) = await browser.run("27")
    assert (taught["learned"], taught["version"], taught["executed"]) == ("Plan: roll Lantern back", "1", 4)
    assert taught["last_episodes"] == ["Episode login outage, success"]
    (fails,) = await browser.run("28")
    assert [fails[name] for name in ("plan", "step", "executed", "failed", "failure_rate")] == [
        *("Plan: roll Lantern back", "deploy", 4, 1, 0.25),
    ]

    shared = {row["entity"]: row for row in await browser.run("18", name="Alice Moreau")}
    assert (shared["Lantern"]["shared_records"], shared["Lantern"]["is_a"]) == (3, ["Project"])
    kinds = {row["kind"]: set(row["names"]) for row in await browser.run("19")}
    assert kinds["Person"] == {"Alice Moreau", "Ben Okafor", "Chiara Rossi"}
    assert kinds["File"] == {"api/session.py", "api/tokens.py", "deploy/redis.yml", "deploy/pipeline.yml"}
    assert (await browser.run("20"))[0]["name"] == "Lantern"
    working, _ = shown(await browser.run("22"))
    assert "Find out why logins to Lantern fail" in working
    hardly = await browser.run("23")
    assert [row["n"]["name"] for row in hardly if row["r"] is None] == ["the coffee machine is broken again"]
    assert "migrate_database" in shown(hardly)[0], "a tool that one step uses and nothing else"


async def test_the_saved_queries_show_nothing_of_another_tenant(
    memory: Memory, clean_neo4j: str, browser: Browser
) -> None:
    other = replace(memory, trust=trust_of(tenant="other"))
    await other.observe("Lantern", "keeps_sessions_in", ELSEWHERE, revision_policy="replace")
    await other.observe("Lantern", "keeps_sessions_in", f"{ELSEWHERE} too", revision_policy="replace")
    for value in ("this", "that"):
        await other.observe("Lantern", f"is_{ELSEWHERE.casefold()}", value, revision_policy="contest")
    await other.turn(f"{ELSEWHERE}: no team knows Lantern", thread="login outage")
    plan = ROLL_BACK | {"intent": f"roll back {ELSEWHERE}"}
    await other.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)
    state = {"thread_id": "t", "state": "planning", "context_summary": f"{ELSEWHERE} is where?"}
    await other.remember(SourceKind.WORKING_STATE, state)
    await sync_mirror(other, clean_neo4j)
    assert len(await browser.run("02")) == 2
    for query in QUERIES:
        rows, _ = await browser.execute(query)
        assert rows, query.title
        assert ELSEWHERE.casefold() not in repr([row.values() for row in rows]).casefold(), query.title
        assert {part["ten"] for part in graph_parts(rows) if "ten" in part} <= {browser.parameters["ten"]}, query.title


async def test_neo4j_parses_the_role_statements(clean_neo4j: str) -> None:
    """Neo4j Community parses the statements and refuses them as unsupported; a wrong one would be a syntax error."""
    async with neo4j.AsyncGraphDatabase.driver(clean_neo4j) as driver:
        components = await driver.execute_query("CALL dbms.components() YIELD edition RETURN edition")
        if components.records[0]["edition"] != "community":
            pytest.skip("Neo4j Enterprise would execute the statements")
        for said in role_statements():
            with pytest.raises(Neo4jError) as refused:
                await driver.execute_query(said, database_="system")
            assert refused.value.code == "Neo.ClientError.Statement.UnsupportedAdministrationCommand", said
