"""The `stratagraph sync` commands, on a real Postgres and Neo4j."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j
import pytest
from fix_memory import Memory
from fix_service import MASTER_KEY, environment, run_command

pytestmark = pytest.mark.neo4j


@dataclass
class Operator:
    """Runs `stratagraph sync` with both stores in the environment."""

    environment: dict[str, str]
    driver: neo4j.AsyncDriver

    async def __call__(self, *arguments: str, status: int = 0) -> str:
        code, out, err = await run_command("sync", *arguments, env=self.environment)
        assert code == status, out + err
        return out + err

    async def json(self, *arguments: str, status: int = 0) -> Any:
        code, out, err = await run_command("sync", *arguments, "--json", env=self.environment)
        assert code == status, out + err
        return json.loads(out)

    async def cypher(self, statement: str) -> list[Any]:
        async with self.driver.session() as session:
            return [record.values() async for record in await session.run(statement)]


@pytest.fixture
async def operator(database_url: str, clean_neo4j: str, tmp_path: Path) -> AsyncIterator[Operator]:
    settings = environment(
        database_url=database_url,
        master_key=MASTER_KEY,
        neo4j_uri=clean_neo4j,
        single_user="on",
        data_dir=str(tmp_path / "data"),
    )
    async with neo4j.AsyncGraphDatabase.driver(clean_neo4j, notifications_min_severity="OFF") as driver:
        yield Operator(settings, driver)


async def test_a_mirror_is_filled_verified_repaired_and_rebuilt_from_the_command_line(
    memory: Memory, operator: Operator
) -> None:
    for number in range(5):
        await memory.observe(f"Person {number}", "works_at", "Acme")
    assert (await operator.json("run", "--once"))["rebuilt"] is True
    status = await operator.json("status")
    assert status["equal_counts"]
    assert (status["lag_changes"], status["parked"]) == (0, 0)
    assert (status["generation"]["generation"], status["generation"]["state"]) == (1, "active")
    assert "none runs" in await operator("status")
    assert "Equal" in await operator("verify", "--deep")

    [[id_]] = await operator.cypher("MATCH (n:Semantic) WITH n LIMIT 1 SET n.ver = 0 RETURN n.id")
    found = await operator.json("verify", status=1)
    assert (found["differs"], found["equal"]) == (True, False)
    assert found["drift"] == {"stale": 1}
    [difference] = found["differences"]
    assert (difference["class"], difference["kind"], difference["id"]) == ("stale", "record", id_)
    report = await operator("verify", status=1)
    assert id_ in report
    assert "sync repair" in report
    repaired = await operator.json("repair")
    assert (repaired["repaired"], repaired["differs"], repaired["equal"]) == (1, False, None)
    assert repaired["damaged"], "until everything was compared"

    await operator.cypher("MATCH (n:Semantic) WITH n LIMIT 1 SET n:Admin CREATE (:Memory {id: ['x']})")
    quick = await operator.json("verify")
    assert (quick["differs"], quick["equal"]) == (False, None), "it does not claim what it did not compare"
    assert not {"labels", "foreign nodes and relationships"} & set(quick["compared"])
    report = await operator("verify")
    assert "Equal" not in report
    assert "verify --deep" in report
    found = await operator.json("verify", "--deep", status=1)
    assert found["drift"] == {"edited": 1, "foreign": 1}
    assert "sync repair --deep" in await operator("verify", "--deep", status=1)
    repaired = await operator.json("repair", "--deep")
    assert (repaired["repaired"], repaired["equal"], repaired["damaged"]) == (2, True, False)
    rebuilt = await operator.json("rebuild", "--tenant", "acme")
    assert rebuilt["generation"] == 2
    assert rebuilt["rows"] == found["rows"]
    assert (await operator.json("verify", "--deep"))["equal"]


async def test_dead_letters_are_listed_retried_and_dropped(memory: Memory, operator: Operator) -> None:
    await operator.json("run", "--once")
    await operator.cypher("CREATE (:Episodic {name: 'user: poison', poison: true})")
    await operator.cypher("CREATE CONSTRAINT poison FOR (n:Episodic) REQUIRE n.name IS UNIQUE")
    bad = await memory.turn("poison")
    assert (await operator.json("run", "--once"))["parked"] == 1
    [letter] = await operator.json("dead-letters", "list")
    assert (letter["kind"], letter["id"], letter["tries"]) == ("record", str(bad.primary.id), 1)
    assert letter["error"] == "Neo.ClientError.Schema.ConstraintValidationFailed"
    assert str(bad.primary.id) in await operator("dead-letters", "list")
    assert "--all" in await operator("dead-letters", "retry", status=1)
    await operator.cypher("DROP CONSTRAINT poison")
    assert await operator.json("dead-letters", "retry", str(bad.primary.id)) == {"changes": 1}
    await operator.json("run", "--once")
    assert await operator.json("dead-letters", "list") == []
    assert await operator.json("parked", "list") == [], "the name of earlier versions still works"
    assert await operator.json("dead-letters", "drop", "--all") == {"changes": 0}


async def test_without_a_mirror_the_command_says_how_to_start_one(operator: Operator) -> None:
    del operator.environment["STRATAGRAPH_NEO4J_URI"]
    assert "stratagraph neo4j start" in await operator("verify", status=1)
