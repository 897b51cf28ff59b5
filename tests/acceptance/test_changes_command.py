"""`stratagraph changes` beside a running service, and without one."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path

import httpx
from fix_live import note
from fix_service import Client, Forked, environment, run_command, running


async def test_changes_are_printed_from_a_position_and_as_they_come(tmp_path: Path) -> None:
    env = environment(data_dir=str(tmp_path / "data"))
    with running(single_user="on", data_dir=str(tmp_path / "data")) as service:
        assert service.url is not None
        status, out, err = await run_command("changes", env=env)
        assert status == 0, err
        (position,) = re.findall(r"--after (\S+)", out)
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)
            ids = [await note(client, f"note {number}") for number in range(3)]
            status, out, err = await run_command("changes", "--after", position, env=env)
            assert status == 0, err
            assert [line for line in out.splitlines() if "created" in line and "note 1" in line]
            status, out, err = await run_command("changes", "--after", position, "--json", env=env)
            assert status == 0, err
            nodes = json.loads(out)["changes"]["nodes"]
            assert [one["recordId"] for one in nodes] == ids
            with (tmp_path / "err").open("w") as errors:
                following = Forked(["changes", "--after", position, "--follow", "--json"], env, errors)
                async with asyncio.timeout(60):
                    lines = [await asyncio.to_thread(following.stdout.readline) for _ in ids]
                    ids.append(await note(client, "while it follows"))
                    lines.append(await asyncio.to_thread(following.stdout.readline))
                following.send_signal(signal.SIGINT)
                assert following.wait(timeout=30) == 0
                following.stdout.close()
            assert [json.loads(line)["recordId"] for line in lines] == ids
        status, _, err = await run_command("query", "subscription { changed { kind } }", env=env)
        assert status == 1
        assert "changes --follow" in " ".join(err.split())
    status, out, err = await run_command("changes", "--after", position, "--json", env=env)
    assert status == 0, err
    assert [one["recordId"] for one in json.loads(out)["changes"]["nodes"]] == ids
    status, _, err = await run_command("changes", "--after", "x", env=env)
    assert status == 1
    assert "is not a position" in " ".join(err.split())
