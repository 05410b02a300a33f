"""The gate before a spawn, run as by a script: exit codes, exact messages, the session's log."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.running import Ended, run, run_command, run_in_shell
from tests.protocols.agent_request.prompts import CASES, PROMPT, read_case
from tests.requirements import requirement
from tests.rights import ordinary_rights

REFUSED = (
    "❌ Invalid XML handoff in prompt file\nℹ️  Fix XML errors or remove XML block to proceed\n"
)
REQUIRED = "mode, original_intent, current_task_summary, workflow, task_details, deliverables"
SCHEMA = ".claude/schemas/agent-handoff-v1.xsd"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create an empty project folder."""
    return tmp_path


def gate(project: Path, prompt: str, *options: str, name: str = "prompt.md") -> Ended:
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(prompt.encode())
    return run("gate", name, *options, cwd=project)


@requirement("H-29", "H-30", "H-31", "H-32")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("1_1_freeform", 0),
        ("foreign_xml_only", 0),
        ("4_1_grafana", 0),
        ("6_1_backend_api", 0),
        ("6_2_test_auth", 0),
        ("namespaced_minimal", 0),
        ("raw_ampersand", 0),
        ("7_1_s1_unclosed", 1),
        ("7_1_s2_bad_enum", 1),
        ("7_1_s3_missing_field", 1),
        ("8_3_versions_fragment", 1),
        ("11_1_xxe", 1),
        ("traversal", 1),
        ("version_9_9", 1),
    ],
)
def test_the_exit_code_says_whether_to_proceed(project: Path, name: str, code: int) -> None:
    ended = gate(project, read_case(name))

    assert ended.code == code, ended.err
    assert ended.out == ""
    assert ended.err.endswith(REFUSED) == (code == 1)


@requirement("H-29")
def test_no_other_program_is_needed(project: Path) -> None:
    (project / "prompt.md").write_text(PROMPT, encoding="utf-8")

    ended = run("gate", "prompt.md", cwd=project, env={"PATH": str(project)})
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@requirement("H-35")
def test_a_prompt_without_a_block_proceeds_with_the_warning_of_section_3_4(project: Path) -> None:
    assert (
        gate(project, read_case("1_1_freeform")).err
        == "⚠️  Warning: No XML handoff block found in prompt.md\n"
        "ℹ️  Proceeding with unstructured handoff (agent must parse prose)\n"
    )


@requirement("H-36", "H-40")
def test_a_malformed_block_is_refused_in_the_wording_of_section_3_4(project: Path) -> None:
    assert gate(project, read_case("7_1_s1_unclosed")).err == (
        "❌ Invalid XML handoff in prompt.md\n"
        "   Line 9: Opening and ending tag mismatch: original_intent vs. agent_request\n"
        "ℹ️  Fix XML syntax errors or remove XML block to proceed\n" + REFUSED
    )


@requirement("H-36")
def test_every_line_with_an_error_of_form_is_named(project: Path) -> None:
    prompt = (
        "```xml\n<agent_request>\n<mode>spawn</workflow>\n<workflow>TDD</mode>\n</agent_request>\n"
        "more\n```\n"
    )

    assert [
        line for line in gate(project, prompt).err.splitlines() if line.startswith("   Line ")
    ] == [
        "   Line 3: Opening and ending tag mismatch: mode vs. workflow",
        "   Line 4: Opening and ending tag mismatch: workflow vs. mode",
        (
            "   Line 6: Extra content at the end of the document: text in the fence after"
            " </agent_request>; expected none"
        ),
    ]


@requirement("H-37", "H-40")
def test_a_value_outside_the_list_is_refused_in_the_wording_of_section_3_4(project: Path) -> None:
    assert gate(project, read_case("7_1_s2_bad_enum")).err == (
        "❌ XML handoff validation failed (schema violation)\n"
        "   Element 'mode': 'invalid-mode' is not a valid value of the atomic type 'ModeType'\n"
        "ℹ️  Allowed values: spawn, conversation_only, blocking\n"
        f"ℹ️  Schema: {SCHEMA}\n" + REFUSED
    )


@requirement("H-37", "H-32")
def test_a_missing_part_is_refused_with_the_required_ones(project: Path) -> None:
    assert gate(project, read_case("7_1_s3_missing_field")).err == (
        "❌ XML handoff validation failed (schema violation)\n"
        "   Missing required element: original_intent\n"
        f"ℹ️  Required fields: {REQUIRED}\n"
        f"ℹ️  Schema: {SCHEMA}\n" + REFUSED
    )


