"""The kit in the real Neo4j Browser: it takes the style sheet and the saved queries, draws our captions and colours,
runs every query without a warning, and does without the internet.

With STRATAGRAPH_TEST_PICTURES=docs/pictures it takes the pictures of docs/neo4j-browser.md.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fix_memory import Memory
from fix_neo4j import LONG_TERM, wipe
from story import bring_in_step, tell

from stratagraph.graph_sync.browser import BUNDLE_FOLDER, SavedQuery, saved_queries, style_sheet, write_kit
from stratagraph.service.local_neo4j import LocalNeo4j, LocalServer

async_api: Any = pytest.importorskip("playwright.async_api", reason="Playwright for Python is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURES = os.environ.get("STRATAGRAPH_TEST_PICTURES")
pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.soak,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
]

SETTER, *QUERIES = saved_queries()
PICTURED = {"05": "entity", "07": "episode", "09": "replaced", "10": "held-true", "14": "plans"}
ANSWERS_MS = 30_000
# The Browser asks for a font, and for what its makers want to know: feedback, usage, and on one visit of five timings.
ASKED_FOR = {"fonts.googleapis.com", "canny.io", "cdn.segment.com", "o110884.ingest.sentry.io"}
DROP = """([name, content, type]) => {
  const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0))
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
STANDS_STILL = """() => {
  const now = [...document.querySelectorAll('g.node')].map(node => node.getAttribute('transform')).join()
  const stands = now === window.before
  window.before = now
  return stands
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
    """As `stratagraph neo4j start --browser` starts it."""
    local = LocalNeo4j(tmp_path_factory.mktemp("neo4j-browser"), neo4j_cache_with_jars)
    started = local.start(version=LONG_TERM.version, browser=True)
    try:
        yield started
    finally:
        local.stop()


class Visit:
    """One open page of the Browser, and all it asked others for and complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.asked: set[str] = set()
        self.told: list[str] = []  # what would have gone elsewhere
        self.errors: list[str] = []
        page.set_default_timeout(ANSWERS_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    async def connect(self, server: LocalServer) -> None:
        async def only_ours(route: Any) -> None:
            host = urlsplit(route.request.url).hostname
            if host in (None, "127.0.0.1"):
                await route.continue_()
            else:
                self.asked.add(host)
                body = route.request.post_data_buffer or b""
                self.told.append(f"{route.request.url} {body.decode(errors='replace')}")
                await route.abort()

        await self.page.route("**/*", only_ours)
        await self.page.goto(server.browser, wait_until="load")
        await self.page.get_by_test_id("authenticationMethod").select_option(label="No authentication")
        await self.page.get_by_test_id("connect").click()
        await self.frame(":play start").wait_for()

    async def drop(self, file: Path, mime: str) -> None:
        """What dragging a file onto the page does."""
        content = base64.b64encode(await asyncio.to_thread(file.read_bytes)).decode()
        await self.page.evaluate(DROP, [file.name, content, mime])

    async def bring_in_the_kit(self, folder: Path) -> None:
        """As `stratagraph neo4j kit` says, and open the drawer with the saved queries."""
        style, queries, *_ = write_kit(folder)
        await self.drop(style, "")
        await self.frame(":style").wait_for()
        await self.drop(queries, "application/zip")
        await self.page.get_by_test_id("navigationFavorites").click()
        await self.page.get_by_test_id(f"expandFolder-{BUNDLE_FOLDER}").click()

    async def type(self, command: str) -> Any:
        """Run a command from the editor; returns the frame with its result."""
        await self.page.locator("[data-testid=activeEditor] .monaco-editor textarea").first.focus()
        await self.page.keyboard.insert_text(command)
        await self.page.get_by_test_id("editor-Run").click()
        frame = self.frame(command)
        await frame.wait_for()
        return frame

    async def run(self, query: SavedQuery) -> Any:
        """Press the play button of a saved query; returns the frame with its result."""
        item = self.page.get_by_test_id("savedScriptListItem").filter(has_text=query.title)
        await item.get_by_test_id("savedScriptsButton-Run").click()
        frame = self.frame(f"// {query.title} //")
        await frame.wait_for()
        return frame

    async def set_parameters(self) -> None:
        """Run the first of the saved queries, to its end."""
        setting = await self.run(SETTER)
        await self.page.wait_for_function(ALL_DONE, arg=len(SETTER.parameters))
        marks = setting.get_by_test_id(STATEMENTS)
        assert await marks.evaluate_all("marks => marks.every(mark => mark.title === 'Status: success')")

    async def answered(self, query: SavedQuery) -> Any:
        """Run a saved query, and see that it is answered with something, without an error or a warning."""
        frame = await self.run(query)
        await frame.get_by_test_id("frame-loaded-contents").wait_for()
        if await frame.get_by_test_id("cypherFrameSidebarVisualization").count():
            await frame.locator("g.node circle.b-outline").first.wait_for()
        said = await frame.inner_text()
        assert "ERROR" not in said, said
        assert not re.search(r"^Warn$", said, flags=re.MULTILINE), query.title
        assert "no records" not in said, query.title
        return frame

    async def drawn(self, frame: Any) -> dict[str, str]:
        """The nodes of a frame: captions, as far as there is room for them, and colours."""
        found: dict[str, str] = dict(await frame.evaluate(DRAWN))
        return found

    def frame(self, command: str) -> Any:
        """The newest frame whose command line begins so."""
        shown = self.page.get_by_test_id("frameCommand").filter(has_text=command)
        return self.page.get_by_test_id("frame").filter(has=shown).first

    async def picture(self, name: str) -> None:
        if PICTURES is not None:
            await self.page.screenshot(path=Path(PICTURES) / f"{name}.png")

    async def picture_of(self, frame: Any, name: str) -> None:
        """The frame alone, on the whole page, once what is drawn stands still."""
        if PICTURES is None:
            return
        await frame.get_by_title("Fullscreen", exact=True).click()
        # Frames slide in; until one has arrived, the whole page is not the whole page to it.
        await self.page.wait_for_function(FILLS_THE_PAGE, arg=await frame.element_handle())
        if await frame.locator("g.node").count():
            await frame.get_by_label("zoom-to-fit").click()
            await self.page.mouse.move(180, 100)  # what fits the frame may lie under the legend: drag it aside
            await self.page.mouse.down()
            await self.page.mouse.move(90, 100, steps=5)
            await self.page.mouse.up()
            await self.page.evaluate("() => { window.before = null }")
            await self.page.wait_for_function(STANDS_STILL, polling=500)
        await self.picture(name)
        await frame.get_by_title("Close fullscreen").click()
        await frame.get_by_title("Fullscreen", exact=True).wait_for()


@pytest.fixture
async def visit(memory: Memory, server: LocalServer) -> AsyncIterator[Visit]:
    wipe(server.bolt)
    await tell(memory)
    await bring_in_step(memory, server.bolt)
    async with async_api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        try:
            visit = Visit(await browser.new_page(viewport={"width": 1200, "height": 750}))
            await visit.connect(server)
            yield visit
        finally:
            await browser.close()


def colour_of(label: str) -> str:
    found = re.search(rf"node\.{label} {{[^}}]*?[^-]color: (#\w+);", style_sheet())
    assert found is not None
    return found[1]


async def test_a_visit_with_the_kit(visit: Visit, tmp_path: Path) -> None:
    await visit.bring_in_the_kit(tmp_path / "kit")
    taken = await visit.frame(":style").inner_text()
    assert " ".join(style_sheet().split()) in " ".join(taken.split())
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
            await captions_and_colours_are_ours(visit, frame)
        elif number == "09":
            assert colour_of("Past") in (await visit.drawn(frame)).values()
        if number in PICTURED:
            await visit.picture_of(frame, PICTURED[number])
    assert visit.errors == []
    assert visit.asked <= ASKED_FOR
    assert not [told for told in visit.told if "Lantern" in told or "MATCH" in told]


async def captions_and_colours_are_ours(visit: Visit, frame: Any) -> None:
    drawn = await visit.drawn(frame)
    assert drawn["Lantern"] == colour_of("Project")
    assert drawn["Plan: roll Lantern back"] == colour_of("PlanGraph")
    kinds = ("Project", "Episodic", "Semantic", "Working", "Competence", "PlanGraph")
    assert set(drawn.values()) == {colour_of(kind) for kind in kinds}
    assert all(drawn), "every node has a caption"
    arrows = dict(await frame.evaluate(ARROWS))
    assert {"SUBJECT_ENTITY", "MENTIONS_ENTITY", "FOLLOWS"} <= set(arrows)
    legend = await frame.inner_text()
    assert "Project (1)" in legend
    assert "PlanGraph (2)" in legend
