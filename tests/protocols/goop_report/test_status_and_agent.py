"""Status, agent, version and the parts that every report has."""

import pytest

from goop_mcp import Expectations, Severity, validate
from goop_mcp.protocols.goop_report.model import Status
from goop_mcp.workflow.agents import KNOWN_AGENTS
from tests.requirements import requirement
from tests.validation.replies import (
    BLOCKED,
    EXECUTOR,
    MODES,
    PLANNER,
    TEMPLATE,
    changed,
    fenced,
    judge,
    judge_both,
    read_case,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

AGENT = "<agent>goop-executor</agent>"
STATUS = "<status>COMPLETE</status>"
VERSION = ' version="0.1.6"'
CHECK = 'name="tests" passed="true"'


@requirement("G-01", "P-02")
@pytest.mark.parametrize("text", ["Done. All tests pass.", "## TASK COMPLETE\n\nSee above.", ""])
def test_reply_without_the_block_is_rejected_by_name_of_the_protocol(text: str) -> None:
    for mode in MODES:
        assert rules_of(validate(text, protocol="goop_report", mode=mode), Severity.ERROR) == {
            "goop_report/no-envelope"
        }
        assert rules_of(validate(text, protocol="auto", mode=mode), Severity.ERROR) == {
            "envelope/no-envelope"
        }


@requirement("G-02", "P-02")
def test_text_after_the_block_other_than_its_fence_is_a_warning() -> None:
    for verdict in judge_both(f"{fenced(EXECUTOR)}\nLet me know if I should go on.\n"):
        assert verdict.accepted
        assert weighty_rules(verdict) == {"envelope/not-at-end"}
    assert weighty_rules(judge(f"{fenced(EXECUTOR)}\n  \n")) == set()


@requirement("G-03")
def test_fenced_bare_indented_and_escaped_copies_give_the_same_model() -> None:
    indented = "\n".join(f"  {line}" for line in EXECUTOR.split("\n"))
    escaped = (
        EXECUTOR.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
    )

    models = [judge(text).envelope for text in (EXECUTOR, fenced(EXECUTOR), indented, escaped)]

    assert models[0] is not None
    assert models == [models[0]] * 4


@requirement("G-04")
def test_last_of_two_blocks_counts() -> None:
    for verdict in judge_both(f"{fenced(BLOCKED)}\n{fenced(EXECUTOR)}"):
        assert weighty_rules(verdict) == {"envelope/multiple"}
        assert report_of(verdict).status is Status.COMPLETE


@requirement("G-05")
@pytest.mark.parametrize("name", ["executor_complete", "planner_complete", "executor_blocked"])
def test_both_versions_of_an_example_give_equal_models_apart_from_the_version(name: str) -> None:
    old, new = (judge(read_case(f"goop_report/{version}_{name}.xml")) for version in ("014", "016"))

    assert (old.version, new.version) == ("0.1.4", "0.1.6")
    as_values = [verdict.to_dict()["envelope"] | {"version": None} for verdict in (old, new)]
    assert as_values[0] == as_values[1]


@requirement("G-06")
@pytest.mark.parametrize(
    "version", ["0.1.4", "0.1.5", "0.1.6", "0.1.99", "0.2.0", "0.2.8", "0.2.9"]
)
def test_versions_of_one_structure_are_accepted_without_a_word(version: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (VERSION, f' version="{version}"'))):
        assert verdict.findings == ()
        assert verdict.version == version


@requirement("G-06")
@pytest.mark.parametrize(
    "version", ["0.3.0", "0.1.3", "0.2.10", "1.0.0", "0.1", "v0.1.6", "latest", "0.1.6-beta"]
)
def test_unknown_version_is_an_info_and_read_by_the_same_rules(version: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (VERSION, f' version="{version}"'))):
        assert rules_of(verdict, Severity.INFO) == {"goop_report/unknown-version"}
        assert weighty_rules(verdict) == set()
        assert verdict.version == version


@requirement("G-06")
def test_missing_version_is_a_warning() -> None:
    for verdict in judge_both(changed(EXECUTOR, (VERSION, ""))):
        assert rules_of(verdict, Severity.WARNING) == {"goop_report/version-missing"}
        assert verdict.accepted
        assert verdict.version is None


