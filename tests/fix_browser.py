"""Chromium for the tests that drive a web page: the fixture `chromium`, and `open_page`.

Where Chromium or Playwright is missing, these tests skip with the reason; with CI=true they fail with it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import pytest

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
# --no-sandbox: Chromium refuses to start as root with its sandbox, and CI runs as root.
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium on the PATH. Skips where there is none; with CI=true, fails instead."""
    if importlib.util.find_spec("playwright") is None:
        _missing("Playwright for Python is not installed; `make install` installs it")
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        _missing(f"none of {', '.join(EXECUTABLES)} is on the PATH; on Debian: apt-get install chromium")
    return found


@asynccontextmanager
async def open_page(chromium: str, *, width: int, height: int) -> AsyncIterator[Any]:
    """Open an empty page of `width` x `height` pixels in a browser of its own; close the browser at the end."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            yield await browser.new_page(viewport={"width": width, "height": height})
        finally:
            await browser.close()


def _missing(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"CI needs a browser: {reason}", pytrace=False)
    pytest.skip(reason)
