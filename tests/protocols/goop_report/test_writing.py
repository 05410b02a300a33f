"""From the model to an envelope, and back."""

import re
from dataclasses import replace

import pytest

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Commit,
    Extension,
    FileAction,
    FileChange,
    Handoff,
    MemoryType,
    NextAction,
    Phase,
    Report,
    SavedMemory,
    State,
    Status,
)
from goop_mcp.protocols.goop_report.writing import write_report
from goop_mcp.validation.findings import Severity
from tests.requirements import requirement
from tests.validation.replies import (
    BLOCKED,
    EXECUTOR,
    PLANNER,
    SUMMARY,
    changed,
    judge,
    judge_both,
    report_of,
    rules_of,
    weighty_rules,
)

SHORT_FORM = Report(
    version="0.1.4",
    status=Status.COMPLETE,
    agent="goop-writer",
    task_name="Write the guide",
    state=State(phase=Phase.EXECUTE, spec_locked=True),
    summary="Wrote the guide.",
    artifacts=Artifacts(
        files=(
            FileChange(path="docs/guide.md", action=FileAction.CREATED, description="the guide"),
        ),
        commits=(Commit(sha="abc123", message="docs(guide): add it"),),
    ),
    memory=(SavedMemory(type=MemoryType.DECISION, importance=0.7, title="One page only"),),
    handoff=Handoff(
        ready=True,
        next_action=NextAction(agent="goop-tester", text="Read the guide"),
        suggest_new_session=True,
        next_command="/goop-accept",
    ),
)


@requirement("P-08")
def test_short_form_can_be_written_and_validates_without_an_error() -> None:
    for verdict in judge_both(write_report(SHORT_FORM)):
        assert verdict.accepted
        assert verdict.envelope == SHORT_FORM


@requirement("P-08")
def test_written_short_form_has_the_parts_of_the_protocol_and_no_others() -> None:
    written = write_report(SHORT_FORM)

    assert re.findall(r"^ {2}<(\w+)", written, re.MULTILINE) == [
        "status",
        "agent",
        "task_name",
        "state",
        "summary",
        "artifacts",
        "memory",
        "handoff",
    ]
    handoff = written[written.index("<handoff>") : written.index("</handoff>")]
    optional = {"blockers"}
    parts = [
        name for name in re.findall(r"^ {4}<(\w+)", handoff, re.MULTILINE) if name not in optional
    ]
    assert parts == ["ready", "next_action", "suggest_new_session", "next_command"]


@pytest.mark.parametrize(
    "text", [EXECUTOR, PLANNER, BLOCKED], ids=["executor", "planner", "blocked"]
)
def test_example_reads_the_same_after_it_was_written_again(text: str) -> None:
    verdict = judge(text)

    again = judge(write_report(report_of(verdict)), "strict")

    assert again.envelope == verdict.envelope
    assert weighty_rules(again) == weighty_rules(verdict)


@pytest.mark.parametrize(
    "words",
    [
        "a & b < c > d \"e\" 'f'",
        "]]> and <![CDATA[ and <!-- -->",
        "</summary><status>BLOCKED</status>",
        "&amp; &lt; &#38; &nbsp;",
        "<goop_report> </goop_report> <think>",
        "one\ntwo\n\nthree",
        "tab\tinside",
        "naïve 日本語 🙂 \u200b.",
        "{{ 7 * 7 }} %s {0} $HOME `id`",
    ],
)
def test_any_text_survives_writing_and_reading(words: str) -> None:
    report = report_of(judge(EXECUTOR))
    assert report.handoff is not None
    report = replace(
        report,
        summary=words,
        task_name=words,
        handoff=replace(report.handoff, blockers=f"It needs {words}"),
    )

    assert judge(write_report(report)).envelope == report


@pytest.mark.parametrize(
    "path", ['a"b.ts', "a'b.ts", "a&b<c>.ts", "docs/<id>/a.md", "ünï.ts", "a  b.ts"]
)
def test_any_path_survives_writing_and_reading(path: str) -> None:
    report = replace(
        SHORT_FORM,
        artifacts=Artifacts(
            files=(FileChange(path=path, action=FileAction.DELETED, description=""),)
        ),
    )

    assert judge(write_report(report)).envelope == report


@pytest.mark.parametrize("number", [0.0, 1.0, 0.1, 1 / 3, 0.123456789012345, 1e-7])
def test_importance_survives_writing_and_reading(number: float) -> None:
    report = replace(
        SHORT_FORM, memory=(SavedMemory(type=MemoryType.NOTE, importance=number, title="x"),)
    )

    assert judge(write_report(report)).envelope == report


@requirement("G-08")
def test_extensions_are_written_back_in_order() -> None:
    added = (
        "<evidence>see <b>x</b> &amp; y</evidence><decision>go</decision><evidence>more</evidence>"
    )
    report = report_of(judge(changed(EXECUTOR, ("  <handoff>", f"{added}<handoff>"))))

    written = write_report(report)

    assert [extension.name for extension in report.extensions] == [
        "evidence",
        "decision",
        "evidence",
    ]
    assert judge(written).envelope == report
    assert written.index("see") < written.index("go</decision>") < written.index("more")


@requirement("G-08")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<ready>", "<hint>x</hint><ready>"),
        ("<phase>", "<mood>fine</mood><phase>"),
        ("</files>", "<note>y</note></files>"),
        ("</memory>", "<other a='1'/></memory>"),
        ("</verification>", "<log>z</log></verification>"),
        (
            SUMMARY,
            SUMMARY
            + "</summary><comparison_matrix><row>1</row></comparison_matrix>"
            + "<summary_note>x</summary_note>",
        ),
    ],
)
def test_extension_inside_a_section_is_written_back_there(old: str, new: str) -> None:
    text = changed(EXECUTOR, (old, new))
    text = text.replace("</summary_note></summary>", "</summary_note>")
    verdict = judge(text, "strict")

    assert verdict.accepted, verdict.feedback
    assert report_of(verdict).extensions
    assert judge(write_report(report_of(verdict)), "strict").envelope == verdict.envelope


def test_report_without_a_version_is_written_without_one() -> None:
    written = write_report(replace(SHORT_FORM, version=None))

    assert written.startswith("<goop_report>")
    assert judge(written).version is None


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800", "\ufffe"])
def test_text_that_no_envelope_can_carry_is_refused_before_it_is_written(character: str) -> None:
    with pytest.raises(NotWritableError):
        write_report(replace(SHORT_FORM, summary=f"a{character}b"))


@pytest.mark.parametrize("name", ["", "a b", "<x>", "1a", "a><b", "/"])
def test_extension_whose_name_is_no_element_is_refused(name: str) -> None:
    with pytest.raises(NotWritableError):
        write_report(replace(SHORT_FORM, extensions=(Extension(name=name, content="x"),)))


def test_cut_off_report_is_never_written_as_a_whole_one() -> None:
    partial = report_of(judge(EXECUTOR[: EXECUTOR.index("<verification>")]))

    with pytest.raises(NotWritableError, match="cut off"):
        write_report(partial)


def test_missing_values_are_left_out_and_not_made_up() -> None:
    report = Report(version="0.1.6", status=None, agent=None, summary="Only this.")

    written = write_report(report)

    assert "status" not in written
    assert "agent" not in written
    assert rules_of(judge(written), Severity.ERROR) == {"goop_report/missing-field"}
    assert judge(written).envelope == report
