"""`stratagraph import memories` as people run it: dry, and refused in parts."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
from fix_service import MASTER_KEY, environment, run_command

SAMPLES = Path(__file__).parents[1] / "data" / "memories"


async def test_the_command_says_what_would_come_and_stores_nothing_until_it_is_run(
    database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url=database_url, data_dir=str(tmp_path / "data"), master_key=MASTER_KEY)
    status, out, err = await run_command("import", "memories", str(SAMPLES), "--dry-run", env=env)
    assert status == 0, err
    assert "nothing was stored" in out
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM record").fetchone() == (0,)
    status, out, err = await run_command("import", "memories", str(SAMPLES), "--json", env=env)
    assert status == 0, err
    summary = json.loads(out)
    assert (summary["dry_run"], summary["replayed"], summary["refused"]) == (False, 0, [])
    status, out, err = await run_command("ask", "Where did Odile Faure work in 2022?", "--json", env=env)
    assert status == 0, err
    best = json.loads(out)["retrieveGraph"]["nodes"][0]["record"]
    assert "Brightwell" in best["name"]


async def test_the_command_lists_what_it_refuses_and_exits_with_1(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url=database_url, data_dir=str(tmp_path / "data"), master_key=MASTER_KEY)
    file = tmp_path / "m.json"
    file.write_text('[{"id": "1", "memory": "sings"}, {"id": "2", "memory": 5}]')
    status, out, err = await run_command("import", "memories", str(file), env=env)
    assert status == 1
    assert "not imported: m.json item 2: memory: must be a string" in " ".join(err.split())
    assert "1; 0 had been imported before" in " ".join(out.split())
    status, _, err = await run_command("import", "memories", str(file), "--as", "graphiti", env=env)
    assert status == 1
    assert "is not of this format: it has no `uuid`" in " ".join(err.split())
    status, _, err = await run_command("import", "memories", str(tmp_path / "none.json"), env=env)
    assert status == 1
    assert "does not exist" in " ".join(err.split())
    assert "Traceback" not in err
