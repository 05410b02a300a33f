"""What models do to an envelope in XML."""

import html
import re
from typing import Final

from goop_mcp.testing.corruptions import (
    CUT_OFF,
    Corruption,
    appending,
    placed,
    refused,
    repaired,
    substituting,
)
from goop_mcp.testing.good_replies import GoodReply, fenced, unfenced

__all__ = ["XML_ERRORS"]

_ROOT: Final = r"^<[\w:-]+"
_ATTRIBUTE: Final = r'([\w-]+)="([\w./-]+)"'
_VALUE: Final = r"<(status)>(\w+)</\1>"
# Small enough for a test that expands it by mistake, and refused for the DOCTYPE alone.
_BOMB: Final = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'


def _name(good: GoodReply) -> str:
    return good.envelope[1 : min(good.envelope.index(mark) for mark in " >")]


def _elements_for_attributes(match: re.Match[str]) -> str:
    children = "".join(
        f"<{name}>{value}</{name}>" for name, value in re.findall(r'([\w-]+)="([^"]*)"', match[2])
    )
    return f"<{match[1]}>{children}{match[3]}</{match[1]}>"


# Some models write the fields that follow as text of the one before.
def _packed(good: GoodReply) -> str:
    """Put all that follows the narrative into it, escaped."""
    root = good.envelope.rindex("</")
    rest = html.escape(good.envelope[good.end : root].rstrip(), quote=False)
    end = good.envelope[good.end : good.envelope.index(">", good.end) + 1]
    packed = f"{good.envelope[: good.end]}{rest}{end}\n{good.envelope[root:]}"
    return fenced(packed, "xml")


