"""The GraphiQL page in a real browser: it renders, explains the schema, runs a query, and contacts no other host."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from fix_browser import open_page

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
    """One open page, the addresses that it requested, and the errors that it reported."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.urls: list[str] = []
        self.problems: list[str] = []
        self.headers: dict[str, str] = {}
        page.on("request", lambda request: self.urls.append(request.url))
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", self._console)

    def _console(self, message: Any) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.problems.append(f"{message.type}: {message.text}")

    async def open(self, url: str) -> None:
        response = await self.page.goto(url, wait_until="networkidle")
        assert response.ok, response.status
        self.headers = response.headers
        await self.page.wait_for_selector(QUERY)


@pytest.fixture
def bearer_token() -> str | None:
    """The token to type into the header field; None where the service needs none."""
    return None


@pytest.fixture
async def visit(chromium: str, service_url: str) -> AsyncIterator[Visit]:
    async with open_page(chromium, width=1400, height=900) as page:
        visit = Visit(page)
        await visit.open(f"{service_url.rstrip('/')}/graphiql")
        yield visit


async def test_the_page_renders_under_its_content_security_policy(visit: Visit) -> None:
    assert await visit.page.title() == "Stratagraph"
    assert "retrieveGraph" in await visit.page.evaluate(GET_VALUE, QUERY)
    assert "Bearer" in await visit.page.evaluate(GET_VALUE, HEADERS)
    policy = [part.strip() for part in visit.headers["content-security-policy"].split(";")]
    assert sorted(part for part in policy if part) == sorted(CSP)


async def test_a_query_runs_the_schema_is_explained_and_no_token_is_stored(
    visit: Visit, service_url: str, bearer_token: str | None
) -> None:
    page = visit.page
    token = bearer_token or "spelled-out-secret"
    if bearer_token:
        await page.evaluate(SET_VALUE, [HEADERS, f'{{"Authorization": "Bearer {bearer_token}"}}'])
        visit.problems.clear()  # the page requested the schema before it had the token
    else:
        await page.evaluate(SET_VALUE, [HEADERS, f'{{"X-Secret": "{token}"}}'])
    await page.get_by_label("Re-fetch GraphQL schema").click()

    await page.get_by_label("Show Documentation Explorer").click()
    docs = page.locator(".graphiql-doc-explorer")
    await docs.get_by_text("Query", exact=True).first.click()
    await docs.get_by_text("retrieveGraph").first.wait_for()

    # Same operation name as the first query: GraphiQL registers a new name only after a pause.
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
        assert visit.problems == []
    assert not [problem for problem in visit.problems if "Content Security Policy" in problem]


async def test_the_preset_query_is_valid_and_answered(visit: Visit, bearer_token: str | None) -> None:
    page = visit.page
    if bearer_token:
        await page.evaluate(SET_VALUE, [HEADERS, f'{{"Authorization": "Bearer {bearer_token}"}}'])
    await page.get_by_label("Execute query").click()
    await page.wait_for_function(RESULT_HAS, arg=[RESULT, '"__typename": "RetrieveGraphSuccess"'])
    assert '"errors"' not in await page.evaluate(GET_VALUE, RESULT)
