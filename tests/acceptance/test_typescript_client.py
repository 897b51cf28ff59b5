"""The TypeScript client: its own tests against a service, a restart under a subscription, the package, a browser.

`make clients` builds it. Where it is not built, these tests skip with the reason; with CI=true they fail.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
from checkout import ROOT
from fix_browser import open_page
from fix_live import note
from fix_service import Client, Service, run_command, running

CLIENT = ROOT / "clients" / "typescript"
SOURCES = (ROOT / "schema.graphql", ROOT / "clients" / "operations", CLIENT / "src", CLIENT / "test")
pytestmark = pytest.mark.xdist_group("typescript")


@pytest.fixture(scope="module")
def client_folder() -> Path:
    """The folder of the client, built from the sources of this checkout."""
    built = CLIENT / "build" / ".built"
    reason = "" if built.exists() else "the TypeScript client is not built; run `make clients`"
    if not reason and built.stat().st_mtime < max(path.stat().st_mtime for path in _sources()):
        reason = "the TypeScript client is older than its sources; run `make clients`"
    if reason and os.environ.get("CI"):
        pytest.fail(f"CI needs the TypeScript client: {reason}", pytrace=False)
    if reason:
        pytest.skip(reason)
    return CLIENT


def _sources() -> list[Path]:
    inside = [path for source in SOURCES if source.is_dir() for path in source.glob("*.*")]
    return [*inside, *(source for source in SOURCES if source.is_file())]


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Run a program, and return what it printed; fail with it where the program does."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_clients_own_tests_pass_against_a_service(client_folder: Path, service_url: str) -> None:
    files = sorted(client_folder.glob("build/*.test.js"))
    told = run("node", "--test", "--test-concurrency=4", *files, cwd=client_folder, STRATAGRAPH_URL=service_url)
    assert "# fail 0" in told
    assert "# skipped 0" in told


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


async def test_a_subscription_goes_on_when_the_service_is_restarted(
    client_folder: Path, database_url: str, tmp_path: Path
) -> None:
    """Once it is stopped and once killed; what is written before, between and after comes once each, in order."""
    settings = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path), "port": str(free_port())}
    rounds, each = 3, 5
    written: list[str] = []
    followers = []
    try:
        with running(**settings) as service:
            for transport in ("ws", "sse"):
                arguments = (transport, str(service.url), "restarts", str(rounds * each))
                followers.append(await follower(client_folder, *arguments))
            written += await write(service, each)
        with running(**settings) as service:
            written += await write(service, each)
            service.kill()
        with running(**settings) as service:
            written += await write(service, each)
            async with asyncio.timeout(60):
                ended = [await one.communicate() for one in followers]
        assert [one.returncode for one in followers] == [0, 0], [err for _, err in ended]
        assert [out.decode().split() for out, _ in ended] == [written, written]
    finally:
        for one in followers:
            if one.returncode is None:
                one.kill()


async def follower(client_folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    """Start a program that follows changes, and wait until it has a position."""
    process = await asyncio.create_subprocess_exec(
        *("node", "build/follow.js", *arguments),
        cwd=client_folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"ready\n"
    return process


async def write(service: Service, count: int) -> Sequence[str]:
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, str(service.url))
        return [await note(client, f"note {number}", scope="restarts") for number in range(count)]


@pytest.fixture(scope="module")
def installed(client_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the packed client, installed from its tarball and those of what it depends on.

    They are packed from the client's own folder, so that no registry is asked.
    """
    packed, folder = tmp_path_factory.mktemp("packed"), tmp_path_factory.mktemp("installed")
    needed = json.loads((client_folder / "package.json").read_text())["dependencies"]
    packages = [client_folder, *(client_folder / "node_modules" / name for name in needed)]
    run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", packed, *packages, cwd=packed)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    quiet = ("--offline", "--no-audit", "--no-fund", "--loglevel=error")
    run("npm", "install", *quiet, *sorted(packed.glob("*.tgz")), cwd=folder)
    shutil.copy(next(packed.glob("stratagraph-client-*.tgz")), folder / "client.tgz")
    return folder


def test_the_package_has_what_a_program_needs_and_no_more(installed: Path) -> None:
    with tarfile.open(installed / "client.tgz") as tarball:
        names = {name.removeprefix("package/") for name in tarball.getnames()}
    assert {"LICENSE", "README.md", "package.json", "dist/index.js", "dist/index.d.ts"} <= names
    assert {name.split("/")[0] for name in names} == {"LICENSE", "README.md", "package.json", "dist"}
    assert all(name.endswith((".js", ".d.ts")) for name in names if name.startswith("dist/"))
    package = json.loads((installed / "node_modules/stratagraph-client/package.json").read_text())
    assert (package.get("private", False), package["license"], package["sideEffects"]) == (False, "Apache-2.0", False)
    assert "node_modules/.bin" not in " ".join(package["scripts"].values())


def test_the_page_of_the_client_says_what_happens(installed: Path, client_folder: Path, service_url: str) -> None:
    """All blocks of the page are one program, compiled strictly; what it prints is what the page says."""
    page = (ROOT / "docs/clients/typescript.md").read_text()
    blocks = re.findall(r"^```(ts|text)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 10
    program, expected = "", []
    for (language, text), following in pairwise([*blocks, ("", "")]):
        if language == "ts":
            program += text + "console.log('---');\n"
            expected.append(following[1] if following[0] == "text" else "")
    folder = installed / "page"
    folder.mkdir()
    (folder / "page.ts").write_text(program.replace("http://127.0.0.1:8000", service_url))
    options = {
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "noUncheckedIndexedAccess": True,
        "module": "nodenext",
        "target": "ES2022",
        "lib": ["ES2022"],
        "types": ["node"],
        "typeRoots": [str(client_folder / "node_modules/@types")],
        "skipLibCheck": True,
    }
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["page.ts"]}))
    run(client_folder / "node_modules/.bin/tsc", "--project", folder, cwd=installed)
    printed = run("node", folder / "page.js", cwd=installed)
    assert printed.split("---\n")[:-1] == expected