def test_all_errors_are_named_at_once(project: Path) -> None:
    prompt = PROMPT.replace("spawn<", "fork<").replace("TDD<", "HOTFIX<").replace('"true"', '"yes"')
    prompt = prompt.replace(
        "  <original_intent>Let agents prove who they are</original_intent>\n", ""
    )

    assert gate(project, prompt).err == (
        "❌ XML handoff validation failed (schema violation)\n   Missing required element:"
        " original_intent\n   Element 'mode': 'fork' is not a valid value of the atomic type"
        " 'ModeType'\n   Element 'workflow': 'HOTFIX' is not a valid value of the atomic type"
        " 'WorkflowType'\n   Element 'file', attribute 'required': 'yes' is not a valid value of"
        " the atomic type 'xs:boolean'\nℹ️  Allowed values of mode: spawn, conversation_only,"
        " blocking\nℹ️  Allowed values of workflow: SPIKE, TDD, standard, none\nℹ️  Allowed values"
        f" of required: true, false, 1, 0\nℹ️  Required fields: {REQUIRED}\nℹ️  Schema: {SCHEMA}\n"
        + REFUSED
    )


@requirement("H-51")
def test_an_unknown_version_is_refused_by_its_number(project: Path) -> None:
    ended = gate(project, read_case("version_9_9"))

    assert ended.code == 1
    assert "   Unsupported XML handoff version: 9.9\n" in ended.err
    assert "ℹ️  Schema: .claude/schemas/agent-handoff-v9.9.xsd (not found)\n" in ended.err


@requirement("H-61")
def test_a_path_that_leads_out_is_refused_in_the_wording_of_section_11_2(project: Path) -> None:
    assert gate(project, read_case("traversal")).err == (
        "❌ Invalid deliverable path: ../../etc/passwd\n   Must be within workspace directory\n"
        + REFUSED
    )


@requirement("H-61")
def test_a_link_that_leads_out_of_the_project_is_refused(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (project / "src").symlink_to(tmp_path_factory.mktemp("elsewhere"))

    ended = gate(project, PROMPT)
    assert ended.code == 1
    assert ended.err.startswith("❌ Invalid deliverable path: src/login.py\n")


@pytest.mark.parametrize("path", ["loop", "loop/login.py"])
def test_a_circle_of_links_is_refused(project: Path, path: str) -> None:
    (project / "loop").symlink_to("loop")

    ended = gate(project, PROMPT.replace("src/login.py", path))
    assert ended.code == 1
    assert (
        ended.err
        == f"❌ Invalid deliverable path: {path}\n   Must be within workspace directory\n" + REFUSED
    )


@requirement("H-61")
def test_a_link_that_leads_out_of_the_session_is_refused(project: Path) -> None:
    session = "docs/.scratch/sessions/20260114-093000-login"
    (project / session).mkdir(parents=True)
    (project / "src").mkdir()
    (project / session / "out").symlink_to(project / "src")
    prompt = PROMPT.replace("src/login.py", f"{session}/out/login.py")

    ended = gate(project, prompt, "--containment", "session", name=f"{session}/prompt.md")
    assert ended.code == 1
    assert f"   Must be within session directory: {session}\n" in ended.err
    assert gate(project, prompt, name=f"{session}/prompt.md").code == 0


def test_a_link_inside_the_project_may_be_used(project: Path) -> None:
    (project / "code").mkdir()
    (project / "src").symlink_to(project / "code")

    assert gate(project, PROMPT).code == 0


@requirement("H-61")
def test_deliverables_can_be_kept_inside_the_session(project: Path) -> None:
    session = "docs/.scratch/sessions/20260114-093000-login"
    name = f"{session}/prompt.md"

    refused = gate(project, PROMPT, "--containment", "session", name=name)
    assert refused.code == 1
    assert refused.err == (
        "❌ Invalid deliverable path: src/login.py\n   Must be within session directory:"
        f" {session}\n" + REFUSED
    )
    inside = PROMPT.replace("src/login.py", f"{session}/result.json")
    assert gate(project, inside, "--containment", "session", name=name).code == 0


def test_a_variable_left_in_a_path_is_refused_before_a_spawn(project: Path) -> None:
    ended = gate(project, read_case("1_2_grafana"))

    assert ended.code == 1
    assert (
        "❌ Invalid deliverable path: docs/.scratch/sessions/{session-id}/result.json\n"
        in ended.err
    )


@requirement("H-45")
def test_an_id_that_differs_from_the_folder_of_the_prompt_is_a_warning(project: Path) -> None:
    ended = gate(project, PROMPT, name="sessions/20260114-093000-logout/prompt.md")

    assert ended.code == 0
    assert ended.err.startswith(
        "⚠️  Warning: Line 6: session_id is '20260114-093000-login'; expected "
    )


@requirement("H-33")
def test_a_missing_schema_file_is_a_warning_and_only_form_is_judged(
    project: Path,
) -> None:
    ended = gate(project, read_case("7_1_s2_bad_enum"), "--schema", "nowhere.xsd")

    assert ended.code == 0
    assert (
        ended.err == "⚠️  Warning: Schema file not found: nowhere.xsd\n"
        "ℹ️  Proceeding without schema validation (only well-formedness checked)\n"
    )
    assert gate(project, read_case("7_1_s1_unclosed"), "--schema", "nowhere.xsd").code == 1
    assert gate(project, read_case("traversal"), "--schema", "nowhere.xsd").code == 1


@requirement("H-33")
def test_an_existing_schema_file_is_named_in_the_messages(project: Path) -> None:
    assert run("schema", "agent_request", "--install", cwd=project).code == 0

    ended = gate(
        project,
        read_case("7_1_s2_bad_enum"),
        "--schema",
        ".claude/schemas/agent-handoff-v1-corrected.xsd",
    )
    assert ended.code == 1
    assert "ℹ️  Schema: .claude/schemas/agent-handoff-v1-corrected.xsd\n" in ended.err


@requirement("H-53")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--adoption", "optional"], 0),
        (["--adoption", "pilot"], 0),
        (["--adoption", "expanded"], 0),
        (["--adoption", "mandatory"], 1),
        (["--adoption", "mandatory", "--workflow", "standard"], 1),
        (["--adoption", "mandatory", "--workflow", "SPIKE"], 0),
        (["--adoption", "mandatory", "--workflow", "research"], 0),
    ],
)
def test_a_missing_block_is_refused_once_the_handoff_is_mandatory(
    project: Path, options: list[str], code: int
) -> None:
    ended = gate(project, read_case("1_1_freeform"), *options)

    assert ended.code == code
    assert ended.err.startswith("❌ No XML handoff block found in prompt.md\n") == (code == 1)


