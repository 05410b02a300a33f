"""Compatibility readers: older and sibling forms of the report, converted into the model.

They are tried only where there is no `<goop_report>`. What a form cannot express stays absent,
nothing is invented, and a converted report is judged only by what its form can hold (D-21).
"""

from goop_mcp.protocols.goop_report.legacy_forms import (
    legacy_json,
    markdown_sections,
    sibling_roots,
)
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Extraction
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText

__all__ = ["find_legacy_form", "read_legacy_form"]


def find_legacy_form(text: str, limits: Limits) -> Extraction | None:
    """Return the last older form in `text`: a sibling root, JSON of 0.1.3, or sections of v1."""
    found = sibling_roots.find_other_root(text, limits)
    if found is not None:
        return found

    block = legacy_json.find_legacy_json(text, limits) or markdown_sections.find_sections(text)

    return (
        None
        if block is None
        else Extraction(source=SourceText(text), blocks=(block,), chosen=block)
    )


def read_legacy_form(
    extraction: Extraction, block: Block, expected: Expectations, limits: Limits
) -> ParseResult:
    """Convert the form in `block` and judge what it can hold."""
    text = extraction.source.read
    if block.root == legacy_json.FORM:
        return legacy_json.read_legacy_json(text, block, expected, limits)
    if block.root == markdown_sections.FORM:
        return markdown_sections.read_sections(text, block, expected)
    return sibling_roots.read_other_root(text, block, expected, limits)
