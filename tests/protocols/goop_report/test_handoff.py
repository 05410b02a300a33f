"""The handoff of a report: who continues, with what, in which session."""

import pytest

from goop_mcp import Severity
from goop_mcp.protocols.goop_report.model import NextAction
from goop_mcp.workflow.commands import KNOWN_COMMANDS
from tests.requirements import requirement
from tests.validation.replies import (
    BLOCKED,
    EXECUTOR,
    PLANNER,
    changed,
    judge,
    judge_both,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

READY = "<ready>true</ready>"
ACTION = '<next_action agent="goop-executor">W2.T4: Implement session management</next_action>'
FLAG = "<suggest_new_session>false</suggest_new_session>"
NONE = "<blockers>None</blockers>"
STATUS = "<status>COMPLETE</status>"
REASON = BLOCKED[BLOCKED.index("<blockers>") : BLOCKED.index("</blockers>") + 11]


def swapped(old: str, new: str) -> str:
    return changed(EXECUTOR, (old, new))


@requirement("G-29")
@pytest.mark.parametrize("word", ["yes", "maybe", "1", "soon"])
def test_ready_that_is_no_boolean_is_an_error(word: str) -> None:
    for verdict in judge_both(swapped(READY, f"<ready>{word}</ready>")):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/not-a-boolean"}


@requirement("G-29")
def test_handoff_without_ready_is_a_warning() -> None:
    for verdict in judge_both(swapped(READY, "")):
        assert weighty_rules(verdict) == {"goop_report/ready-missing"}
        handoff = report_of(verdict).handoff
        assert handoff is not None
        assert handoff.ready is None


@requirement("G-29")
def test_blocked_report_that_is_ready_is_a_warning() -> None:
    text = changed(BLOCKED, ("<ready>false", "<ready>true"))

    assert "goop_report/blocked-but-ready" in rules_of(judge(text), Severity.WARNING)


@requirement("G-30", "G-46")
@pytest.mark.parametrize("attribute", ["", ' agent=""', ' agent="  "'])
def test_next_action_without_an_agent_is_an_error(attribute: str) -> None:
    for verdict in judge_both(
        swapped('<next_action agent="goop-executor">', f"<next_action{attribute}>")
    ):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/next-action-without-agent"}


@requirement("G-30")
@pytest.mark.parametrize(
    "name", ["orchestrator", "user", "memory-distiller", "goop-tester", "goop-baker"]
)
def test_agents_orchestrator_and_user_may_continue(name: str) -> None:
    for verdict in judge_both(swapped(ACTION, ACTION.replace("goop-executor", name))):
        assert weighty_rules(verdict) == set()
        handoff = report_of(verdict).handoff
        assert handoff is not None
        assert handoff.next_action == NextAction(
            agent=name, text="W2.T4: Implement session management"
        )


@requirement("G-30")
@pytest.mark.parametrize("name", ["goop-orchestrator", "goopspec"])
def test_other_name_of_the_orchestrator_is_a_warning(name: str) -> None:
    for verdict in judge_both(swapped(ACTION, ACTION.replace("goop-executor", name))):
        assert weighty_rules(verdict) == {"goop_report/next-agent-alias"}
        handoff = report_of(verdict).handoff
        assert handoff is not None
        assert handoff.next_action is not None
        assert handoff.next_action.agent == "orchestrator"


@requirement("G-30")
@pytest.mark.parametrize("name", ["bob", "executor", "the user", "next"])
def test_unknown_next_agent_is_a_warning(name: str) -> None:
    for verdict in judge_both(swapped(ACTION, ACTION.replace("goop-executor", name))):
        assert weighty_rules(verdict) == {"goop_report/unknown-next-agent"}


@requirement("G-30")
@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_next_action_without_text_is_a_warning(text: str) -> None:
    for verdict in judge_both(swapped("W2.T4: Implement session management", text)):
        assert weighty_rules(verdict) == {"goop_report/next-action-without-text"}


@requirement("G-31")
def test_files_to_read_are_exposed_in_order() -> None:
    files = "".join(
        f"<file>{path}</file>"
        for path in (".goopspec/SPEC.md", "src/a.ts", ".goopspec/BLUEPRINT.md")
    )

    handoff = report_of(judge(swapped("<file>src/auth/service.ts</file>", files))).handoff

    assert handoff is not None
    assert handoff.files_to_read == (".goopspec/SPEC.md", "src/a.ts", ".goopspec/BLUEPRINT.md")


NO_BLOCKERS = [
    "None",
    "none",
    "NONE.",
    "none.",
    "n/a",
    "N/A",
    "N/A.",
    "no",
    "No.",
    "-",
    "",
    "  ",
    "\n",
]


@requirement("G-32", "G-41")
@pytest.mark.parametrize("words", NO_BLOCKERS)
def test_words_for_no_blocker_mean_no_blocker(words: str) -> None:
    for verdict in judge_both(swapped(NONE, f"<blockers>{words}</blockers>")):
        handoff = report_of(verdict).handoff
        assert verdict.findings == ()
        assert handoff is not None
        assert handoff.blockers is None


NO_BLOCKERS += (
    """
No blockers|no blocker|No blockers.|None at this time|None for now|None currently|Currently none
None so far
None known|None identified|No known blockers|No active blockers|There are no blockers
There are currently no blockers at this time|no blockers found|No open issues|No issues
No impediments|No outstanding blockers|Nothing blocking|Nothing is blocking|not blocked|Unblocked
Nothing|nil|null|NULL|[]|{}|()|[ ]|—|–|--|---|*None*|**None**|`None`|"None"|(none)|[None]|- None
* none|• None|None!|NONE|zero|0|No blockers at the moment|no blockers as of now|No blockers yet
No further blockers|No blockers remain|All clear|false|None - ready for next task
None. Ready for review.|No blockers - all tests pass|None; ready to proceed|None (all clear)
None, ready for goop-tester|No blockers: everything is in place|✅ None|✅|🟢 No blockers
N/A - all done|not applicable|n.a.|Keine|Keine.|keine Blocker|Keine Blocker.|Keine Hindernisse
Derzeit keine|Nichts|Aucun|Aucun blocage|Rien|Néant|Ninguno|Ninguna|Nada|Sin bloqueos
No hay bloqueos|Nenhum|Sem bloqueios|Nessuno|Niente|Nessun blocco|Geen|Geen blokkades|Inga|Ingen
Inga hinder|Ingenting|Ei mitään|Ei esteitä|Brak|Brak blokad|Žádné|Нет|Нет блокеров|Немає|なし
特になし|ありません|无|無|没有|暂无|无阻塞|没有阻塞|无。|없음|없습니다|Yok|Engel yok|Nincs|Κανένα
אין|لا يوجد|कोई नहीं|Không có|Tidak ada|ไม่มี|Ｎｏｎｅ
""".strip()
    .replace("\n", "|")
    .split("|")
)
REAL_BLOCKERS = (
    """
No API key|No access to staging|none of the tests can run|None of the mirrors answer
Nothing works without the key|no database|No blockers except the missing key
None, but the key is missing|No blockers. Waiting for a review of the schema|No decision yet
None - the API key has expired|not clear yet|Nothing can be deployed|No issue number was given
Not found: src/a.py|blocked|Blockers|There are 2 blockers|No: the build is red|no tests
None? Ask the team|No response from the vendor|No license|Keine Zugangsdaten
Kein Zugriff auf die Datenbank|Nichts geht ohne Schlüssel|Aucun accès|Sin acceso|Нет доступа
没有权限|権限なし|RULE 4 DEVIATION: which provider?|open issues|issues remain|1
Null pointer in the parser|nil dereference in auth|false positives|N/A for now, the vendor is down
zero disk space|all blockers are open|- waiting for a key|Issue #12|unknown|yes|True
""".strip()
    .replace("\n", "|")
    .split("|")
)


@requirement("G-32", "G-41")
@pytest.mark.parametrize("words", REAL_BLOCKERS)
def test_words_for_a_blocker_are_kept(words: str) -> None:
    for verdict in judge_both(swapped(NONE, f"<blockers>{words}</blockers>")):
        handoff = report_of(verdict).handoff
        assert handoff is not None
        assert handoff.blockers == words
        assert weighty_rules(verdict) == {"goop_report/complete-with-blocker"}


@requirement("G-53")
@pytest.mark.parametrize("words", ["?", "??", "(?)", "TBD", "tbd.", "TBD?", "[TBD]", "todo"])
@pytest.mark.parametrize("reply", [EXECUTOR.replace(NONE, REASON), BLOCKED])
def test_blocker_that_was_never_filled_in_is_template_text(reply: str, words: str) -> None:
    for verdict in judge_both(changed(reply, (REASON, f"<blockers>{words}</blockers>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/placeholder-left"}


@requirement("G-32")
@pytest.mark.parametrize(
    "words", ["waiting for a key", "None of the tests can run", "no key", "n/a until Monday"]
)
def test_complete_report_with_a_real_blocker_is_a_warning(words: str) -> None:
    for verdict in judge_both(swapped(NONE, f"<blockers>{words}</blockers>")):
        handoff = report_of(verdict).handoff
        assert weighty_rules(verdict) == {"goop_report/complete-with-blocker"}
        assert handoff is not None
        assert handoff.blockers == words


@requirement("G-41")
@pytest.mark.parametrize("blockers", [NONE, "", "<blockers/>"])
def test_complete_report_needs_no_blockers(blockers: str) -> None:
    for verdict in judge_both(swapped(NONE, blockers)):
        assert verdict.findings == ()


@requirement("G-33")
@pytest.mark.parametrize("word", ["maybe", "yes", "0"])
def test_session_flag_that_is_no_boolean_is_an_error(word: str) -> None:
    for verdict in judge_both(swapped(FLAG, FLAG.replace("false", word))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/not-a-boolean"}


@requirement("G-33")
def test_handoff_without_the_session_flag_is_a_warning() -> None:
    for verdict in judge_both(swapped(FLAG, "")):
        assert weighty_rules(verdict) == {"goop_report/session-flag-missing"}


@requirement("G-34")
@pytest.mark.parametrize(
    "command",
    ["goop-specify", "/specify", "specify", "/goop-", "run /goop-plan", "/Goop-", "/goop plan"],
)
def test_command_of_another_form_is_an_error(command: str) -> None:
    for verdict in judge_both(swapped(FLAG, f"{FLAG}<next_command>{command}</next_command>")):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/bad-next-command"}


@requirement("G-34")
def test_command_is_optional() -> None:
    assert judge(EXECUTOR, "strict").findings == ()


@requirement("G-34")
def test_new_session_without_a_command_is_a_warning() -> None:
    for verdict in judge_both(swapped(FLAG, FLAG.replace("false", "true"))):
        assert weighty_rules(verdict) == {"goop_report/session-without-command"}


COMMANDS = (
    "accept amend complete debug discuss execute help map-codebase memory milestone pause plan"
    " quick recall remember research resume setup specify status pr-review"
)


@requirement("G-35")
@pytest.mark.parametrize("name", COMMANDS.split())
def test_commands_of_the_packages_are_accepted_without_a_word(name: str) -> None:
    assert f"/goop-{name}" in KNOWN_COMMANDS
    for verdict in judge_both(swapped(FLAG, f"{FLAG}<next_command>/goop-{name}</next_command>")):
        assert verdict.findings == ()
        handoff = report_of(verdict).handoff
        assert handoff is not None
        assert handoff.next_command == f"/goop-{name}"


@requirement("G-35")
@pytest.mark.parametrize("command", ["/goop-deploy", "/goop-x"])
def test_unknown_command_of_the_right_form_is_a_warning(command: str) -> None:
    for verdict in judge_both(swapped(FLAG, f"{FLAG}<next_command>{command}</next_command>")):
        assert weighty_rules(verdict) == {"goop_report/unknown-command"}


@requirement("G-45")
@pytest.mark.parametrize("words", NO_BLOCKERS)
def test_blocked_report_without_a_real_blocker_is_an_error(words: str) -> None:
    for verdict in judge_both(changed(BLOCKED, (REASON, f"<blockers>{words}</blockers>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/blocked-without-blocker"}


@requirement("G-45")
def test_blocked_report_without_the_element_is_an_error() -> None:
    for verdict in judge_both(changed(BLOCKED, (REASON, ""))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/blocked-without-blocker"}


@requirement("G-45")
def test_blocker_of_the_example_is_read_in_full() -> None:
    handoff = report_of(judge(BLOCKED)).handoff

    assert handoff is not None
    assert (
        handoff.blockers == "RULE 4 DEVIATION: Need user decision on payment provider.\n"
        "Options: A) Stripe (recommended, better docs), B) PayPal (wider reach)"
    )


@requirement("G-46")
@pytest.mark.parametrize("status", ["COMPLETE", "PARTIAL", "CHECKPOINT"])
def test_unblocked_report_without_a_next_action_is_an_error(status: str) -> None:
    for verdict in judge_both(
        changed(EXECUTOR, (ACTION, ""), (STATUS, f"<status>{status}</status>"))
    ):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-next-action"}
        assert the_finding(verdict, "goop_report/no-next-action").line is not None


@requirement("G-46")
def test_blocked_report_without_a_next_action_is_a_warning_as_in_the_example() -> None:
    for verdict in judge_both(BLOCKED):
        assert verdict.accepted
        assert weighty_rules(verdict) == {"goop_report/blocked-without-next-action"}


def test_planner_example_hands_over_to_the_orchestrator_in_a_new_session() -> None:
    handoff = report_of(judge(PLANNER)).handoff

    assert handoff is not None
    assert handoff.next_action is not None
    assert handoff.next_action.agent == "orchestrator"
    assert handoff.suggest_new_session is True
    assert handoff.next_command == "/goop-specify"
