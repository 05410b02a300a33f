"""The page Now: a person sees where the project stands, and takes the steps."""

import re
from pathlib import Path

from httpx2 import Response
from lxml import html

from goop_mcp.services.project_status import project_status
from goop_mcp.services.project_steps import ProjectStep, take_step
from tests.services.reporting import record, report
from tests.workbench.browsing import Browser, browse, text_of
from tests.workbench.projects import NOW, opened, play_until


def state_of(folder: Path) -> tuple[str | None, bool | None, int]:
    with opened(folder) as project:
        status = project_status(project)
    return status.phase, status.spec_locked, status.round.number


def question_of(browser: Browser, action: str, **fields: str) -> str:
    """Send the form of a step that needs a person, and return the address of its question."""
    page = browser.post("/steps", {"action": action, **fields})
    assert page.url.path.startswith(f"{browser.root}/confirm/"), text_of(page)
    return page.url.path


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.get("/")
    assert page.status_code == 200
    assert "goop-mcp init" in text_of(page)
    assert not (tmp_path / ".goopspec").exists()


def test_a_person_locks_the_specification_and_the_log_says_who(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    with browse(tmp_path) as browser:
        before = browser.get("/")
        address = question_of(browser, "lock_spec")
        question = browser.get(address)
        after = browser.post(address, {"answer": "yes"})
        gone = browser.post(address, {"answer": "yes"})

    assert "Lock the specification" in text_of(before)
    assert "3 must-haves, all traced to tasks" in text_of(question)
    assert "broken links" in text_of(question, "pre")
    assert "is locked" in text_of(after, "#notes")
    assert "answered before" in text_of(gone, "#notes")
    assert state_of(tmp_path)[1] is True
    assert "workbench " in (tmp_path / ".goopspec" / "ADL.md").read_text()


def test_a_person_says_no_and_nothing_changes(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    with browse(tmp_path) as browser:
        address = question_of(browser, "lock_spec")
        waiting = browser.get("/")
        after = browser.post(address, {"answer": "no"})

    assert "Lock the specification of linkcheck?" in text_of(waiting, "#waiting-title + ul")
    assert "refused" in text_of(after, "#notes")
    assert state_of(tmp_path)[1] is False


def test_a_specification_that_changed_after_the_question_is_not_locked(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    spec = tmp_path / ".goopspec" / "SPEC.md"
    with browse(tmp_path) as browser:
        address = question_of(browser, "lock_spec")
        spec.write_text(spec.read_text().replace("broken", "dead"))
        shown = browser.get(address)
        after = browser.post(address, {"answer": "yes"})

    assert "has changed since it was asked" in text_of(shown)
    assert 'value="yes"' not in shown.text
    assert "has changed since it was asked" in text_of(after, "#notes")
    assert state_of(tmp_path)[1] is False


def test_a_question_of_an_agent_waits_here(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    with opened(tmp_path) as project:
        take_step(project, ProjectStep(action="lock_spec"), by="mcp claude-code 2.1", now=NOW)
    with browse(tmp_path) as browser:
        page = browser.get("/")
        address = re.findall(r'href="[^"]*(/confirm/\d+)"', page.text)[0]
        browser.post(address, {"answer": "yes"})

    assert "asked by mcp claude-code 2.1" in text_of(page)
    assert state_of(tmp_path)[1] is True


def test_a_person_decides_a_blocker(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    with browse(tmp_path) as browser:
        page = browser.get("/")
        fields = {"action": "decide", "task": "W2.T1", "choice": "B", "comment": "Both are read."}
        after = browser.post("/steps", fields)

    assert "B) Take several folders" in text_of(page)
    assert "Take several folders" in text_of(after, "#notes")
    assert "Decisions" not in text_of(after)
    log = (tmp_path / ".goopspec" / "ADL.md").read_text()
    assert "Both are read." in log
    assert "workbench " in log


def decision_forms(page: Response) -> list[html.FormElement]:
    """Return the forms of decisions on a page."""
    forms = html.document_fromstring(page.text).forms
    return [each for each in forms if each.fields.get("action") == "decide"]


def test_each_report_without_a_task_has_a_form_of_its_own(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    with opened(tmp_path) as project:
        numbers = [
            record(
                project, without_task("BLOCKED", blockers=f"Which {what}? Options: A) One, B) Two")
            )
            for what in ("colour", "size")
        ]
    first, second = (f"report {each.written.report}" for each in numbers)
    with browse(tmp_path) as browser:
        forms = {form.fields["task"]: form for form in decision_forms(browser.get("/"))}
        given = {"action": "decide", "task": first, "seen": forms[first].fields["seen"]}
        done = browser.post("/steps", {**given, "choice-1": "B"})
        left = [form.fields["task"] for form in decision_forms(done)]

    assert set(forms) == {"W2.T1", first, second}
    assert f"{first}: Which colour? B) Two" in text_of(done, "#decided-title ~ details")
    assert sorted(left) == sorted(forms)
    with opened(tmp_path) as project:
        assert len(project_status(project).blockers) == 2


def without_task(status: str, **parts: str) -> str:
    return report("", status, **parts).replace("<task_id></task_id>", "")


def test_the_form_of_a_decision_chooses_nothing_and_takes_what_is_offered(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    with browse(tmp_path) as browser:
        page = browser.get("/")
        (form,) = decision_forms(page)
        seen = form.fields["seen"]
        given = {"action": "decide", "task": "W2.T1", "seen": seen}
        refused = [
            browser.post("/steps", {**given, **more})
            for more in (
                {},
                {"choice-1": ""},
                {"choice-1": "C"},
                {"choice-1": "Ask Maria first"},
                {"choice-1": "A", "choice-2": "B"},
                {"choice-1": "A", "seen": "0" * 64},
            )
        ]
        still = browser.get("/")
        done = browser.post("/steps", {**given, "choice-1": "none of these", "comment": "Ask."})

    assert form.xpath(".//input[@checked]") == []
    assert not form.xpath(".//input[@type='radio'][not(@required)]")
    assert form.get("autocomplete") == "off"
    for each in refused[:5]:
        assert 'one of A, B, or "none of these"' in text_of(each, "#notes")
    assert "another one than was shown" in text_of(refused[5], "#notes")
    assert "W2.T1" in text_of(still, "#blockers-title ~ form")
    assert "none of these. Ask." in text_of(done, "#notes")
    assert "W2.T1: none of these. Ask. (workbench " in text_of(done, "#decided-title ~ details")


def test_a_form_of_before_replaces_no_decision_and_one_that_shows_it_does(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    with browse(tmp_path) as browser:
        (form,) = decision_forms(browser.get("/"))
        given = {"action": "decide", "task": "W2.T1"}
        old = {**given, "seen": form.fields["seen"]}
        browser.post("/steps", {**old, "choice-1": "A"})
        late = browser.post("/steps", {**old, "choice-1": "B"})
        (made,) = decision_forms(browser.get("/"))
        new = {**given, "seen": made.fields["seen"]}
        replaced = browser.post("/steps", {**new, "choice-1": "B"})
        twice = browser.post("/steps", {**new, "choice-1": "A"})

    assert "No blocker waits for a decision on W2.T1: it was decided" in text_of(late, "#notes")
    assert "It replaces A) Read one folder only (recommended) (workbench " in text_of(
        replaced, "#notes"
    )
    assert "it was decided, W2.T1: B) Take several folders" in text_of(twice, "#notes")
    log = (tmp_path / ".goopspec" / "ADL.md").read_text()
    assert "Decision: A) Read one folder only" in log
    assert "Decision: B) Take several folders" in log


def test_no_list_has_an_entry_chosen_and_no_button_is_pressed_by_return(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    with browse(tmp_path) as browser:
        page = browser.get("/")
        address = question_of(browser, "lock_spec")
        question = browser.get(address)
        odd = [browser.post(address, {"answer": each}) for each in ("", "maybe", "YES")]

    selects = html.document_fromstring(page.text).cssselect("select")
    for select in selects:
        first = select.cssselect("option")[0]
        assert (first.get("value"), first.get("selected")) == ("", None)
        assert select.get("required") is not None
    (form,) = html.document_fromstring(question.text).cssselect("main form")
    button = form.cssselect("button")[0]
    assert None not in {button.get("disabled"), button.get("hidden")}
    assert len(selects) > 1
    assert [each.status_code for each in odd] == [400, 400, 400]
    assert state_of(tmp_path)[1] is False


def test_two_people_decide_one_thing_and_the_second_is_shown_who_was_first(tmp_path: Path) -> None:
    play_until(tmp_path, "rule_4")
    with browse(tmp_path) as first, browse(tmp_path) as second:
        second.get("/")
        first.post("/steps", {"action": "decide", "task": "W2.T1", "choice": "A"})
        late = second.post("/steps", {"action": "decide", "task": "W2.T1", "choice": "B"})

    assert "No blocker waits for a decision" in text_of(late, "#notes")
    assert (
        "Take several folders"
        not in (tmp_path / ".goopspec" / "CHRONICLE.md")
        .read_text()
        .split("decision for W2.T1")[-1]
        .split("\n")[0]
    )


def test_a_person_accepts_the_round(tmp_path: Path) -> None:
    play_until(tmp_path, "verification")
    with browse(tmp_path) as browser:
        address = question_of(browser, "accept", outcome="accept", comment="Good work.")
        after = browser.post(address, {"answer": "yes"})

    assert "Round 1 is closed" in text_of(after, "#notes")
    assert state_of(tmp_path)[0] == "idle"
    assert (tmp_path / ".goopspec" / "archive" / "round-1").is_dir()


def test_a_forced_phase_needs_a_reason_and_a_person(tmp_path: Path) -> None:
    play_until(tmp_path, "plan")
    with browse(tmp_path) as browser:
        fields = {"action": "start_phase", "phase": "accept", "force": "yes"}
        without = browser.post("/steps", fields)
        address = question_of(browser, **fields, reason="The work was done elsewhere")
        browser.post(address, {"answer": "yes"})

    assert "reason is missing" in text_of(without, "#notes")
    assert state_of(tmp_path)[0] == "accept"


def test_who_may_only_look_changes_nothing(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    with opened(tmp_path) as project:
        take_step(project, ProjectStep(action="lock_spec"), by="mcp claude-code 2.1", now=NOW)
    with browse(tmp_path, is_read_only=True) as browser:
        page = browser.get("/")
        step = browser.post("/steps", {"action": "lock_spec"})
        answer = browser.post("/confirm/1", {"answer": "yes"})
        question = browser.get("/confirm/1")

    assert "read-only" in text_of(page, "header")
    assert "<button>" not in page.text.split("<main")[1]
    assert (step.status_code, answer.status_code, question.status_code) == (403, 403, 200)
    assert "lacks the scope write" in text_of(step)
    assert state_of(tmp_path)[1] is False


def test_addresses_and_forms_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    with browse(tmp_path) as browser:
        pages = [browser.get(f"/confirm/{each}") for each in ("7", "0", "-1", "x", "9" * 5_000)]
        forms = [browser.post("/steps", {"action": each}) for each in ("", "drop", "decide")]
        half = browser.post("/steps", {"action": "start_phase", "phase": "nowhere"})

    assert [page.status_code for page in pages] == [404] * 5
    assert [form.status_code for form in forms] == [400, 400, 200]
    assert half.status_code == 409
    assert "there is no phase" in text_of(half)


def test_a_broken_state_is_shown_and_offers_no_step(tmp_path: Path) -> None:
    play_until(tmp_path, "plan")
    (tmp_path / ".goopspec" / "state.json").write_text("{ not json")
    with browse(tmp_path) as browser:
        page = browser.get("/")
        refused = browser.post("/steps", {"action": "lock_spec"})

    assert page.status_code == 200
    assert "state.json" in text_of(page)
    assert refused.status_code == 409