@requirement("H-39", "H-38")
def test_the_log_of_the_session_receives_the_outcome_and_the_reasons_of_section_7_1(
    project: Path,
) -> None:
    log = project / "session.log"
    log.write_text("before\n", encoding="utf-8")
    for name in ("6_1_backend_api", "7_1_s1_unclosed", "7_1_s2_bad_enum", "7_1_s3_missing_field"):
        gate(project, read_case(name), "--session-log", "session.log")

    assert (
        log.read_text(encoding="utf-8") == "before\n"
        "XML handoff validation: PASSED\n"
        "XML handoff validation: FAILED\n"
        "❌ XML handoff validation failed\n"
        "   Line 9: Opening and ending tag mismatch: original_intent vs. agent_request\n"
        "ℹ️  Fix XML syntax errors in prompt.md\n"
        "ℹ️  Or remove XML block to use freeform Markdown handoff\n"
        "XML handoff validation: FAILED\n"
        "❌ XML handoff validation failed (schema violation)\n"
        "   Element 'mode': 'invalid-mode' is not valid\n"
        "   Allowed values: spawn, conversation_only, blocking\n"
        "ℹ️  Fix mode value in prompt.md or consult schema documentation\n"
        "XML handoff validation: FAILED\n"
        "❌ XML handoff validation failed (schema violation)\n"
        "   Missing required element: original_intent\n"
        "ℹ️  Add missing field to XML handoff\n"
        f"ℹ️  Required fields: {REQUIRED}\n"
    )


@requirement("H-39")
@pytest.mark.parametrize(
    ("name", "outcome"), [("6_1_backend_api", "PASSED"), ("7_1_s1_unclosed", "FAILED")]
)
def test_the_log_of_the_process_holds_the_outcome_at_level_info(
    project: Path, name: str, outcome: str
) -> None:
    (project / "prompt.md").write_text(read_case(name), encoding="utf-8")

    ended = run("gate", "prompt.md", cwd=project, env={"GOOP_LOG_LEVEL": "INFO"})
    assert f"XML handoff validation: {outcome}" in ended.err


@requirement("H-41")
def test_no_temporary_file_is_created(project: Path) -> None:
    temporary = project / "temporary"
    temporary.mkdir()
    (project / "prompt.md").write_text(read_case("7_1_s1_unclosed"), encoding="utf-8")
    temporary.chmod(0o500)

    ended = run("gate", "prompt.md", cwd=project, env={"TMPDIR": str(temporary)})
    assert ended.code == 1
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in project.iterdir()) == ["prompt.md", "temporary"]


def test_the_gate_replaces_the_function_of_the_specification_in_a_script(project: Path) -> None:
    script = (
        'validate_prompt_xml() { "$@" gate prompt.md; }; if ! validate_prompt_xml "$@"; then echo'
        " stop; exit 1; fi"
    )
    (project / "prompt.md").write_text(read_case("7_1_s2_bad_enum"), encoding="utf-8")
    refused = run_in_shell(script, cwd=project)
    (project / "prompt.md").write_text(PROMPT, encoding="utf-8")
    proceeding = run_in_shell(script, cwd=project)

    assert (refused.code, refused.out) == (1, "stop\n")
    assert (proceeding.code, proceeding.out, proceeding.err) == (0, "", "")


