"""The kit in the real Neo4j Browser: the Browser imports the style sheet and the saved queries, draws the captions and
colours of the style sheet, runs the queries without a warning, and works without the internet.

`make test` runs the short test with two of the saved queries; `make soak` runs all of them. With
STRATAGRAPH_TEST_PICTURES=docs/pictures the long test writes the pictures of docs/mirror.md.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fix_browser import open_page
from fix_memory import Memory
from fix_neo4j import LONG_TERM, wipe
from story import capture_story, sync_mirror

from stratagraph.graph_sync.browser import BUNDLE_FOLDER, SavedQuery, saved_queries, style_sheet, write_kit
from stratagraph.service.local_neo4j import LocalNeo4j, LocalServer
from stratagraph.service.local_neo4j.password import credentials

PICTURES = os.environ.get("STRATAGRAPH_TEST_PICTURES")
pytestmark = pytest.mark.neo4j

SETTER, *QUERIES = saved_queries()
SHORT_TEST = ("01", "05")  # a table and a graph
PICTURED = {"05": "entity", "07": "episode", "09": "replaced", "10": "held-true", "14": "plans"}
ANSWERS_MS = 30_000
# Hosts that the Browser requests: one for a font; the others for feedback, usage reports and, on one visit in five,
# timings. The test blocks them all.
KNOWN_HOSTS = {"fonts.googleapis.com", "canny.io", "cdn.segment.com", "o110884.ingest.sentry.io"}
DROP = """([name, content, type]) => {
  const bytes = Uint8Array.from(atob(content), character => character.charCodeAt(0))
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([bytes], name, {type}))
  for (const event of ['dragenter', 'dragover', 'drop'])
    document.querySelector('.filedrop').dispatchEvent(
      new DragEvent(event, {bubbles: true, cancelable: true, dataTransfer}))
}"""
DRAWN = """frame => [...frame.querySelectorAll('g.node')].map(node => [
  [...node.querySelectorAll('text.caption')].map(line => line.textContent.trim()).join(' '),
  node.querySelector('circle.b-outline').getAttribute('fill'),
])"""
ARROWS = """frame => [...frame.querySelectorAll('g.relationship')].map(arrow => [
  arrow.querySelector('text').textContent, arrow.querySelector('path.b-outline').getAttribute('fill'),
])"""
DRAWING_IS_STILL = """() => {
  const now = [...document.querySelectorAll('g.node')].map(node => node.getAttribute('transform')).join()
  const same = now === window.before
  window.before = now
  return same
}"""
FRAMES_ARE_STILL = """() => {
  const frames = [...document.querySelectorAll('[data-testid=frame]')]
  const now = frames.map(frame => frame.getBoundingClientRect().top).join()
  const same = now === window.tops
  window.tops = now
  return same
}"""
FILLS_THE_PAGE = """frame => {
  const box = frame.getBoundingClientRect()
  return box.left <= 0 && box.top <= 0 && box.width >= innerWidth && box.height >= innerHeight
}"""
STATEMENTS = "multi-statement-list-icon"
ALL_DONE = """count => {
  const marks = [...document.querySelectorAll('[data-testid=multi-statement-list-icon]')]
  return marks.length === count && marks.every(mark => /success|error|skipped/.test(mark.title))
}"""


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, neo4j_cache_with_jars: Path, quick_java: None
) -> Iterator[LocalServer]:
    """A server with Neo4j Browser, as `stratagraph neo4j start --browser` starts one."""
    local = LocalNeo4j(tmp_path_factory.mktemp("neo4j-browser"), neo4j_cache_with_jars)
    started = local.start(version=LONG_TERM.version, browser=True)
    try:
        yield started
    finally:
        local.stop()


class Visit:
    """One open page of the Browser, its blocked requests to other hosts, and its JavaScript errors."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.hosts: set[str] = set()
        self.blocked: list[str] = []  # address and body of each blocked request
        self.errors: list[str] = []
        page.set_default_timeout(ANSWERS_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    async def connect(self, server: LocalServer) -> None:
        async def block_other_hosts(route: Any) -> None:
            host = urlsplit(route.request.url).hostname
            if host in (None, "127.0.0.1"):
                await route.continue_()
            else:
                self.hosts.add(host)
                body = route.request.post_data_buffer or b""
                self.blocked.append(f"{route.request.url} {body.decode(errors='replace')}")
                await route.abort()

        await self.page.route("**/*", block_other_hosts)
        await self.page.goto(server.browser, wait_until="load")
        user, password = login(server)
        await self.page.get_by_test_id("authenticationMethod").select_option(label="Username / Password")
        await self.page.get_by_test_id("username").fill(user)
        await self.page.get_by_test_id("password").fill(password)
        await self.page.get_by_test_id("connect").click()
        await self.frame(":play start").wait_for()

    async def drop(self, file: Path, mime: str) -> None:
        """Send the events of dragging a file onto the page."""
        content = base64.b64encode(await asyncio.to_thread(file.read_bytes)).decode()
        await self.page.evaluate(DROP, [file.name, content, mime])

    async def import_kit(self, folder: Path) -> None:
        """Import the kit as `stratagraph neo4j kit` explains, and open the drawer with the saved queries."""
        style, queries, *_ = write_kit(folder)
        await self.drop(style, "")
        await self.frame(":style").wait_for()
        await self.drop(queries, "application/zip")
        await self.page.get_by_test_id("navigationFavorites").click()
        await self.page.get_by_test_id(f"expandFolder-{BUNDLE_FOLDER}").click()

    async def type(self, command: str) -> Any:
        """Run a command from the editor and return the frame with its result."""
        await self.page.locator("[data-testid=activeEditor] .monaco-editor textarea").first.focus()
        await self.page.keyboard.insert_text(command)
        await self.page.get_by_test_id("editor-Run").click()
        frame = self.frame(command)
        await frame.wait_for()
        return frame

    async def run(self, query: SavedQuery) -> Any:
        """Press the play button of a saved query and return the frame with its result."""
        item = self.page.get_by_test_id("savedScriptListItem").filter(has_text=query.title)
        await item.get_by_test_id("savedScriptsButton-Run").click()
        frame = self.frame(f"// {query.title} //")
        await frame.wait_for()
        return frame

    async def set_parameters(self) -> None:
        """Run the first saved query, which sets the parameters of the others, and wait for its last statement."""
        setting = await self.run(SETTER)
        await self.page.wait_for_function(ALL_DONE, arg=len(SETTER.parameters))
        marks = setting.get_by_test_id(STATEMENTS)
        assert await marks.evaluate_all("marks => marks.every(mark => mark.title === 'Status: success')")

    async def answered(self, query: SavedQuery) -> Any:
        """Run a saved query, check that it returns records without an error or a warning, and return its frame."""
        frame = await self.run(query)
        await frame.get_by_test_id("frame-loaded-contents").wait_for()
        if await frame.get_by_test_id("cypherFrameSidebarVisualization").count():
            await frame.locator("g.node circle.b-outline").first.wait_for()
        shown = await frame.inner_text()
        assert "ERROR" not in shown, shown
        assert not re.search(r"^Warn$", shown, flags=re.MULTILINE), query.title
        assert "no records" not in shown, query.title
        return frame

    async def nodes_in(self, frame: Any) -> dict[str, str]:
        """Return the nodes in a frame: their colours keyed by caption, cut to the space of the node."""
        found: dict[str, str] = dict(await frame.evaluate(DRAWN))
        return found

    def frame(self, command: str) -> Any:
        """The newest frame whose command line contains `command`."""
        line = self.page.get_by_test_id("frameCommand").filter(has_text=command)
        return self.page.get_by_test_id("frame").filter(has=line).first

    async def picture(self, name: str) -> None:
        """Write a picture of the page, once its frames have slid to their places."""
        if PICTURES is not None:
            await self.page.wait_for_function(FRAMES_ARE_STILL, polling=500)
            await self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    async def picture_of(self, frame: Any, name: str) -> None:
        """Write a picture of one frame in full screen, once its drawing has stopped moving."""
        if PICTURES is None:
            return
        # A frame slides in, and full screen measures the page wrongly until the frame has arrived.
        await self.page.wait_for_function(FRAMES_ARE_STILL, polling=500)
        await frame.get_by_title("Fullscreen", exact=True).click()
        await self.page.wait_for_function(FILLS_THE_PAGE, arg=await frame.element_handle())
        if await frame.locator("g.node").count():
            await frame.get_by_label("zoom-to-fit").click()
            await self.page.mouse.move(180, 100)  # the legend may cover the drawing, so drag the drawing aside
            await self.page.mouse.down()
            await self.page.mouse.move(90, 100, steps=5)
            await self.page.mouse.up()
            await self.page.evaluate("() => { window.before = null }")
            await self.page.wait_for_function(DRAWING_IS_STILL, polling=500)
        await self.picture(name)
        await frame.get_by_title("Close fullscreen").click()
        await frame.get_by_title("Fullscreen", exact=True).wait_for()


def login(server: LocalServer) -> tuple[str, str]:
    found = credentials(server.home)
    assert found is not None
    return found


@pytest.fixture
async def visit(chromium: str, memory: Memory, server: LocalServer) -> AsyncIterator[Visit]:
    wipe(server.bolt, login(server))
    await capture_story(memory)
    await sync_mirror(memory, server.bolt, login(server))
    async with open_page(chromium, width=1200, height=750) as page:
        visit = Visit(page)
        await visit.connect(server)
        yield visit


def colour_of(label: str) -> str:
    """Return the colour that the style sheet gives to nodes with this label."""
    found = re.search(rf"node\.{label} {{[^}}]*?[^-]color: (#\w+);", style_sheet())
    assert found is not None
    return found[1]


async def test_the_browser_imports_the_kit_and_answers_two_saved_queries(visit: Visit, tmp_path: Path) -> None:
    await visit.import_kit(tmp_path / "kit")
    await visit.set_parameters()
    for query in QUERIES:
        if query.title[:2] in SHORT_TEST:
            frame = await visit.answered(query)
    await check_captions_and_colours(visit, frame)
    check_nothing_sent(visit)


@pytest.mark.soak
async def test_the_browser_answers_every_saved_query(visit: Visit, tmp_path: Path) -> None:
    await visit.import_kit(tmp_path / "kit")
    shown = await visit.frame(":style").inner_text()
    assert " ".join(style_sheet().split()) in " ".join(shown.split())
    folder = visit.page.get_by_test_id(f"savedScriptsFolder-{BUNDLE_FOLDER}")
    listed = await folder.locator("[data-testid^=scriptTitle]").all_inner_texts()
    assert listed == [query.title for query in saved_queries()]

    await visit.set_parameters()
    parameters = json.loads(await (await visit.type(":params")).get_by_test_id("rawParamData").inner_text())
    assert set(parameters) == set(SETTER.parameters)
    assert parameters["name"] == "Lantern"
    for query in QUERIES:
        frame = await visit.answered(query)
        number = query.title[:2]
        if number == "01":
            await visit.picture("saved-queries")
        elif number == "05":
            await check_captions_and_colours(visit, frame)
        elif number == "09":
            assert colour_of("Past") in (await visit.nodes_in(frame)).values()
        if number in PICTURED:
            await visit.picture_of(frame, PICTURED[number])
    check_nothing_sent(visit)


def check_nothing_sent(visit: Visit) -> None:
    """Check that the page had no JavaScript error and tried to send nothing of the graph to another host."""
    assert visit.errors == []
    assert visit.hosts <= KNOWN_HOSTS
    assert not [request for request in visit.blocked if "Lantern" in request or "MATCH" in request]


async def check_captions_and_colours(visit: Visit, frame: Any) -> None:
    """Check the captions, colours, arrows and legend in the frame of query 05 about Lantern."""
    nodes_in = await visit.nodes_in(frame)
    assert nodes_in["Lantern"] == colour_of("Project")
    assert nodes_in["Plan: roll Lantern back"] == colour_of("PlanGraph")
    kinds = ("Project", "Turn", "Commit", "Semantic", "Working", "Competence", "PlanGraph")
    assert set(nodes_in.values()) == {colour_of(kind) for kind in kinds}
    assert all(nodes_in), "every node must have a caption"
    arrows = dict(await frame.evaluate(ARROWS))
    assert {"SUBJECT_ENTITY", "MENTIONS_ENTITY", "FOLLOWS"} <= set(arrows)
    legend = await frame.inner_text()
    assert "Project (1)" in legend
    assert "PlanGraph (2)" in legend
