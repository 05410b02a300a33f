"""Lenient mode repairs the form of an envelope; strict mode makes it an error (D-13 to D-16)."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.goop_report.model import FileAction, MemoryType, Phase, Report, Status
from tests.validation.form_errors import FILE, FORM_ERRORS, FormError
from tests.validation.replies import (
    EXECUTOR,
    SUMMARY,
    changed,
    fenced,
    judge,
    judge_both,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

EXECUTOR_REPORT = report_of(judge(EXECUTOR))
ALL_ERRORS = [pytest.param(error, id=name) for name, error in FORM_ERRORS.items()]


def with_error(error: FormError) -> str:
    return fenced(changed(EXECUTOR, (error.old, error.new)))


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_lenient_mode_accepts_the_slip_with_a_warning(error: FormError) -> None:
    verdict = judge(with_error(error))

    assert rules_of(verdict, Severity.ERROR) == set()
    assert weighty_rules(verdict) == {error.rule}
    assert verdict.feedback is None


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_every_repaired_slip_is_listed_with_its_line_before_and_after(error: FormError) -> None:
    text = with_error(error)

    repairs = judge(text).repairs

    assert repairs
    lines = text.split("\n")
    line = text[: text.index(error.new)].count("\n") + 1

    for repair in repairs:
        assert repair.rule == error.rule
        assert repair.line == line
        assert repair.before != repair.after
        assert repair.message
        visible = (
            repair.before.encode().decode("unicode_escape")
            if "\\" in repair.before
            else repair.before
        )
        assert visible in lines[line - 1] or error.rule in (
            "xml/control-character",
            "xml/unescaped",
        )


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_repaired_envelope_is_written_again_and_strict_mode_finds_the_slip_no_more(
    error: FormError,
) -> None:
    lenient = judge(with_error(error))

    assert lenient.repaired_text is not None
    assert error.after in lenient.repaired_text
    again = judge(lenient.repaired_text, "strict")
    assert weighty_rules(again) == set()
    assert again.envelope == lenient.envelope


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_strict_mode_refuses_the_slip_and_repairs_nothing(error: FormError) -> None:
    lenient, strict = judge_both(with_error(error))

    assert rules_of(strict, Severity.ERROR) == {error.rule}
    assert strict.repairs == ()
    assert strict.repaired_text is None
    assert strict.feedback is not None
    assert strict.envelope == lenient.envelope


def expected_report(error: FormError) -> tuple[str | None, str | None]:
    files = EXECUTOR_REPORT.artifacts.files if EXECUTOR_REPORT.artifacts else ()
    return error.summary or EXECUTOR_REPORT.summary, error.path or files[0].path


@pytest.mark.parametrize("error", ALL_ERRORS)
def test_no_letter_of_the_agent_is_lost_and_nothing_else_moves(error: FormError) -> None:
    report = report_of(judge(with_error(error)))

    assert report.artifacts is not None
    assert (report.summary, report.artifacts.files[0].path) == expected_report(error)
    assert report.status is Status.COMPLETE
    assert len(report.artifacts.files) == 3
    assert report.verification == EXECUTOR_REPORT.verification
    assert report.state == EXECUTOR_REPORT.state
    assert report.extensions == ()


def test_repaired_values_are_read_as_the_proper_ones() -> None:
    edits = [
        ("<status>COMPLETE", "<status>checkpoint"),
        ("<phase>execute", "<phase>Research"),
        (FILE, '<file path="src/auth/service.ts" action="DELETED">'),
        ('type="decision"', 'type="NOTE"'),
    ]

    report = report_of(judge(changed(EXECUTOR, *edits)))

    assert report.status is Status.CHECKPOINT
    assert report.state is not None
    assert report.state.phase is Phase.RESEARCH
    assert report.artifacts is not None
    assert report.artifacts.files[0].action is FileAction.DELETED
    assert report.memory is not None
    assert report.memory[0].type is MemoryType.NOTE


def test_placeholder_of_a_path_to_read_is_kept_whole() -> None:
    report = report_of(judge(with_error(FORM_ERRORS["placeholder_in_files_to_read"])))

    assert report.handoff is not None
    assert report.handoff.files_to_read == (".goopspec/<n>/SPEC.md",)


def test_several_slips_are_all_repaired_and_listed_in_order() -> None:
    names = ["status_in_lower_case", "generics", "placeholder_in_an_attribute", "no_quotes"]
    text = fenced(
        changed(EXECUTOR, *[(FORM_ERRORS[name].old, FORM_ERRORS[name].new) for name in names])
    )

    lenient, strict = judge_both(text)

    assert lenient.accepted
    assert {repair.rule for repair in lenient.repairs} == {FORM_ERRORS[name].rule for name in names}
    assert rules_of(strict, Severity.ERROR) == {FORM_ERRORS[name].rule for name in names}
    assert lenient.repaired_text is not None
    assert judge(lenient.repaired_text, "strict").accepted


@pytest.mark.parametrize("root", ["GOOP_REPORT", "Goop_Report"])
def test_root_in_the_wrong_case_is_repaired(root: str) -> None:
    lenient, strict = judge_both(fenced(EXECUTOR.replace("goop_report", root)))

    assert weighty_rules(lenient) == {"xml/name-case"}
    assert lenient.envelope == EXECUTOR_REPORT
    assert lenient.repairs
    assert not strict.accepted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            EXECUTOR.replace("<goop_report ", '<goop_report xmlns="urn:x" '), id="default_namespace"
        ),
        pytest.param(
            EXECUTOR.replace("</goop_report>", "</g:goop_report>").replace(
                "<goop_report ", '<g:goop_report xmlns:g="urn:x" '
            ),
            id="prefix_on_the_root",
        ),
        pytest.param(
            EXECUTOR.replace("</", "</g:")
            .replace("<", "<g:")
            .replace("<g:/g:", "</g:")
            .replace("<g:goop_report ", '<g:goop_report xmlns:g="urn:x" '),
            id="prefix_on_every_element",
        ),
    ],
)
def test_foreign_namespace_is_taken_off_and_the_report_read_by_local_names(text: str) -> None:
    lenient, strict = judge_both(text)

    assert weighty_rules(lenient) == {"xml/unknown-namespace"}
    assert lenient.envelope == EXECUTOR_REPORT
    assert lenient.repaired_text is not None
    assert judge(lenient.repaired_text, "strict").envelope == EXECUTOR_REPORT
    assert weighty_rules(judge(lenient.repaired_text, "strict")) == set()
    assert rules_of(strict, Severity.ERROR) == {"xml/unknown-namespace"}


def test_elements_in_any_order_are_accepted() -> None:
    start, end = EXECUTOR.index("  <handoff>"), EXECUTOR.index("</goop_report>")
    handoff = EXECUTOR[start:end]
    text = EXECUTOR.replace(handoff, "").replace("  <status>", f"{handoff}  <status>")

    for verdict in judge_both(text):
        assert weighty_rules(verdict) == set()
        assert verdict.envelope == EXECUTOR_REPORT


def test_missing_root_end_after_everything_else_is_closed() -> None:
    text = fenced(EXECUTOR.removesuffix("</goop_report>").rstrip())

    lenient, strict = judge_both(text)

    assert weighty_rules(lenient) == {"envelope/root-not-closed"}
    assert lenient.envelope == EXECUTOR_REPORT
    assert [repair.rule for repair in lenient.repairs] == ["envelope/root-not-closed"]
    assert "</goop_report>" in lenient.repairs[0].after
    assert "</goop_report>" not in lenient.repairs[0].before
    assert lenient.repaired_text is not None
    assert judge(lenient.repaired_text, "strict").envelope == EXECUTOR_REPORT
    assert rules_of(strict, Severity.ERROR) == {"envelope/root-not-closed"}
    assert strict.repairs == ()
    assert strict.repaired_text is None


def test_discuss_is_read_as_plan() -> None:
    lenient, strict = judge_both(changed(EXECUTOR, ("<phase>execute", "<phase>discuss")))

    assert weighty_rules(lenient) == {"goop_report/phase-alias"}
    state = report_of(lenient).state
    assert state is not None
    assert state.phase is Phase.PLAN
    assert [(repair.before, repair.after) for repair in lenient.repairs] == [("discuss", "plan")]
    assert rules_of(strict, Severity.ERROR) == {"goop_report/phase-alias"}


@pytest.mark.parametrize(
    "words",
    [
        "<![CDATA[Login & logout, Map<String, T> and <goop> too.]]>",
        "Login &amp; logout, Map&lt;String, T&gt; and &lt;goop&gt; too.",
        "Login &#38; logout, Map&#60;String, T> and &#x3c;goop&#x3E; too.",
        "<![CDATA[Login &]]> logout, <![CDATA[Map<String, T> and <goop>]]> too.",
    ],
)
def test_proper_escaping_is_no_slip(words: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (SUMMARY, words))):
        assert weighty_rules(verdict) == set()
        assert report_of(verdict).summary == "Login & logout, Map<String, T> and <goop> too."
        assert verdict.repaired_text is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(f"{SUMMARY}</summary>", SUMMARY, id="end_of_summary_missing"),
        pytest.param("</files>", "", id="end_of_files_missing"),
        pytest.param("</handoff>", "", id="end_of_handoff_missing"),
        pytest.param("</commit>\n    </commits>", "</commits>\n    </commit>", id="crossed_tags"),
        pytest.param("</memory>", "</verification>", id="wrong_end_tag"),
        pytest.param(
            'name="tests" passed="true"',
            'name="tests" name="lint" passed="true"',
            id="attribute_twice",
        ),
        pytest.param(
            'name="tests" passed="true"', 'name="tests" passed', id="attribute_without_a_value"
        ),
    ],
)
def test_tags_that_do_not_match_are_malformed_and_never_guessed(old: str, new: str) -> None:
    for verdict in judge_both(fenced(changed(EXECUTOR, (old, new)))):
        assert not verdict.accepted
        assert verdict.repaired_text is None
        assert "xml/malformed" in rules_of(verdict, Severity.ERROR)
        assert the_finding(verdict, "xml/malformed").line is not None


def test_malformed_envelope_names_the_line_of_the_element_that_is_not_closed() -> None:
    text = fenced(changed(EXECUTOR, (f"{SUMMARY}</summary>", SUMMARY)))

    finding = the_finding(judge(text), "xml/malformed")

    opened = text[: text.index("<summary>")].count("\n") + 1
    assert finding.line is not None
    assert opened <= finding.line <= opened + 3
    assert "summary" in finding.message


def test_unknown_element_with_an_end_is_kept_as_an_extension_and_not_escaped() -> None:
    text = changed(EXECUTOR, ("<handoff>", "<evidence>see the log</evidence>\n  <handoff>"))

    for verdict in judge_both(text):
        assert weighty_rules(verdict) == set()
        assert verdict.repairs == ()
        assert [(e.name, e.content) for e in report_of(verdict).extensions] == [
            ("evidence", "see the log")
        ]


def test_nothing_missing_is_ever_filled_in() -> None:
    text = '<goop_report version="0.1.6"><Summary>a & b</Summary></goop_report>'

    verdict = judge(text)

    assert not verdict.accepted
    report = report_of(verdict)
    assert report == Report(version="0.1.6", status=None, agent=None, summary="a & b")


@pytest.mark.parametrize(
    "word", ["DONE", "success", "FAILED", "COMPLETED", "OK", "complet", "COMPLETE.", "", "-"]
)
def test_no_other_word_is_taken_for_a_status(word: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, ("<status>COMPLETE", f"<status>{word}"))):
        assert not verdict.accepted
        assert report_of(verdict).status is None
