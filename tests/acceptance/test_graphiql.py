"""The GraphiQL page in a real browser: it renders, explains the schema, runs a query, and calls no one but us."""

import shutil
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

async_api: Any = pytest.importorskip("playwright.async_api", reason="Playwright for Python is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")

CSP = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "frame-ancestors 'none'",
)

HEADERS = ".graphiql-editor-tool .graphiql-editor:not(.hidden) .CodeMirror"
QUERY = ".graphiql-query-editor .CodeMirror"
RESULT = ".result-window .CodeMirror"

SET_VALUE = """([selector, text]) => document.querySelector(selector).CodeMirror.setValue(text)"""
GET_VALUE = """selector => document.querySelector(selector).CodeMirror.getValue()"""
RESULT_HAS = """([selector, text]) => document.querySelector(selector)?.CodeMirror?.getValue().includes(text)"""
STORED = """() => JSON.stringify(Object.entries(localStorage))"""


class Visit:
    """One open page, and all it asked for and complained about."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.urls: list[str] = []
        self.complaints: list[str] = []
        self.headers: dict[str, str] = {}
        page.on("request", lambda request: self.urls.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", self._console)

    def _console(self, message: Any) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    async def open(self, url: str) -> None:
        response = await self.page.goto(url, wait_until="networkidle")
        assert response.ok, response.status
        self.headers = response.headers
        await self.page.wait_for_selector(QUERY)


@pytest.fixture
def bearer_token() -> str | None:
    """The token to type into the header field; None where the service wants none."""
    return None


@pytest.fixture
async def visit(service_url: str) -> AsyncIterator[Visit]:
    async with async_api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        try:
            visit = Visit(await browser.new_page(viewport={"width": 1400, "height": 900}))
            await visit.open(f"{service_url.rstrip('/')}/graphiql")
            yield visit
        finally:
            await browser.close()


async def test_the_page_renders_under_its_content_security_policy(visit: Visit) -> None:
    assert await visit.page.title() == "Stratagraph"
    assert "retrieveGraph" in await visit.page.evaluate(GET_VALUE, QUERY)
    assert "Bearer" in await visit.page.evaluate(GET_VALUE, HEADERS)
    policy = [part.strip() for part in visit.headers["content-security-policy"].split(";")]
    assert sorted(part for part in policy if part) == sorted(CSP)


async def test_a_first_session(visit: Visit, service_url: str, bearer_token: str | None) -> None:
    page = visit.page
    token = bearer_token or "spelled-out-secret"
    if bearer_token:
        await page.evaluate(SET_VALUE, [HEADERS, f'{{"Authorization": "Bearer {bearer_token}"}}'])
        visit.complaints.clear()  # the schema was asked for without a token
    else:
        await page.evaluate(SET_VALUE, [HEADERS, f'{{"X-Secret": "{token}"}}'])
    await page.get_by_label("Re-fetch GraphQL schema").click()

    await page.get_by_label("Show Documentation Explorer").click()
    docs = page.locator(".graphiql-doc-explorer")
    await docs.get_by_text("Query", exact=True).first.click()
    await docs.get_by_text("retrieveGraph").first.wait_for()

    # Keeps the name of the query before: GraphiQL takes note of a new one only after a pause.
    await page.evaluate(SET_VALUE, [QUERY, "query FirstLook { __typename }"])
    await page.get_by_label("Execute query").click()
    await page.wait_for_function(RESULT_HAS, arg=[RESULT, '"__typename": "Query"'])

    await page.wait_for_timeout(1000)  # GraphiQL writes its state after a pause
    assert token not in await page.evaluate(STORED)
    await page.reload(wait_until="networkidle")
    await page.wait_for_selector(QUERY)
    assert token not in await page.evaluate(STORED)
    assert token not in await page.evaluate(GET_VALUE, HEADERS)

    own = urlsplit(service_url).netloc
    assert {urlsplit(url).netloc for url in visit.urls if not url.startswith(("data:", "blob:"))} == {own}
    if bearer_token is None:
        assert visit.complaints == []
    assert not [complaint for complaint in visit.complaints if "Content Security Policy" in complaint]


async def test_the_first_query_is_valid_and_answered(visit: Visit, bearer_token: str | None) -> None:
    page = visit.page
    if bearer_token:
        await page.evaluate(SET_VALUE, [HEADERS, f'{{"Authorization": "Bearer {bearer_token}"}}'])
    await page.get_by_label("Execute query").click()
    await page.wait_for_function(RESULT_HAS, arg=[RESULT, '"__typename": "RetrieveGraphSuccess"'])
    assert '"errors"' not in await page.evaluate(GET_VALUE, RESULT)
