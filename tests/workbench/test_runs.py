"""The pages of runs: see a graph, answer its gate, cancel it, run a task again."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from httpx2 import Response
from lxml import html

from goop_mcp.delegation.graph import Graph, GraphAgent, GraphLimits, GraphTask
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.parts import GraphGate
from goop_mcp.store.opening import open_store
from tests.delegation.graphs import login
from tests.workbench.browsing import Browser, browse, text_of
from tests.workbench.runs import begin_run, create_waiting_run, finish_run
from tests.workbench.test_reports import HOSTILE


def runs_in(browser: Browser, address: str = "/runs") -> list[str]:
    return re.findall(r'href="[^"]*/runs/(run-\w+)"', browser.get(address).text)


def question(page: Response) -> dict[str, str]:
    """Return the hidden fields of the first question on the page of a run."""
    form = next(each for each in html.document_fromstring(page.text).forms if "seen" in each.fields)
    return {name: form.fields[name] for name in ("task", "seen")}


def test_an_answer_to_an_earlier_question_decides_nothing(tmp_path: Path) -> None:
    run = create_waiting_run(tmp_path)
    with browse(tmp_path) as browser, closing(open_store(None, project=tmp_path)) as store:
        asked = browser.get(f"/runs/{run}")
        of_task = next(
            each
            for each in html.document_fromstring(asked.text).forms
            if each.fields.get("task") == "write" and "seen" in each.fields
        )
        old = {"task": "write", "seen": of_task.fields["seen"], "answer": "fail"}
        ledger = Ledger(store)
        ledger.answer(run, "write", "fail", by="Kim")
        ledger.retry(run, "write", by="Kim")
        late = browser.post(f"/runs/{run}/answer", old)
        unseen = browser.post(f"/runs/{run}/answer", {"task": "write", "answer": "fail"})
        events = store.read(lambda reading: reading.graphs.events(run))

    for each in (late, unseen):
        assert "write asks something else by now" in text_of(each, "#notes")
    assert sum(each.what == "decided" for each in events) == 1


def test_a_long_note_in_any_script_is_shown(tmp_path: Path) -> None:
    graph = Graph(
        name="many",
        tasks=(GraphTask("publish", agent="kim", prompt="Publish it.", needs=("ship",)),),
        gates=(
            GraphGate("ship", question="?", answers=tuple(f"答{'案' * 150}{n}" for n in range(9))),
        ),
    )
    with closing(open_store(None, project=tmp_path)) as store:
        run = Ledger(store).create(graph, input={})
    with browse(tmp_path) as browser:
        given = question(browser.get(f"/runs/{run}"))
        refused = browser.post(f"/runs/{run}/answer", {**given, "answer": "perhaps"})

    # Browsers drop a longer cookie, and with it the only word that nothing was done.
    sent = [each for page in refused.history for each in page.headers.get_list("set-cookie")]
    assert sent
    assert max(len(each.partition(";")[0]) for each in sent) <= 4_096
    assert "does not take the answer 'perhaps'" in text_of(refused, "#notes")


def test_without_a_run_the_page_says_how_one_begins(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.get("/runs")
        missing = browser.get("/runs/run-00000000")
    assert "goop-mcp delegate GRAPH" in text_of(page)
    assert missing.status_code == 404


def test_a_person_sees_a_run_answers_its_gate_and_the_run_goes_on(tmp_path: Path) -> None:
    begun = begin_run(tmp_path, docs="I will do that later.")
    with browse(tmp_path) as browser:
        assert "Ship it?" in text_of(browser.get("/"))
        assert runs_in(browser) == [begun.id]
        page = browser.get(f"/runs/{begun.id}")
        assert "waiting for person" in text_of(page, ".badge")
        drawn = text_of(page, ".graph")
        for name in ("plan", "api", "docs", "ship", "test"):
            assert name in drawn
        assert "docs team failed" in text_of(page, "tbody")

        task = browser.get(f"/runs/{begun.id}/tasks/docs")
        assert "Docs: write" in text_of(task)
        assert "I will do that later." in text_of(task)
        assert "envelope/no-envelope" in text_of(task)

        given = {**question(page), "answer": "yes", "note": "with care"}
        answered = browser.post(f"/runs/{begun.id}/answer", given)
        assert "ship: yes." in text_of(answered)
        again = browser.post(f"/runs/{begun.id}/answer", given | {"answer": "no"})
        assert "does not wait for an answer" in text_of(again)

        assert finish_run(tmp_path, begun.id).state == "finished"
        page = browser.get(f"/runs/{begun.id}")
        assert "yes, by workbench" in text_of(page, "tbody")
        assert "finished" in text_of(page, "h1 ~ p")
        assert "Ship it?" not in text_of(browser.get("/"))


def test_a_task_runs_again_and_a_run_is_cancelled(tmp_path: Path) -> None:
    begun = begin_run(tmp_path, docs="Later.")
    with browse(tmp_path) as browser:
        again = browser.post(f"/runs/{begun.id}/retry", {"task": "docs"})
        assert "docs runs again" in text_of(again)
        assert "docs team ready" in text_of(browser.get(f"/runs/{begun.id}"), "tbody")

        refused = browser.post(f"/runs/{begun.id}/retry", {"task": "docs"})
        assert "only what has ended is run again" in text_of(refused)
        unknown = browser.post(f"/runs/{begun.id}/cancel", {"task": "nothing"})
        assert "nothing" in text_of(unknown, ".note")

        cancelled = browser.post(f"/runs/{begun.id}/cancel", {})
        assert "Cancelled: docs, ship, test." in text_of(cancelled)
        more = browser.post(f"/runs/{begun.id}/cancel", {})
        assert "all had ended" in text_of(more)


def test_who_may_only_look_changes_nothing(tmp_path: Path) -> None:
    begun = begin_run(tmp_path)
    with browse(tmp_path, is_read_only=True) as browser:
        page = browser.get(f"/runs/{begun.id}")
        assert "<button" not in text_of(page, ".attention fieldset:not([disabled])")
        for action, fields in (
            ("answer", {"task": "ship", "answer": "yes"}),
            ("cancel", {}),
            ("retry", {"task": "plan"}),
        ):
            csrf = re.search(r'name="csrf" value="(\w+)"', page.text)
            assert csrf is not None
            sent = browser.post(f"/runs/{begun.id}/{action}", fields, csrf=csrf[1])
            assert sent.status_code == 403
        assert "Ship it?" in text_of(browser.get(f"/runs/{begun.id}"))


def test_a_form_without_the_token_of_the_page_is_refused(tmp_path: Path) -> None:
    begun = begin_run(tmp_path)
    with browse(tmp_path) as browser:
        sent = browser.post(f"/runs/{begun.id}/cancel", {}, csrf="0" * 64)
        assert sent.status_code == 403
        assert "Ship it?" in text_of(browser.get(f"/runs/{begun.id}"))


def test_what_agents_write_stays_text(tmp_path: Path) -> None:
    begun = begin_run(tmp_path, goal=HOSTILE, docs=HOSTILE, api=HOSTILE)
    with browse(tmp_path) as browser:
        pages = [browser.get(f"/runs/{begun.id}")]
        pages += [browser.get(f"/runs/{begun.id}/tasks/{each}") for each in ("plan", "api", "docs")]
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "\u202e" not in page.text


def test_the_list_goes_on_with_older_runs(tmp_path: Path) -> None:
    with closing(open_store(None, project=tmp_path)) as store:
        ledger = Ledger(store)
        made = [ledger.create(login(), input={"goal": str(at)}) for at in range(60)]

    with browse(tmp_path) as browser:
        seen = runs_in(browser)
        address = "/runs"
        while older := re.search(r'href="[^"]*?(/runs\?at=[^"]+)"', browser.get(address).text):
            address = older[1].replace("&amp;", "&")
            seen += runs_in(browser, address)
    assert sorted(seen) == sorted(made)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("query", ["?from=x", "?from=99999999999999999", "?from=-1"])
def test_a_strange_address_shows_the_run(tmp_path: Path, query: str) -> None:
    begun = begin_run(tmp_path)
    with browse(tmp_path) as browser:
        assert browser.get(f"/runs/{begun.id}{query}").status_code == 200
        assert browser.get(f"/runs/{begun.id}/tasks/none").status_code == 404


def test_a_run_with_many_tasks_is_listed_in_parts_and_not_drawn(tmp_path: Path) -> None:
    wide = Graph(
        name="wide",
        agents=(GraphAgent("team"),),
        tasks=tuple(GraphTask(f"t{at}", agent="team", prompt="Do it") for at in range(450)),
        limits=GraphLimits(max_tasks=500),
    )
    with closing(open_store(None, project=tmp_path)) as store:
        run = Ledger(store).create(wide, input={})

    with browse(tmp_path) as browser:
        counts = []
        address = f"/runs/{run}"
        while True:
            page = browser.get(address)
            counts.append(page.text.count("/tasks/t"))
            more = re.search(rf'href="[^"]*?(/runs/{run}\?from=\d+)"', page.text)
            if more is None:
                break
            address = more[1]
    assert counts == [200, 200, 50]
    assert "The graph wide" not in page.text


def test_an_open_page_hears_of_each_step_of_a_run(tmp_path: Path) -> None:
    begun = begin_run(tmp_path)
    with browse(tmp_path) as browser:

        def stamp() -> str:
            found = re.search(r'data-stamp="(\w+)"', browser.get("/runs").text)
            assert found is not None
            return found[1]

        before = stamp()
        assert stamp() == before
        with closing(open_store(None, project=tmp_path)) as store:
            Ledger(store).note(begun.id, "ship", "kept", {"message": "a note"})
        assert stamp() != before
