"""Slips of form that agents make, each with the rule that repairs it (D-13 to D-16)."""

from dataclasses import dataclass

from tests.validation.replies import SUMMARY

CHECK = '<check name="tests" passed="true">'
FILE = '<file path="src/auth/service.ts" action="created">'


@dataclass(frozen=True, slots=True, kw_only=True)
class FormError:
    """A slip of form: `old` becomes `new` in the executor's report.

    `rule` repairs it, and the report then contains `after`.
    """

    old: str
    new: str
    rule: str
    after: str
    summary: str | None = None
    path: str | None = None


def text_error(
    words: str, after: str, *, rule: str = "xml/unescaped", summary: str | None = None
) -> FormError:
    return FormError(old=SUMMARY, new=words, rule=rule, after=after, summary=summary or words)


def path_error(written: str, path: str, *, rule: str = "xml/unescaped", after: str) -> FormError:
    return FormError(
        old=FILE, new=f'<file path="{written}" action="created">', rule=rule, after=after, path=path
    )


FORM_ERRORS = {
    "ampersand": text_error("Login & logout.", "Login &amp; logout."),
    "two_ampersands": text_error("Ran a && b.", "a &amp;&amp; b"),
    "ampersand_before_a_word": text_error("AT&T and R&D;", "AT&amp;T"),
    "less_than": text_error("Holds while a < b.", "a &lt; b"),
    "less_than_number": text_error("Took <3 s.", "&lt;3"),
    "arrow": text_error("Now <- and <= and <<.", "&lt;-"),
    "generics": text_error("Added Map<String, T>.", "Map&lt;String, T"),
    "nested_generics": text_error("Added Map<String, List<int>>.", "List&lt;int"),
    "generics_of_one_name": text_error("Added List<int>.", "List&lt;int"),
    "html_break": text_error("One.<br>Two.", "&lt;br"),
    "html_break_closed": text_error("One.<br/>Two.", "&lt;br/"),
    "html_pair": text_error("It is <b>done</b>.", "&lt;b"),
    "placeholder_in_text": text_error("Wrote .goopspec/<workflowId>/SPEC.md.", "&lt;workflowId"),
    "lone_end_tag": text_error("The </div> is gone.", "&lt;/div"),
    "html_space": text_error("Ten&nbsp;tests.", "Ten\u00a0tests", summary="Ten\u00a0tests."),
    "html_dash": text_error("Login&mdash;logout.", "Login—logout", summary="Login—logout."),
    "html_copyright": text_error("&copy; us.", "© us", summary="© us."),
    "unknown_entity": text_error("Reads &foo; now.", "&amp;foo;"),
    "entity_without_semicolon": text_error("Writes &lt now.", "&amp;lt"),
    "bad_number_reference": text_error("Sends &#0; now.", "&amp;#0;"),
    "surrogate_reference": text_error("Sends &#xD800; now.", "&amp;#xD800;"),
    "end_of_cdata_in_text": text_error("Reads a[b[0]]>c.", "]]&gt;"),
    "cdata_misspelt": text_error("<![CDATA Login & logout.]]>", "&lt;![CDATA"),
    "cdata_in_lower_case": text_error("<![cdata[Login]]>.", "&lt;![cdata["),
    "cdata_never_closed": text_error("<![CDATA[Login & logout.", "&lt;![CDATA["),
    "comment_never_closed": text_error("See <!-- the notes.", "&lt;!--"),
    "double_hyphen_in_a_comment": FormError(
        old=SUMMARY,
        new=f"{SUMMARY}<!-- a -- b -->",
        rule="xml/unescaped",
        after=SUMMARY,
        summary=SUMMARY,
    ),
    "ampersand_in_an_attribute": path_error("src/a&b.ts", "src/a&b.ts", after="src/a&amp;b.ts"),
    "placeholder_in_an_attribute": path_error("docs/<n>/a.md", "docs/<n>/a.md", after="&lt;n"),
    "html_entity_in_an_attribute": path_error("a&nbsp;b.ts", "a\u00a0b.ts", after="a\u00a0b.ts"),
    "placeholder_in_files_to_read": FormError(
        old="<file>src/auth/service.ts</file>",
        new="<file>.goopspec/<n>/SPEC.md</file>",
        rule="xml/unescaped",
        after="&lt;n",
    ),
    "typographic_quotes": FormError(
        old=CHECK,
        new="<check name=“tests” passed=”true”>",
        rule="xml/attribute-quotes",
        after=CHECK,
    ),
    "low_typographic_quotes": FormError(
        old=CHECK,
        new='<check name=„tests“ passed="true">',
        rule="xml/attribute-quotes",
        after='name="tests"',
    ),
    "typographic_single_quotes": FormError(
        old=CHECK,
        new="<check name=‘tests’ passed=’true’>",
        rule="xml/attribute-quotes",
        after='name="tests"',
    ),
    "no_quotes": FormError(
        old=CHECK,
        new="<check name=tests passed=true>",
        rule="xml/attribute-quotes",
        after='name="tests"',
    ),
    "no_quotes_in_an_empty_element": FormError(
        old='<wave current="2" total="3"/>',
        new="<wave current=2 total=3/>",
        rule="xml/attribute-quotes",
        after='current="2"',
    ),
    "closing_quote_missing": FormError(
        old=CHECK,
        new='<check name="tests" passed="true>',
        rule="xml/attribute-quotes",
        after='passed="true"',
    ),
    "opening_quote_missing": FormError(
        old=CHECK,
        new='<check name="tests" passed=true">',
        rule="xml/attribute-quotes",
        after='passed="true"',
    ),
    "version_without_quotes": FormError(
        old='version="0.1.6"',
        new="version=0.1.6",
        rule="xml/attribute-quotes",
        after='version="0.1.6"',
    ),
    "tag_in_wrong_case": FormError(
        old="<status>COMPLETE</status>",
        new="<Status>COMPLETE</Status>",
        rule="xml/name-case",
        after="<status>",
    ),
    "tag_in_capitals": FormError(
        old="<ready>true</ready>", new="<READY>true</READY>", rule="xml/name-case", after="<ready>"
    ),
    "end_tag_in_wrong_case": FormError(
        old="<ready>true</ready>", new="<ready>true</Ready>", rule="xml/name-case", after="</ready>"
    ),
    "attribute_in_wrong_case": FormError(
        old=CHECK,
        new='<check Name="tests" PASSED="true">',
        rule="xml/name-case",
        after='name="tests"',
    ),
    "terminal_colours": text_error(
        "\x1b[32mok\x1b[0m.", "ok.", rule="xml/control-character", summary="ok."
    ),
    "nul": text_error("Do\x00ne.", "Done.", rule="xml/control-character", summary="Done."),
    "lone_surrogate": text_error(
        "Do\ud83dne.", "Done.", rule="xml/control-character", summary="Done."
    ),
    "no_character": text_error(
        "Do\uffffne.", "Done.", rule="xml/control-character", summary="Done."
    ),
    "control_character_in_an_attribute": path_error(
        "a\x07b.ts", "ab.ts", rule="xml/control-character", after="ab.ts"
    ),
    "control_character_in_cdata": text_error(
        "<![CDATA[\x1b[1mDone & dusted\x1b[0m.]]>",
        "Done",
        rule="xml/control-character",
        summary="Done & dusted.",
    ),
    "status_in_lower_case": FormError(
        old="<status>COMPLETE</status>",
        new="<status>complete</status>",
        rule="goop_report/value-case",
        after="<status>COMPLETE</status>",
    ),
    "status_in_title_case": FormError(
        old="<status>COMPLETE</status>",
        new="<status>Complete</status>",
        rule="goop_report/value-case",
        after="<status>COMPLETE</status>",
    ),
    "phase_in_capitals": FormError(
        old="<phase>execute",
        new="<phase>EXECUTE",
        rule="goop_report/value-case",
        after="<phase>execute",
    ),
    "boolean_of_python": FormError(
        old="<spec_locked>true",
        new="<spec_locked>True",
        rule="goop_report/value-case",
        after="<spec_locked>true",
    ),
    "passed_in_capitals": FormError(
        old=CHECK,
        new='<check name="tests" passed="TRUE">',
        rule="goop_report/value-case",
        after='passed="true"',
    ),
    "file_action_in_title_case": FormError(
        old=FILE,
        new='<file path="src/auth/service.ts" action="Created">',
        rule="goop_report/value-case",
        after='action="created"',
    ),
    "memory_type_in_title_case": FormError(
        old='type="decision"',
        new='type="Decision"',
        rule="goop_report/value-case",
        after='type="decision"',
    ),
}
