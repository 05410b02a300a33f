"""Artifacts, memory, verification and the closing checklist of a report."""

import pytest

from goop_mcp import Expectations, Severity, validate
from goop_mcp.protocols.goop_report.model import (
    Check,
    Commit,
    FileAction,
    FileChange,
    MemoryType,
    Report,
    SavedMemory,
)
from tests.requirements import requirement
from tests.validation.replies import (
    BLOCKED,
    EXECUTOR,
    MODES,
    PLANNER,
    changed,
    judge,
    judge_both,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

FILE = '<file path="src/auth/types.ts" action="created">Auth type definitions</file>'
COMMIT = '<commit sha="a1b2c3d">feat(auth): implement JWT authentication service</commit>'
CHECK = '<check name="typecheck" passed="true">No errors</check>'


def without(section: str, text: str = EXECUTOR) -> str:
    """Return the report without a whole section."""
    start, end = text.index(f"<{section}>"), text.index(f"</{section}>") + len(section) + 3
    return text[:start] + text[end:]


def swapped(old: str, new: str) -> str:
    return changed(EXECUTOR, (old, new))


@requirement("G-22")
def test_files_are_read_with_path_action_and_description() -> None:
    artifacts = report_of(judge(EXECUTOR)).artifacts

    assert artifacts is not None
    assert artifacts.files[0] == FileChange(
        path="src/auth/service.ts",
        action=FileAction.CREATED,
        description="Auth service with JWT generation",
    )
    assert [file.path for file in artifacts.files] == [
        "src/auth/service.ts",
        "src/auth/middleware.ts",
        "src/auth/types.ts",
    ]


@requirement("G-22")
@pytest.mark.parametrize("action", ["renamed", "moved", "updated", "read", "create"])
def test_unknown_file_action_is_an_error_that_lists_the_three(action: str) -> None:
    for verdict in judge_both(swapped(FILE, FILE.replace("created", action))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/unknown-file-action"}
        finding = the_finding(verdict, "goop_report/unknown-file-action")
        assert set(finding.expected or ()) == {"created", "modified", "deleted"}


@requirement("G-22")
def test_file_without_a_path_is_an_error() -> None:
    for verdict in judge_both(swapped(FILE, FILE.replace('path="src/auth/types.ts" ', ""))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/missing-field"}
        assert "path" in the_finding(verdict, "goop_report/missing-field").message


@requirement("G-22")
def test_file_with_a_blank_path_is_an_error() -> None:
    for verdict in judge_both(swapped(FILE, FILE.replace("src/auth/types.ts", " "))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/empty-field"}


@requirement("G-22")
@pytest.mark.parametrize("action", ["created", "modified", "deleted"])
@pytest.mark.parametrize("version", [pytest.param("0.1.4", marks=requirement("G-23")), "0.1.6"])
def test_each_of_the_three_actions_is_read_in_every_version(action: str, version: str) -> None:
    text = changed(
        EXECUTOR,
        (FILE, FILE.replace("created", action)),
        ('version="0.1.6"', f'version="{version}"'),
    )

    for verdict in judge_both(text):
        artifacts = report_of(verdict).artifacts
        assert verdict.findings == ()
        assert artifacts is not None
        assert artifacts.files[2].action == action


@requirement("G-22")
@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/abs/a.ts", "C:\\a.ts", "a b.ts", "app/[id]/page.tsx"]
)
def test_path_of_a_file_says_what_happened_and_is_not_judged(path: str) -> None:
    for verdict in judge_both(swapped(FILE, FILE.replace("src/auth/types.ts", path))):
        assert weighty_rules(verdict) == set()


@requirement("G-24")
@pytest.mark.parametrize(
    "message",
    [
        "feat(auth): x",
        "fix(a/b): y",
        "docs(readme): tidy: up",
        "refactor(core)!: break",
        "chore(deps-dev): bump a & b",
    ],
)
def test_commit_message_of_the_form_is_in_order(message: str) -> None:
    text = swapped(COMMIT, f'<commit sha="a1b2c3d">{message.replace("&", "&amp;")}</commit>')

    for verdict in judge_both(text):
        artifacts = report_of(verdict).artifacts
        assert verdict.findings == ()
        assert artifacts is not None
        assert artifacts.commits == (Commit(sha="a1b2c3d", message=message),)


@requirement("G-24")
@pytest.mark.parametrize(
    "message", ["fixed stuff", "feat(auth) no colon", "", "WIP", ": x", "feat(auth):"]
)
def test_commit_message_in_free_text_is_a_warning(message: str) -> None:
    for verdict in judge_both(swapped(COMMIT, f'<commit sha="a1b2c3d">{message}</commit>')):
        assert weighty_rules(verdict) == {"goop_report/commit-message-form"}
        assert verdict.accepted


@requirement("G-24")
@pytest.mark.parametrize(
    "sha", ["latest", "abc", "g1b2c3d", "a1b2c3d4" * 6, "HEAD", "", "a1b2 c3d"]
)
def test_sha_of_another_form_is_a_warning(sha: str) -> None:
    for verdict in judge_both(swapped('sha="a1b2c3d"', f'sha="{sha}"')):
        assert weighty_rules(verdict) == {"goop_report/commit-sha-form"}


@requirement("G-24")
def test_commit_without_a_sha_is_a_warning() -> None:
    for verdict in judge_both(swapped('<commit sha="a1b2c3d">', "<commit>")):
        assert weighty_rules(verdict) == {"goop_report/commit-sha-form"}


@requirement("G-25")
@pytest.mark.parametrize(
    "sha", ["abc123", "9fceb02", "a1b2", "A1B2C3D", "0123456789abcdef0123456789abcdef01234567"]
)
def test_sha_of_four_to_forty_hex_digits_is_in_order(sha: str) -> None:
    for verdict in judge_both(swapped('sha="a1b2c3d"', f'sha="{sha}"')):
        assert verdict.findings == ()


@requirement("G-26", "P-07")
@pytest.mark.parametrize("kind", list(MemoryType))
def test_each_of_the_three_kinds_of_memory_is_read(kind: MemoryType) -> None:
    for verdict in judge_both(swapped('type="decision"', f'type="{kind}"')):
        assert verdict.findings == ()
        assert report_of(verdict).memory == (
            SavedMemory(
                type=kind, importance=0.8, title="Used jose library for JWT over jsonwebtoken"
            ),
        )


@requirement("G-26", "P-07")
@pytest.mark.parametrize("kind", ["idea", "todo", "session_summary", "decisions"])
def test_unknown_kind_of_memory_is_an_error_that_lists_the_three(kind: str) -> None:
    for verdict in judge_both(swapped('type="decision"', f'type="{kind}"')):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/unknown-memory-type"}
        finding = the_finding(verdict, "goop_report/unknown-memory-type")
        assert set(finding.expected or ()) == {"decision", "observation", "note"}


@requirement("G-26")
def test_memory_without_a_type_is_an_error() -> None:
    for verdict in judge_both(swapped('type="decision" ', "")):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/missing-field"}


@requirement("G-27")
@pytest.mark.parametrize("number", ["0", "1", "0.0", "1.0", "0.75", ".5", "0.7"])
def test_importance_from_zero_to_one_is_in_order(number: str) -> None:
    for verdict in judge_both(swapped('importance="0.8"', f'importance="{number}"')):
        (saved,) = report_of(verdict).memory or ()
        assert verdict.findings == ()
        assert saved.importance == float(number)


@requirement("G-27")
@pytest.mark.parametrize(
    "number", ["8", "10", "1.01", "-0.1", "high", "", "NaN", "inf", "8/10", "0,8"]
)
def test_importance_outside_zero_to_one_is_a_warning_and_not_rescaled(number: str) -> None:
    for verdict in judge_both(swapped('importance="0.8"', f'importance="{number}"')):
        assert weighty_rules(verdict) == {"goop_report/importance-out-of-range"}
        (saved,) = report_of(verdict).memory or ()
        assert saved.importance in (None, 8, 10, 1.01, -0.1)


@requirement("G-27")
def test_absent_importance_is_a_warning() -> None:
    for verdict in judge_both(swapped(' importance="0.8"', "")):
        assert weighty_rules(verdict) == {"goop_report/importance-out-of-range"}


@requirement("G-28")
@pytest.mark.parametrize("word", ["yes", "no", "1", "passed", "✓", ""])
def test_check_that_is_neither_passed_nor_failed_is_an_error(word: str) -> None:
    for verdict in judge_both(swapped(CHECK, f'<check name="typecheck" passed="{word}">x</check>')):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/not-a-boolean"}


@requirement("G-28")
@pytest.mark.parametrize("name", ["lint", "manual", "npm run e2e", "прогон"])
def test_list_of_checks_is_open(name: str) -> None:
    for verdict in judge_both(swapped(CHECK, f'<check name="{name}" passed="true">x</check>')):
        assert verdict.findings == ()
        assert [check.name for check in report_of(verdict).verification or ()] == ["tests", name]


@requirement("G-28")
@pytest.mark.parametrize("attribute", ["", 'name="" ', 'name=" " '])
def test_check_without_a_name_is_a_warning(attribute: str) -> None:
    for verdict in judge_both(swapped(CHECK, f'<check {attribute}passed="true">x</check>')):
        assert weighty_rules(verdict) == {"goop_report/check-without-name"}


@requirement("G-28")
def test_check_without_a_result_is_an_error() -> None:
    for verdict in judge_both(swapped(CHECK, '<check name="typecheck">x</check>')):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/missing-field"}


SECTIONS = [
    pytest.param(
        "artifacts", "files_changed", "artifacts-missing", id="artifacts", marks=requirement("G-37")
    ),
    pytest.param(
        "memory", "memory_saved", "memory-missing", id="memory", marks=requirement("G-38")
    ),
    pytest.param(
        "verification", "checks_run", "verification-missing", id="checks", marks=requirement("G-39")
    ),
]


def knowing(fact: str, *, happened: bool | None) -> Expectations:
    """Return what the caller knows: whether files changed, memory was saved or checks were run."""
    match fact:
        case "files_changed":
            return Expectations(files_changed=happened)
        case "memory_saved":
            return Expectations(memory_saved=happened)
        case _:
            return Expectations(checks_run=happened)


@pytest.mark.parametrize(("section", "fact", "rule"), SECTIONS)
def test_section_is_required_when_the_caller_knows_that_there_is_something_to_report(
    section: str, fact: str, rule: str
) -> None:
    for mode in MODES:
        verdict = validate(without(section), mode=mode, expected=knowing(fact, happened=True))

        assert rules_of(verdict, Severity.ERROR) == {f"goop_report/{rule}"}
        assert validate(EXECUTOR, mode=mode, expected=knowing(fact, happened=True)).findings == ()


@pytest.mark.parametrize("happened", [None, False])
@pytest.mark.parametrize(("section", "fact", "rule"), SECTIONS)
def test_section_is_not_asked_for_when_the_caller_says_nothing_or_no(
    section: str, fact: str, rule: str, happened: bool | None
) -> None:
    verdict = validate(without(section), mode="strict", expected=knowing(fact, happened=happened))

    assert verdict.accepted
    assert f"goop_report/{rule}" not in weighty_rules(verdict)


@requirement("G-37")
def test_section_without_a_file_or_commit_names_no_change() -> None:
    text = without("commits", without("files"))

    assert rules_of(validate(text, expected=Expectations(files_changed=True)), Severity.ERROR) == {
        "goop_report/artifacts-missing"
    }


CHECKLIST = {
    "status": changed(EXECUTOR, ("<status>COMPLETE</status>", "")),
    "summary": without("summary"),
    "artifacts": without("artifacts"),
    "commit": without("commits"),
    "memory": without("memory"),
    "next_action": changed(
        EXECUTOR,
        (
            '<next_action agent="goop-executor">W2.T4: Implement session management</next_action>',
            "",
        ),
    ),
    "suggest_new_session": changed(
        EXECUTOR, ("<suggest_new_session>false</suggest_new_session>", "")
    ),
}


@requirement("P-13")
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in CHECKLIST.items()])
def test_missing_item_of_the_closing_checklist_is_an_info(text: str) -> None:
    for verdict in judge_both(text):
        assert "subagent_protocol/checklist-gap" in rules_of(verdict, Severity.INFO)


@requirement("P-13")
def test_two_missing_items_of_the_checklist_are_two_infos() -> None:
    verdict = judge(without("memory", without("artifacts")))

    gaps = [
        finding for finding in verdict.findings if finding.rule == "subagent_protocol/checklist-gap"
    ]
    assert len(gaps) >= 2
    assert len({gap.message for gap in gaps}) == len(gaps)


@requirement("P-13")
def test_report_with_every_item_of_the_checklist_has_no_gap() -> None:
    assert rules_of(judge(EXECUTOR), Severity.INFO) == set()


def test_absent_sections_and_empty_sections_are_distinguished() -> None:
    absent = report_of(judge(BLOCKED))
    empty = report_of(judge(changed(PLANNER, ("<handoff>", "<verification/><handoff>"))))

    assert (absent.artifacts, absent.memory, absent.verification) == (None, None, None)
    assert empty.verification == ()


def test_a_check_names_a_recorded_run_only_where_it_cites_one() -> None:
    checks = (
        Check(name="tests", passed=True),
        Check(name="lint", passed=True, run="r-0123456789ab"),
    )
    report = Report(version=None, status=None, agent=None, verification=checks)
    written = report.to_dict()

    assert [check.get("run", "absent") for check in written["verification"]] == [
        "absent",
        "r-0123456789ab",
    ]
    assert Report.from_dict(written) == report