# In three kinds, by what must happen: placed and repaired ones are accepted, refused ones never.
XML_ERRORS: Final[tuple[Corruption, ...]] = (
    placed(
        "xml_declaration",
        "an XML declaration before the envelope",
        lambda good: fenced(f'<?xml version="1.0" encoding="UTF-8"?>\n{good.envelope}', "xml"),
    ),
    placed(
        "root_mentioned_first",
        "prose mentions the tag before",
        lambda good: (
            f"Every reply ends with a <{_name(good)}> block, so here is mine.\n\n{good.fenced}"
        ),
    ),
    placed(
        "cdata",
        "the narrative stands in CDATA",
        lambda good: fenced(
            good.with_narrative(f"<![CDATA[{good.narrative} Login & logout, a < b.]]>"), "xml"
        ),
        adds="Login & logout, a < b.",
    ),
    placed(
        "fence_inside_text",
        "a fence within the narrative",
        appending("See:\n```\nrun\n```\n"),
        adds="See: ``` run ```",
    ),
    repaired(
        "bare_ampersand",
        "a bare &",
        appending("Login & logout."),
        "xml/unescaped",
        adds="Login & logout.",
    ),
    repaired(
        "bare_less_than",
        "a bare <",
        appending("Holds while a < b."),
        "xml/unescaped",
        adds="Holds while a < b.",
    ),
    repaired(
        "generics",
        "type parameters",
        appending("Map<String, T>."),
        "xml/unescaped",
        adds="Map<String, T>.",
    ),
    repaired(
        "html_break",
        "a line break of HTML",
        appending("One.<br>Two."),
        "xml/unescaped",
        adds="One.<br>Two.",
    ),
    repaired(
        "ampersand_in_attribute",
        "a bare & in an attribute",
        substituting(r'="([\w./-]{3,})"', r'="\1&amp"'),
        "xml/unescaped",
    ),
    repaired(
        "html_entity",
        "an entity of HTML",
        appending("Ten&nbsp;tests."),
        "xml/unescaped",
        adds="Ten\u00a0tests.",
    ),
    repaired(
        "broken_cdata",
        "CDATA that is never closed",
        appending("<![CDATA[Login & logout."),
        "xml/unescaped",
        adds="<![CDATA[Login & logout.",
    ),
    repaired(
        "smart_quotes",
        "typographic quotes round an attribute",
        substituting(_ATTRIBUTE, r"\1=“\2”"),
        "xml/attribute-quotes",
    ),
    repaired(
        "unquoted_attribute",
        "an attribute without quotes",
        substituting(_ATTRIBUTE, r"\1=\2"),
        "xml/attribute-quotes",
    ),
    repaired(
        "tag_in_wrong_case",
        "a tag in capitals",
        substituting(r"<(status)>(\w+)</\1>", r"<STATUS>\2</STATUS>"),
        "xml/name-case",
    ),
    repaired(
        "end_tag_missing",
        "the end tag of the narrative is missing",
        lambda good: fenced(
            good.envelope[: good.end] + good.envelope[good.envelope.index(">", good.end) + 1 :],
            "xml",
        ),
        "xml/malformed",
    ),
    repaired(
        "root_end_missing",
        "the last end tag is missing, all else is there",
        lambda good: unfenced(good.envelope[: good.envelope.rindex("</")]),
        "envelope/root-not-closed",
    ),
    repaired(
        "control_character",
        "colours of a terminal",
        appending("\x1b[32mok\x1b[0m."),
        "xml/control-character",
        adds="ok.",
    ),
    repaired(
        "value_in_wrong_case",
        "a listed value in the wrong case",
        substituting(_VALUE, lambda match: match[0].replace(match[2], match[2].swapcase())),
        "value-case",
    ),
    repaired(
        "cdata_end_in_text",
        "]]> in the narrative",
        appending("Reads a[b[0]]>c."),
        "xml/unescaped",
        adds="Reads a[b[0]]>c.",
    ),
    repaired("nul", "a NUL character", appending("ok\x00."), "xml/control-character", adds="ok."),
    placed(
        "wrong_order",
        "the first part comes last",
        substituting(r"(?s)^(<[^>]*>\s*)(<(\w+)>[^<]*</\3>)(.*)(</[\w-]+>)$", r"\1\4\2\5"),
    ),
    placed(
        "invented_element",
        "an element that nobody knows",
        substituting(r"</[\w:-]+>$", r"<mood>cheerful</mood>\g<0>"),
    ),
    repaired(
        "unknown_namespace",
        "a namespace that nobody knows",
        substituting(_ROOT, r'\g<0> xmlns="urn:example:made-up"'),
        "xml/unknown-namespace",
    ),
    refused(
        "duplicate_attribute",
        "an attribute twice",
        substituting(_ATTRIBUTE, r'\g<0> \1="other"'),
        "xml/malformed",
        never="one of two taken",
    ),
    refused(
        "elements_for_attributes",
        "elements where attributes belong",
        substituting(r"<(\w+)((?: [\w-]+=\"[^\"]*\")+)>([^<>]+)</\1>", _elements_for_attributes),
        "missing-field",
        never="value guessed",
    ),
    refused(
        "attributes_for_elements",
        "attributes where elements belong",
        substituting(r"(<[\w-]+)([^>]*)>(\s*)<(status)>(\w+)</\4>", r'\1\2 \4="\5">\3'),
        "missing-field",
        never="value guessed",
    ),
    refused(
        "words_for_a_number",
        "words where a number belongs",
        substituting(r'="\d+"', '="2 of 3"'),
        "not-an-integer",
        never="value guessed",
    ),
    refused(
        "yes_for_true",
        "yes and no where true and false belong",
        substituting(r">(true|false)<", ">yes<"),
        "not-a-boolean",
        never="value guessed",
    ),
    repaired(
        "markdown_in_attribute",
        "Markdown round a listed value",
        substituting(r'(action|type)="(\w+)"', r'\1="**\2**"'),
        "value-case",
    ),
    refused(
        "fields_packed_in_string",
        "fields as escaped markup within the narrative",
        _packed,
        "missing-field",
        never="value guessed",
    ),
    *CUT_OFF,
    refused(
        "entity_bomb",
        "entities that grow",
        lambda good: fenced(_BOMB + good.adding("&b;"), "xml"),
        "xml/doctype",
        never="entity expanded",
    ),
    refused(
        "placeholder",
        "the template's list of values is left",
        substituting(r"<(status)>\w+</\1>", r"<\1>COMPLETE|PARTIAL|BLOCKED|CHECKPOINT</\1>"),
        "placeholder-left",
        never="placeholder accepted",
    ),
    refused(
        "degenerate_answer",
        "a last try that says nothing",
        lambda good: fenced(re.sub(r">[^<>\s][^<>]*<", ">test<", good.envelope), "xml"),
        "unknown-status",
        never="empty answer accepted",
    ),
)
