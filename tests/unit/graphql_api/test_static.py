"""The GraphiQL page loads nothing from another host, has no inline script, and names every licence."""

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
STATIC = REPOSITORY / "graphql" / "stratagraph" / "graphql" / "static" / "graphiql"
LICENCES = REPOSITORY / "docs" / "third-party"

OWN_FILES = {"index.html", "start.js", "style.css"}
VENDORED = sorted(path.name for path in STATIC.iterdir() if path.name not in OWN_FILES)
VENDORED_NAME = re.compile(r"(?P<package>.+-\d+\.\d+\.\d+)\.min\.(?:js|css)")


class Page(HTMLParser):
    """Parser that collects the addresses, inline scripts and event handlers of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.inline: list[str] = []
        self.handlers: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in_script = tag == "script"
        self.links += [value for key in ("src", "href") if (value := named.get(key))]
        self.handlers += [key for key in named if key.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.inline.append(data)


@pytest.fixture
def page() -> Page:
    page = Page()
    page.feed((STATIC / "index.html").read_text(encoding="utf-8"))
    return page


def test_the_page_has_no_inline_script(page: Page) -> None:
    assert page.inline == []
    assert page.handlers == []


def test_every_address_in_the_page_is_a_file_beside_it(page: Page) -> None:
    files = [link for link in page.links if link != "data:,"]
    assert {Path(link).name for link in files} == {path.name for path in STATIC.iterdir()} - {"index.html"}
    for link in files:
        assert link == f"static/graphiql/{Path(link).name}"  # relative, so that it also works behind a path prefix


@pytest.mark.parametrize("name", sorted(OWN_FILES))
def test_the_projects_own_files_name_no_other_host(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    assert re.findall(r"(?:https?|wss?):|[\"'(]//", text) == []


@pytest.mark.parametrize("name", VENDORED)
def test_a_vendored_file_loads_no_other_file(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    assert "sourceMappingURL" not in text
    assert "new Worker(" not in text
    if name.endswith(".css"):  # addresses in scripts are comments, XML namespaces and links to click
        assert "@import" not in text
        assert [url for url in re.findall(r"url\(['\"]?([^)]{0,40})", text) if not url.startswith(("data:", "#"))] == []


@pytest.mark.parametrize("name", VENDORED)
def test_a_vendored_file_has_the_checksum_in_its_licence_file(name: str) -> None:
    named = VENDORED_NAME.fullmatch(name)
    assert named, f"{name} names no package with a version"
    licence = LICENCES / f"{named['package']}.txt"
    text = licence.read_text(encoding="utf-8")
    package, _, version = named["package"].rpartition("-")
    assert text.startswith(f"Package: {package}\nVersion: {version}\nLicence: ")
    assert f"File: {name}  sha256:{hashlib.sha256((STATIC / name).read_bytes()).hexdigest()}  " in text
    assert "Permission is hereby granted" in text
    assert f"({licence.name})" in (LICENCES / "README.md").read_text(encoding="utf-8")


def test_every_licence_file_belongs_to_a_vendored_file() -> None:
    vendored = {named["package"] for name in VENDORED if (named := VENDORED_NAME.fullmatch(name))}
    assert {path.stem for path in LICENCES.glob("*.txt")} == vendored


def test_the_page_does_not_store_headers() -> None:
    assert "shouldPersistHeaders: false" in (STATIC / "start.js").read_text(encoding="utf-8")
