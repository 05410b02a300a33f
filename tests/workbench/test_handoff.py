"""The pages Handoff, Templates and Draft: from a form, a template or prose to a valid prompt."""

import re
from pathlib import Path

import pytest
from httpx2 import Response
from lxml import html

from goop_mcp.protocols.agent_request.model import RequestMode, RequestWorkflow
from goop_mcp.services.gate import gate
from tests.cli.test_template import OWN, own
from tests.requirements import requirement
from tests.workbench.browsing import Browser, browse, text_of
from tests.workbench.projects import play_until

SESSION = "20260114-093000-login"
FORM = {
    "original_intent": "Let users log in",
    "current_task_summary": "Add POST /login and its tests",
    "task_details": "1. Tests\r\n2. Handler & <form>",
    "constraints": "No new dependencies\r\n\r\nNo migrations",
    "mode": "blocking",
    "workflow": "TDD",
    "priority": "high",
    "session_id": SESSION,
    "kind": "file",
    "path": "src/login.py",
    "required": "yes",
    "text": "The endpoint",
}
PROMPT = f"docs/.scratch/sessions/{SESSION}/prompt.md"


def prompt_of(page: Response) -> str:
    (found,) = html.document_fromstring(page.text).cssselect("#prompt")
    return str(found.text_content())


def digest(browser: Browser) -> str:
    page = browser.get(f"/handoff?session={SESSION}")
    found = re.search(r'name="opened" value="(\w+)"', page.text)
    assert found is not None
    return found[1]