@requirement("G-07")
def test_model_exposes_what_a_machine_needs_and_the_prose_stays_with_it() -> None:
    verdict = judge(f"# For people\n\n{EXECUTOR}\n")

    values = verdict.to_dict()["envelope"]
    assert values["status"] == "COMPLETE"
    assert values["handoff"]["next_action"] == {
        "agent": "goop-executor",
        "text": "W2.T4: Implement session management",
    }
    assert values["state"]["phase"] == "execute"
    assert values["state"]["wave"] == {"current": 2, "total": 3}
    assert values["state"]["task"] == {"current": 3, "total": 4}
    assert values["task_id"] == "W2.T3"
    assert verdict.span is not None
    assert verdict.read_text[: verdict.span[0]] == "# For people\n\n"


@requirement("G-09")
@pytest.mark.parametrize("status", list(Status))
def test_each_of_the_four_statuses_is_read(status: Status) -> None:
    edits = [
        (STATUS, f"<status>{status}</status>"),
        ("<blockers>None", "<blockers>Waiting for a key"),
    ]

    for verdict in judge_both(changed(EXECUTOR, *edits)):
        assert report_of(verdict).status is status
        assert rules_of(verdict, Severity.ERROR) == set()


@requirement("G-09")
@pytest.mark.parametrize(
    "word", ["FAILED", "DONE", "success", "COMPLETED", "ERROR", "COMPLETE, PARTIAL", "✓"]
)
def test_unknown_status_is_an_error_that_lists_the_four(word: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (STATUS, f"<status>{word}</status>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/unknown-status"}
        finding = the_finding(verdict, "goop_report/unknown-status")
        assert finding.expected == ("COMPLETE", "PARTIAL", "BLOCKED", "CHECKPOINT")
        assert finding.found == word
        assert report_of(verdict).status is None


@requirement("G-09")
def test_status_in_the_wrong_case_is_repaired_or_refused_by_mode() -> None:
    lenient, strict = judge_both(changed(EXECUTOR, (STATUS, "<status>complete</status>")))

    assert rules_of(lenient, Severity.WARNING) == {"goop_report/value-case"}
    assert rules_of(strict, Severity.ERROR) == {"goop_report/value-case"}


@requirement("G-09")
def test_two_statuses_are_an_error_and_neither_is_guessed() -> None:
    for verdict in judge_both(changed(EXECUTOR, (STATUS, f"<status>BLOCKED</status>{STATUS}"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/duplicate-element"}


@requirement("G-10")
@pytest.mark.parametrize(
    "name",
    [
        "executor",
        "Goop executor",
        "goop_executor",
        "goop-",
        "goop",
        "goop--x",
        "goop-x-",
        "-goop-x",
        "GOOP-X",
    ],
)
def test_agent_of_another_form_is_an_error(name: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (AGENT, f"<agent>{name}</agent>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/bad-agent-name"}


PACKAGE_AGENTS = (
    "debugger designer executor explorer librarian orchestrator planner researcher tester verifier"
    " writer creative executor-low executor-medium executor-high executor-frontend"
)


@requirement("G-10", "G-11")
@pytest.mark.parametrize(
    "name", ["memory-distiller", *map("goop-{}".format, PACKAGE_AGENTS.split())]
)
def test_agents_of_the_packages_are_accepted_without_a_word(name: str) -> None:
    assert name in KNOWN_AGENTS
    for verdict in judge_both(changed(EXECUTOR, (AGENT, f"<agent>{name}</agent>"))):
        assert verdict.findings == ()
        assert report_of(verdict).agent == name


@requirement("G-11")
@pytest.mark.parametrize("name", ["goop-x", "goop-baker", "goop-code-reviewer-2"])
def test_unknown_agent_of_the_right_form_is_an_info(name: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (AGENT, f"<agent>{name}</agent>"))):
        assert rules_of(verdict, Severity.INFO) == {"goop_report/unknown-agent"}
        assert weighty_rules(verdict) == set()


@requirement("G-36")
@pytest.mark.parametrize("part", ["status", "agent", "state", "summary", "handoff"])
def test_each_required_part_that_is_removed_is_named(part: str) -> None:
    start, end = EXECUTOR.index(f"<{part}>"), EXECUTOR.index(f"</{part}>") + len(part) + 3

    for verdict in judge_both(EXECUTOR[:start] + EXECUTOR[end:]):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/missing-field"}
        finding = the_finding(verdict, "goop_report/missing-field")
        assert part in finding.message
        assert part in finding.fix
        assert finding.path == f"/goop_report/{part}"


@requirement("G-36")
def test_all_missing_parts_are_named_at_once() -> None:
    verdict = judge('<goop_report version="0.1.6"><task_name>x</task_name></goop_report>')

    named = {
        finding.path for finding in verdict.findings if finding.rule == "goop_report/missing-field"
    }
    assert named == {
        f"/goop_report/{part}" for part in ("status", "agent", "state", "summary", "handoff")
    }
    assert rules_of(verdict, Severity.ERROR) == {"goop_report/missing-field"}


@requirement("G-36")
@pytest.mark.parametrize("part", ["status", "agent", "summary", "state", "handoff"])
def test_part_that_stands_twice_is_an_error(part: str) -> None:
    start, end = EXECUTOR.index(f"<{part}>"), EXECUTOR.index(f"</{part}>") + len(part) + 3

    for verdict in judge_both(EXECUTOR[:end] + EXECUTOR[start:end] + EXECUTOR[end:]):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/duplicate-element"}


@requirement("G-42")
def test_agent_other_than_the_invoked_one_is_an_error() -> None:
    for mode in MODES:
        verdict = validate(EXECUTOR, mode=mode, expected=Expectations(agent="goop-planner"))

        assert rules_of(verdict, Severity.ERROR) == {"goop_report/agent-mismatch"}
        assert the_finding(verdict, "goop_report/agent-mismatch").expected == ("goop-planner",)


@requirement("G-42")
@pytest.mark.parametrize("agent", ["goop-executor", "some-plugin:goop-executor", None])
def test_invoked_agent_is_compared_without_the_prefix_of_a_host(agent: str | None) -> None:
    assert validate(EXECUTOR, mode="strict", expected=Expectations(agent=agent)).findings == ()


@requirement("G-47")
def test_complete_with_a_failed_check_is_an_error_in_strict_and_a_warning_in_lenient_mode() -> None:
    lenient, strict = judge_both(changed(EXECUTOR, (CHECK, 'name="tests" passed="false"')))

    assert rules_of(lenient, Severity.WARNING) == {"goop_report/complete-with-failed-check"}
    assert lenient.accepted
    assert lenient.repairs == ()
    assert rules_of(strict, Severity.ERROR) == {"goop_report/complete-with-failed-check"}
    assert report_of(lenient).verification == report_of(strict).verification


@requirement("G-47")
@pytest.mark.parametrize("status", ["PARTIAL", "CHECKPOINT"])
def test_failed_check_of_unfinished_work_is_in_order(status: str) -> None:
    edits = [(CHECK, 'name="tests" passed="false"'), (STATUS, f"<status>{status}</status>")]

    for verdict in judge_both(changed(EXECUTOR, *edits)):
        assert weighty_rules(verdict) == set()


@requirement("G-53")
@pytest.mark.parametrize("version", ["014", "016"])
def test_template_sent_as_a_report_is_an_error_of_its_own(version: str) -> None:
    for verdict in judge_both(read_case(f"goop_report/{version}_template.xml")):
        assert weighty_rules(verdict) == {"goop_report/placeholder-left"}
        assert not verdict.accepted


@requirement("G-53")
def test_each_value_of_the_template_has_one_finding_and_no_other() -> None:
    verdict = judge(TEMPLATE)

    paths = [
        finding.path
        for finding in verdict.findings
        if finding.rule == "goop_report/placeholder-left"
    ]
    assert len(paths) == len(set(paths))

    for part in (
        "status",
        "agent",
        "task_id",
        "phase",
        "spec_locked",
        "ready",
        "next_command",
        "suggest_new_session",
    ):
        assert any(str(path).endswith(f"/{part}") for path in paths), part

    for attribute in ("@action", "@type", "@passed", "@current", "@total", "@agent"):
        assert any(str(path).endswith(attribute) for path in paths), attribute


@requirement("G-53")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (STATUS, "<status>COMPLETE|PARTIAL</status>"),
        (STATUS, "<status>[status]</status>"),
        (AGENT, "<agent>goop-[type]</agent>"),
        (AGENT, "<agent><![CDATA[<agent-name>]]></agent>"),
        ("<task_id>W2.T3", "<task_id>W[wave].T[task]"),
        ('<wave current="2"', '<wave current="N"'),
        ('<task current="3" total="4"', '<task current="3" total="Y"'),
        ("<ready>true", "<ready>true|false"),
        (CHECK, 'name="tests" passed="true|false"'),
        ('agent="goop-executor">W2', 'agent="goop-[type]">W2'),
        ('type="decision"', 'type="decision|observation|note"'),
        ('action="created">Auth type', 'action="created|modified|deleted">Auth type'),
        ("<blockers>", "<next_command>/goop-[command]</next_command><blockers>"),
    ],
)
def test_template_text_in_one_value_is_the_only_finding_for_it(old: str, new: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (old, new))):
        assert weighty_rules(verdict) == {"goop_report/placeholder-left"}
        assert (
            "template text left in" in the_finding(verdict, "goop_report/placeholder-left").message
        )


@requirement("G-53")
def test_bar_in_free_text_is_no_template_text() -> None:
    edits = [
        ("<task_name>Implement user authentication", "<task_name>Pipe a|b [x] {y}"),
        ("Used jose library", "Used jose|other [library]"),
        (">bun test src/auth/ - 12 passed", ">bun test | tee log [12 passed]"),
        ("W2.T4: Implement", "W2.T4: [sessions] A|B implement"),
        ("<file>src/auth/service.ts</file>", "<file>src/[id]/page.tsx</file>"),
        ('path="src/auth/types.ts"', 'path="app/[slug]/a|b.ts"'),
    ]

    for verdict in judge_both(changed(EXECUTOR, *edits)):
        assert weighty_rules(verdict) == set()


@requirement("G-44")
def test_complete_without_a_check_is_a_warning_as_in_the_planner_example() -> None:
    for verdict in judge_both(PLANNER):
        assert rules_of(verdict, Severity.ERROR) == set()
        assert rules_of(verdict, Severity.WARNING) == {"goop_report/complete-without-check"}
    empty = changed(PLANNER, ("<handoff>", "<verification></verification><handoff>"))
    assert weighty_rules(judge(empty)) == {"goop_report/complete-without-check"}


@requirement("G-44")
@pytest.mark.parametrize("status", ["PARTIAL", "CHECKPOINT"])
def test_unfinished_work_needs_no_check(status: str) -> None:
    assert weighty_rules(judge(changed(PLANNER, (STATUS, f"<status>{status}</status>")))) == set()


@requirement("G-08")
@pytest.mark.parametrize(
    "content",
    ["see the log", "<row><cell a='1'>x &amp; y</cell></row>", "a <b>bold</b> word", ""],
)
def test_unknown_element_is_an_info_and_is_kept(content: str) -> None:
    text = changed(EXECUTOR, ("  <handoff>", f"  <evidence>{content}</evidence>\n  <handoff>"))

    for verdict in judge_both(text):
        assert rules_of(verdict, Severity.INFO) == {"goop_report/extension-element"}
        assert weighty_rules(verdict) == set()
        (extension,) = report_of(verdict).extensions
        assert extension.name == "evidence"


@requirement("G-08")
def test_extensions_are_kept_in_their_order_and_named_in_the_json() -> None:
    added = "<evidence>one</evidence><recommendation>two</recommendation><evidence>three</evidence>"

    values = judge(changed(EXECUTOR, ("  <handoff>", f"{added}<handoff>"))).to_dict()["envelope"]

    assert values["extensions"] == {"evidence": ["one", "three"], "recommendation": ["two"]}


@requirement("G-08")
def test_namespace_on_the_root_is_an_error_in_strict_and_a_warning_in_lenient_mode() -> None:
    lenient, strict = judge_both(EXECUTOR.replace("<goop_report ", '<goop_report xmlns="urn:x" '))

    assert rules_of(lenient, Severity.WARNING) == {"xml/unknown-namespace"}
    assert rules_of(strict, Severity.ERROR) == {"xml/unknown-namespace"}
    assert lenient.envelope == judge(EXECUTOR).envelope
