"""The site is built without a warning, holds every page, and can be opened offline."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lxml import etree

from tests.documentation.pages import DOCS, PAGES, read_page
from tests.repository import ROOT

pytest.importorskip("sphinx", reason="the site is built with the extra docs")
FETCHED = (
    "//script/@src",
    "//link[not(@rel='canonical')]/@href",
    "//img/@src",
    "//iframe/@src",
    "//source/@src",
)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make site` does, where every warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    words = [
        "-q",
        "-n",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        str(folder / "cache"),
        str(DOCS),
        str(folder / "html"),
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "sphinx", *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr

    return folder / "html"


def found(page: Path, query: str) -> list[str]:
    """Return the values of the attributes that `query` finds in a page."""
    values = etree.parse(str(page), etree.HTMLParser(encoding="utf-8")).xpath(query)
    assert isinstance(values, list)
    return [str(value) for value in values]


def pages_of(site: Path) -> list[Path]:
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


def test_every_page_of_the_folder_is_in_the_site(site: Path) -> None:
    wanted = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert wanted <= {path.relative_to(site).as_posix() for path in pages_of(site)}


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = {
        address for page in pages_of(site) for query in FETCHED for address in found(page, query)
    }
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))

    assert not {address for address in fetched if urlsplit(address).netloc}
    assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles)


def test_what_names_no_language_is_shown_without_the_colours_of_one(site: Path) -> None:
    query = "//div[contains(@class, 'highlight-default')]/@class"
    assert {page.name: guessed for page in pages_of(site) if (guessed := found(page, query))} == {}


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    ids: dict[Path, set[str]] = {}
    broken = []
    for page in pages_of(site):
        for address in found(page, "//a/@href"):
            parts = urlsplit(address)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
            if parts.scheme or parts.netloc or (not parts.path and not parts.fragment):
                continue
            if target not in ids and target.is_file():
                ids[target] = set(found(target, "//@id")) if target.suffix == ".html" else set()
            if target not in ids or (parts.fragment and parts.fragment not in ids[target]):
                broken.append(f"{page.name}: {address}")

    assert not broken


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/")])
def test_a_link_on_a_page_outside_the_site_leads_to_a_file(page: str) -> None:
    folder = (ROOT / page).parent
    targets = {match["target"].partition("#")[0] for match in LINK.finditer(read_page(page))}
    inside = {target for target in targets if target and not urlsplit(target).scheme}

    assert not {target for target in inside if not (folder / target).exists()}


def test_the_security_page_names_tests_that_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", read_page("SECURITY.md")))
    assert len(named) > 15
    assert not {name for name in named if not (ROOT / name).is_file()}


def test_the_pages_are_there_for_agents_too(site: Path) -> None:
    index = (site / "llms.txt").read_text(encoding="utf-8")
    everything = (site / "llms-full.txt").read_text(encoding="utf-8")

    assert index.startswith("# goop-mcp\n")
    assert "checks the structured reports that coding agents hand back" in index
    assert index.count("](") >= len(list(DOCS.rglob("*.md"))) - 1
    assert "goop_report/unknown-status" in everything


def test_commands_can_be_copied(site: Path) -> None:
    page = (site / "getting-started.html").read_text(encoding="utf-8")

    assert "copybutton.js" in page
