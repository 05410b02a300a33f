"""Slips of form that agents make, each with the rule that repairs it (D-13 to D-16)."""

from dataclasses import dataclass

from tests.validation.replies import SUMMARY

CHECK = '<check name="tests" passed="true">'
FILE = '<file path="src/auth/service.ts" action="created">'


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """A slip of form: `old` becomes `new` in the executor's report.

    `rule` repairs it, and the report then contains `after`.
    """

    old: str
    new: str
    rule: str
    after: str
    summary: str | None = None
    path: str | None = None


def text_slip(
    words: str, after: str, *, rule: str = "xml/unescaped", summary: str | None = None
) -> Slip:
    return Slip(old=SUMMARY, new=words, rule=rule, after=after, summary=summary or words)


def path_slip(written: str, path: str, *, rule: str = "xml/unescaped", after: str) -> Slip:
    return Slip(
        old=FILE, new=f'<file path="{written}" action="created">', rule=rule, after=after, path=path
    )


SLIPS = {
    "ampersand": text_slip("Login & logout.", "Login &amp; logout."),
    "two_ampersands": text_slip("Ran a && b.", "a &amp;&amp; b"),
    "ampersand_before_a_word": text_slip("AT&T and R&D;", "AT&amp;T"),
    "less_than": text_slip("Holds while a < b.", "a &lt; b"),
    "less_than_number": text_slip("Took <3 s.", "&lt;3"),
    "arrow": text_slip("Now <- and <= and <<.", "&lt;-"),
    "generics": text_slip("Added Map<String, T>.", "Map&lt;String, T"),
    "nested_generics": text_slip("Added Map<String, List<int>>.", "List&lt;int"),
    "generics_of_one_name": text_slip("Added List<int>.", "List&lt;int"),
    "html_break": text_slip("One.<br>Two.", "&lt;br"),
    "html_break_closed": text_slip("One.<br/>Two.", "&lt;br/"),
    "html_pair": text_slip("It is <b>done</b>.", "&lt;b"),
    "placeholder_in_text": text_slip("Wrote .goopspec/<workflowId>/SPEC.md.", "&lt;workflowId"),
    "lone_end_tag": text_slip("The </div> is gone.", "&lt;/div"),
    "html_space": text_slip("Ten&nbsp;tests.", "Ten\u00a0tests", summary="Ten\u00a0tests."),
    "html_dash": text_slip("Login&mdash;logout.", "Login—logout", summary="Login—logout."),
    "html_copyright": text_slip("&copy; us.", "© us", summary="© us."),
    "unknown_entity": text_slip("Reads &foo; now.", "&amp;foo;"),
    "entity_without_semicolon": text_slip("Writes &lt now.", "&amp;lt"),
    "bad_number_reference": text_slip("Sends &#0; now.", "&amp;#0;"),
    "surrogate_reference": text_slip("Sends &#xD800; now.", "&amp;#xD800;"),
    "end_of_cdata_in_text": text_slip("Reads a[b[0]]>c.", "]]&gt;"),
    "cdata_misspelt": text_slip("<![CDATA Login & logout.]]>", "&lt;![CDATA"),
    "cdata_in_lower_case": text_slip("<![cdata[Login]]>.", "&lt;![cdata["),
    "cdata_never_closed": text_slip("<![CDATA[Login & logout.", "&lt;![CDATA["),
    "comment_never_closed": text_slip("See <!-- the notes.", "&lt;!--"),
    "double_hyphen_in_a_comment": Slip(
        old=SUMMARY,
        new=f"{SUMMARY}<!-- a -- b -->",
        rule="xml/unescaped",
        after=SUMMARY,
        summary=SUMMARY,
    ),
    "ampersand_in_an_attribute": path_slip("src/a&b.ts", "src/a&b.ts", after="src/a&amp;b.ts"),
    "placeholder_in_an_attribute": path_slip("docs/<n>/a.md", "docs/<n>/a.md", after="&lt;n"),
    "html_entity_in_an_attribute": path_slip("a&nbsp;b.ts", "a\u00a0b.ts", after="a\u00a0b.ts"),
    "placeholder_in_files_to_read": Slip(
        old="<file>src/auth/service.ts</file>",
        new="<file>.goopspec/<n>/SPEC.md</file>",
        rule="xml/unescaped",
        after="&lt;n",
    ),
    "typographic_quotes": Slip(
        old=CHECK,
        new="<check name=“tests” passed=”true”>",
        rule="xml/attribute-quotes",
        after=CHECK,
    ),
    "low_typographic_quotes": Slip(
        old=CHECK,
        new='<check name=„tests“ passed="true">',
        rule="xml/attribute-quotes",
        after='name="tests"',
    ),
    "typographic_single_quotes": Slip(
        old=CHECK,
        new="<check name=‘tests’ passed=’true’>",
        rule="xml/attribute-quotes",
        after='name="tests"',
    ),
    "no_quotes": Slip(
        old=CHECK,
        new="<check name=tests passed=true>",
        rule="xml/attribute-quotes",
        after='name="tests"',
    ),
    "no_quotes_in_an_empty_element": Slip(
        old='<wave current="2" total="3"/>',
        new="<wave current=2 total=3/>",
        rule="xml/attribute-quotes",
        after='current="2"',
    ),
    "closing_quote_missing": Slip(
        old=CHECK,
        new='<check name="tests" passed="true>',
        rule="xml/attribute-quotes",
        after='passed="true"',
    ),
    "opening_quote_missing": Slip(
        old=CHECK,
        new='<check name="tests" passed=true">',
        rule="xml/attribute-quotes",
        after='passed="true"',
    ),
    "version_without_quotes": Slip(
        old='version="0.1.6"',
        new="version=0.1.6",
        rule="xml/attribute-quotes",
        after='version="0.1.6"',
    ),
    "tag_in_wrong_case": Slip(
        old="<status>COMPLETE</status>",
        new="<Status>COMPLETE</Status>",
        rule="xml/name-case",
        after="<status>",
    ),
    "tag_in_capitals": Slip(
        old="<ready>true</ready>", new="<READY>true</READY>", rule="xml/name-case", after="<ready>"
    ),
    "end_tag_in_wrong_case": Slip(
        old="<ready>true</ready>", new="<ready>true</Ready>", rule="xml/name-case", after="</ready>"
    ),
    "attribute_in_wrong_case": Slip(
        old=CHECK,
        new='<check Name="tests" PASSED="true">',
        rule="xml/name-case",
        after='name="tests"',
    ),
    "terminal_colours": text_slip(
        "\x1b[32mok\x1b[0m.", "ok.", rule="xml/control-character", summary="ok."
    ),
    "nul": text_slip("Do\x00ne.", "Done.", rule="xml/control-character", summary="Done."),
    "lone_surrogate": text_slip(
        "Do\ud83dne.", "Done.", rule="xml/control-character", summary="Done."
    ),
    "no_character": text_slip(
        "Do\uffffne.", "Done.", rule="xml/control-character", summary="Done."
    ),
    "control_character_in_an_attribute": path_slip(
        "a\x07b.ts", "ab.ts", rule="xml/control-character", after="ab.ts"
    ),
    "control_character_in_cdata": text_slip(
        "<![CDATA[\x1b[1mDone & dusted\x1b[0m.]]>",
        "Done",
        rule="xml/control-character",
        summary="Done & dusted.",
    ),
    "status_in_lower_case": Slip(
        old="<status>COMPLETE</status>",
        new="<status>complete</status>",
        rule="goop_report/value-case",
        after="<status>COMPLETE</status>",
    ),
    "status_in_title_case": Slip(
        old="<status>COMPLETE</status>",
        new="<status>Complete</status>",
        rule="goop_report/value-case",
        after="<status>COMPLETE</status>",
    ),
    "phase_in_capitals": Slip(
        old="<phase>execute",
        new="<phase>EXECUTE",
        rule="goop_report/value-case",
        after="<phase>execute",
    ),
    "boolean_of_python": Slip(
        old="<spec_locked>true",
        new="<spec_locked>True",
        rule="goop_report/value-case",
        after="<spec_locked>true",
    ),
    "passed_in_capitals": Slip(
        old=CHECK,
        new='<check name="tests" passed="TRUE">',
        rule="goop_report/value-case",
        after='passed="true"',
    ),
    "file_action_in_title_case": Slip(
        old=FILE,
        new='<file path="src/auth/service.ts" action="Created">',
        rule="goop_report/value-case",
        after='action="created"',
    ),
    "memory_type_in_title_case": Slip(
        old='type="decision"',
        new='type="Decision"',
        rule="goop_report/value-case",
        after='type="decision"',
    ),
}