@requirement("H-64")
def test_every_mode_workflow_and_priority_can_be_chosen(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = html.document_fromstring(browser.get("/handoff").text)
    chosen = {
        name: [each.text for each in page.cssselect(f"#{name} option")]
        for name in ("mode", "workflow", "priority")
    }
    assert chosen["mode"] == [each.value for each in RequestMode]
    assert chosen["workflow"] == [each.value for each in RequestWorkflow]
    assert chosen["priority"] == ["not set", "high", "medium", "low"]


@requirement("H-64")
def test_a_form_that_is_filled_in_gives_a_fenced_block_that_the_gate_accepts(
    tmp_path: Path,
) -> None:
    with browse(tmp_path) as browser:
        page = browser.post("/handoff", FORM)
        part = browser.post("/handoff/preview", FORM)

    assert "The gate accepts this prompt" in text_of(page, "#result")
    prompt = prompt_of(page)
    assert "````xml\n<agent_request" in prompt
    assert gate(prompt, "prompt.md", mode="strict").proceed
    assert "<html" not in part.text
    assert list(tmp_path.iterdir()) == []


@requirement("H-64")
def test_what_is_missing_is_named_while_the_form_is_filled_in(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        empty = browser.post("/handoff/preview", {"mode": "spawn", "workflow": "standard"})
        part = browser.post("/handoff/preview", {"original_intent": "Let users log in"})
        wrong = browser.post("/handoff/preview", {**FORM, "path": "../../etc/passwd"})
        number = browser.post("/handoff/preview", {**FORM, "max_retries": "many"})

    assert "Fill in the form" in empty.text
    assert "not valid yet" in part.text
    assert part.text.count(">missing<") == 3
    assert "<mark" in part.text
    assert "leads out of the workspace" in wrong.text
    assert "max_retries is a text; expected a whole number" in number.text


def test_a_handoff_is_written_and_opened_again(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        written = browser.post("/handoff/write", FORM)
        again = browser.get(f"/handoff?session={SESSION}")
        saved = browser.post(
            "/handoff/write", {**FORM, "priority": "low", "opened": digest(browser)}
        )

    assert PROMPT in text_of(written, "#notes")
    text = (tmp_path / PROMPT).read_text(encoding="utf-8")
    assert gate(text, "prompt.md", mode="strict").proceed
    assert 'value="20260114-093000-login"' in again.text
    assert "No migrations" in text_of(again, "#constraints")
    assert PROMPT in text_of(saved, "#notes")
    assert 'priority="low"' in text


def test_two_people_who_edit_one_handoff_see_the_conflict_and_lose_nothing(tmp_path: Path) -> None:
    with browse(tmp_path) as ann, browse(tmp_path) as ben:
        ann.post("/handoff/write", FORM)
        seen_by_ann, seen_by_ben = digest(ann), digest(ben)
        changed = {**FORM, "original_intent": "Written by Ben"}
        ben.post("/handoff/write", {**changed, "opened": seen_by_ben})
        late = {**FORM, "original_intent": "Written by Ann", "opened": seen_by_ann}
        refused = ann.post("/handoff/write", late)

    assert refused.status_code == 409
    assert "was changed by somebody else since you opened it" in text_of(refused, "[role=alert]")
    assert "Written by Ann" in text_of(refused, "#original_intent")
    assert "Written by Ben" in (tmp_path / PROMPT).read_text(encoding="utf-8")


def test_an_existing_handoff_is_never_overwritten_by_a_new_one(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        browser.post("/handoff/write", FORM)
        refused = browser.post("/handoff/write", {**FORM, "original_intent": "Another"})
    assert refused.status_code == 409
    assert "exists" in text_of(refused, "[role=alert]")


def test_who_may_only_read_writes_nothing(tmp_path: Path) -> None:
    with browse(tmp_path, is_read_only=True) as browser:
        page = browser.get("/handoff")
        refused = browser.post("/handoff/write", FORM)
    assert "/handoff/write" not in page.text
    assert refused.status_code == 403
    assert not (tmp_path / "docs").exists()


def test_a_handoff_begins_with_the_decision_on_a_report(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    with browse(tmp_path) as browser:
        page = browser.get("/handoff?report=1")
        missing = browser.get("/handoff?report=999")
    assert text_of(page, "#current_task_summary") or 'value="goop-' in page.text
    assert "there is no report 999" in text_of(missing, "[role=alert]")


@pytest.mark.parametrize("session", ["../../etc", "20260114-093000-none", "x"])
def test_a_session_that_cannot_be_opened_is_named(tmp_path: Path, session: str) -> None:
    with browse(tmp_path) as browser:
        page = browser.get(f"/handoff?session={session}")
    assert page.status_code == 200
    assert session in text_of(page, "[role=alert]")


def test_rows_are_added_without_script(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.post("/handoff", {**FORM, "do": "rows"})
    assert len(re.findall(r'name="path"', page.text)) == 5


# Templates


@requirement("H-65")
def test_a_template_is_filled_in_on_its_page_and_used_in_the_form(tmp_path: Path) -> None:
    own(tmp_path)
    with browse(tmp_path) as browser:
        listed = browser.get("/templates")
        page = browser.get("/templates/release-notes")
        part = browser.post("/templates/release-notes/preview", {"slot-version": "1.2"})
        refused = browser.post("/templates/release-notes/edit", {"slot-version": " "})
        used = browser.post("/templates/release-notes/edit", {"slot-version": "1.2"})
        unknown = browser.get("/templates/release-nots")

    assert "Write release notes" in text_of(listed)
    assert "not filled in: version" in text_of(page, "#result")
    assert "all slots are filled in" in part.text
    assert "slots that are not filled in: version" in text_of(refused, "[role=alert]")
    assert "The gate accepts this prompt" in text_of(used, "#result")
    assert "docs/notes-1.2.md" in used.text
    assert unknown.status_code == 404


def test_a_file_that_is_no_template_is_named_on_the_page(tmp_path: Path) -> None:
    own(tmp_path, OWN.replace("# Task: ", "# "))
    with browse(tmp_path) as browser:
        page = browser.get("/templates")
    assert "release-notes.md cannot be used" in text_of(page)
    assert "Research a question" in text_of(page)


# Drafts


@requirement("H-69")
def test_a_description_becomes_a_form_with_its_questions(tmp_path: Path) -> None:
    prose = "Goal: Let users log in\r\nPriority: urgent\r\n\r\n<script>x</script> Add a login."
    with browse(tmp_path) as browser:
        empty = browser.get("/draft")
        page = browser.post("/draft", {"text": prose})
        part = browser.post("/draft/preview", {"text": prose})
        form = browser.post("/draft/edit", {"text": prose})
        long = browser.post("/draft/preview", {"text": "x" * 70_000})

    assert "Write the description" in text_of(empty, "#result")
    shown = text_of(page, "#result")
    assert "Line 2 says Priority 'urgent'" in shown
    assert "What is to be delivered" in shown
    assert "Let users log in" in shown
    assert "<script>x" not in page.text + part.text + form.text
    assert "Let users log in" in text_of(form, "#original_intent")
    assert "expected at most 65,536" in long.text