PLAN = ROOT / "examples" / "plan_front_end"
GRAPH = """query($id: ID!) { planGraph(id: $id) { steps { id label rank order } links { id source target } } }"""


@pytest.fixture
def front_end(installed: Path, tmp_path: Path) -> Path:
    """The example, with the packed client beside it."""
    folder = tmp_path / "front_end"
    shutil.copytree(PLAN, folder, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(installed / "node_modules", folder / "node_modules")
    return folder


async def store_plan(client: Client, version: int, ops: Sequence[str], token: str | None = None) -> dict[str, Any]:
    """Capture a plan in which every step but the first follows the first and the one before; return its graph."""
    nodes = [{"id": op, "op": f'{op} <it> & "go"'} for op in ops]
    pairs = {*pairwise(ops), *((ops[0], op) for op in ops[1:])}
    edges = [{"from": one, "to": other, "kind": "control"} for one, other in sorted(pairs)]
    content = {"plan_id": "release", "version": str(version), "intent": "release", "nodes": nodes, "edges": edges}
    given = {"source": "test", "sourceKind": "OBSERVATION", "proposedType": "PLAN_GRAPH", "content": content}
    capture = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
      ... on MemoryError { message } } }"""
    captured = await client.data(capture, token, input=given)
    assert captured["captureMemory"]["__typename"] == "CaptureMemorySuccess", captured
    graph: dict[str, Any] = (await client.data(GRAPH, token, id="release"))["planGraph"]
    assert len(graph["steps"]) == len(ops)
    return graph


def compare(svg: str, graph: Mapping[str, Any]) -> None:
    """Check that a picture has the steps and links of an answer, each step right of those that it follows."""
    picture = ET.fromstring(svg)
    drawn = {one.get("id"): one for one in picture.iter() if one.get("class") in ("step", "link")}
    steps = {f"step-{step['id']}": step for step in graph["steps"]}
    assert set(drawn) == {*steps, *(link["id"] for link in graph["links"])}
    left = {}
    for id_, step in steps.items():
        box, label, _ = drawn[id_]
        assert label.text == step["label"]
        left[step["id"]] = float(box.get("x", "nan"))
    for link in graph["links"]:
        assert left[link["source"]] < left[link["target"]]


async def test_a_front_end_draws_what_the_service_answers(front_end: Path, client: Client) -> None:
    graph = await store_plan(client, 1, ["build", "test", "ship"])
    compare(run("node", "plan.mjs", "release", cwd=front_end, STRATAGRAPH_URL=client.url), graph)


async def test_the_example_brings_a_plan_to_draw(front_end: Path, client: Client) -> None:
    commands = [line.split("#")[0].split(">")[0].split() for line in (PLAN / "README.md").read_text().splitlines()]
    seed, plan = ([one for one in commands if one[:2] == ["node", name]] for name in ("seed.mjs", "plan.mjs"))
    run(*seed[0], cwd=front_end, STRATAGRAPH_URL=client.url)
    drawn = run(*plan[0], cwd=front_end, STRATAGRAPH_URL=client.url)
    graph = (await client.data(GRAPH, id=plan[0][2]))["planGraph"]
    assert len(graph["steps"]) == 6
    compare(drawn, graph)


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """Run the example's server of pages, and yield its address."""
    process = await asyncio.create_subprocess_exec("node", "serve.mjs", "0", cwd=folder, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()


async def test_a_page_of_another_origin_draws_a_plan_and_follows_it(
    front_end: Path, database_url: str, tmp_path: Path, chromium: str
) -> None:
    """The modules are not bundled; the page has a key of its own, and nothing is loaded again."""
    async with serving(front_end) as origin:
        settings = {"database_url": database_url, "data_dir": str(tmp_path / "data"), "single_user": "off"}
        with running(**settings, cors_origins=origin) as service:
            reader, writer = [await key_of(service, access) for access in ("read", "write")]
            async with httpx.AsyncClient(timeout=30) as http, open_page(chromium, width=900, height=500) as page:
                client = Client(http, str(service.url))
                other = await page.context.browser.new_page()
                graph = await store_plan(client, 1, ["build", "test"], writer)
                problems: list[str] = []
                for one, transport in ((page, "ws"), (other, "sse")):
                    one.on("pageerror", lambda error: problems.append(str(error)))
                    asked = f"service={service.url}&plan=release&transport={transport}"
                    await one.goto(f"{origin}/?{asked}#key={reader}")
                    compare(await drawn(one, 2), graph)
                graph = await store_plan(client, 2, ["build", "test", "ship"], writer)
                for one in (page, other):
                    compare(await drawn(one, 3), graph)
                assert problems == []


async def key_of(service: Service, access: str) -> str:
    """Make an API key with this access, and return its token."""
    options = ("--tenant", "acme", "--scope", "*", "--access", access, "--json")
    made, out, err = await run_command("token", "create", access, *options, env=service.environment)
    assert made == 0, err
    token: str = json.loads(out)["token"]
    return token


async def drawn(page: Any, steps: int) -> str:
    """Wait until the page shows this number of steps, and return its picture."""
    await page.wait_for_function(f"document.querySelectorAll('.step').length === {steps}", timeout=60_000)
    svg: str = await page.evaluate("new XMLSerializer().serializeToString(document.querySelector('svg'))")
    return svg
