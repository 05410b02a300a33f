"""The pictures show what the program prints and what the tables say today."""

import re

import pytest
from lxml import etree

from goop_mcp import validate
from tests.documentation.pages import DOCS, fences
from tests.documentation.pictures import PICTURES, corrected

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("file", PICTURES)
def test_a_picture_is_what_its_source_makes_of_it_today(file: str) -> None:
    kept = (DOCS / "_static" / file).read_text(encoding="utf-8")

    assert kept == PICTURES[file](), "run make docs"


@pytest.mark.parametrize("file", PICTURES)
def test_a_picture_loads_nothing_and_is_described(file: str) -> None:
    root = etree.parse(DOCS / "_static" / file).getroot()
    text = etree.tostring(root, encoding="unicode").replace("http://www.w3.org/2000/svg", "")

    assert root.findtext(f"{SVG}title")
    assert root.findtext(f"{SVG}desc")
    assert not re.search(r"https?:|url\(|@import|<script", text)


def test_the_recording_ends_with_a_reply_that_is_accepted() -> None:
    (reply,) = fences("README.md", "xml")

    assert not validate(reply.text).accepted
    assert validate(corrected(reply.text)).accepted