def test_a_prompt_may_come_through_a_pipe(project: Path) -> None:
    ended = run("gate", "-", stdin=read_case("7_1_s1_unclosed").encode(), cwd=project)

    assert ended.code == 1
    assert ended.err.startswith("❌ Invalid XML handoff in standard input\n")


@requirement("H-24")
def test_an_error_of_form_is_one_line_when_the_fields_are_asked_for(project: Path) -> None:
    ended = gate(project, read_case("7_1_s1_unclosed"), "--fields")

    assert (ended.code, ended.out) == (1, "")
    assert (
        ended.err
        == "XML syntax error: Line 9: Opening and ending tag mismatch: original_intent vs."
        " agent_request\n"
    )


@requirement("H-23")
def test_the_fields_of_an_accepted_request_are_printed_as_json(project: Path) -> None:
    ended = gate(project, read_case("6_1_backend_api"), "--fields")

    fields = json.loads(ended.out)
    assert ended.code == 0
    assert fields["workflow"] == "TDD"
    assert [path for path, _ in fields["deliverables"]["files"]] == [
        "src/api/routes/auth.py",
        "src/api/services/auth_service.py",
        "tests/api/test_auth.py",
    ]


@requirement("H-24")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "expected one of them"),
        (["nowhere.md"], "'nowhere.md' does not exist"),
        (["."], "is a folder"),
        (["prompt.md", "--adoption", "soon"], "--adoption"),
        (["prompt.md", "--session-log", "no/such/log"], "the log 'no/such/log' cannot be written"),
        (["prompt.md", "--project", "nowhere"], "--project is 'nowhere', which is not a folder"),
    ],
)
def test_a_usage_error_is_reported_in_one_sentence(
    project: Path, arguments: list[str], expected: str
) -> None:
    (project / "prompt.md").write_text(PROMPT, encoding="utf-8")
    ended = run("gate", *arguments, cwd=project)

    assert ended.code == 2
    assert expected in ended.err
    assert "Traceback" not in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_no_prompt_of_the_cases_ends_in_a_traceback() -> None:
    # One process for all: an exception at any prompt would end it.
    script = (
        "import sys; from goop_mcp.cli import main; print(*[main(['gate', each]) for each in"
        " sys.argv[1:]])"
    )
    cases = sorted(map(str, CASES.glob("*.md")))
    ended = run_command([sys.executable, "-c", script, *cases])
    assert ended.code == 0, ended.err
    codes = ended.out.splitlines()[-1].split()
    assert len(codes) == len(cases)
    assert set(codes) == {"0", "1"}
    assert "Traceback" not in ended.err


def test_a_file_without_permission_is_reported(project: Path) -> None:
    (project / "prompt.md").write_text(PROMPT, encoding="utf-8")
    (project / "prompt.md").chmod(0)

    with ordinary_rights():
        ended = run("gate", "prompt.md", cwd=project)

    assert "may not be read" in ended.err


RULES_FOR_PROMPTS = """\
from dataclasses import replace

from goop_mcp import Hit
from goop_mcp.protocols.agent_request import Request
from tests.validation.shop import TICKET


def names_no_ticket(request, expected):
    if "SHOP-" not in (request.original_intent or ""):
        path = "/agent_request/original_intent"
        return Hit(message="the intent names no ticket; expected one", path=path)


RULES = replace(TICKET, model=Request, check=names_no_ticket)
FAILING = replace(TICKET, model=Request, check=lambda request, expected: request.ticket)
"""


def test_a_prompt_can_be_refused_by_a_custom_rule(project: Path) -> None:
    (project / "shop_rules.py").write_text(RULES_FOR_PROMPTS, encoding="utf-8")
    rules = ("--rules", "shop_rules.py")
    refused = gate(project, PROMPT, *rules)
    assert (gate(project, PROMPT).code, refused.code) == (0, 1)
    assert "the intent names no ticket" in refused.err
    assert (
        gate(
            project, PROMPT.replace("<original_intent>", "<original_intent>SHOP-17: "), *rules
        ).code
        == 0
    )


def test_a_custom_rule_that_fails_stops_every_prompt(project: Path) -> None:
    (project / "shop_rules.py").write_text(RULES_FOR_PROMPTS, encoding="utf-8")
    ended = gate(project, PROMPT, "--rules", "shop_rules.py:FAILING")
    assert ended.code == 2
    assert "rule shop/ticket-missing failed: AttributeError" in ended.err
