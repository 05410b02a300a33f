"""The page Memory: found as agents find, read, and forgotten after one question."""

from pathlib import Path

from goop_mcp import memory
from goop_mcp.context import AppContext
from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.settings import Settings
from tests.workbench.browsing import browse, text_of

HOSTILE = "<script>alert(1)</script>\u202e"


def remember(project: Path, *drafts: MemoryDraft) -> None:
    with AppContext(Settings(project=project)) as application:
        for draft in drafts:
            memory.saving.save_memory(application.writing_store(), draft)


def test_a_project_without_memories_says_who_saves_them(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.get("/memory")
        nothing = browser.get("/memory?q=argon2")
    assert "Nothing is remembered yet" in text_of(page)
    assert "Nothing was found" in text_of(nothing)
    assert not (tmp_path / ".goopspec").exists()


def test_a_memory_is_found_read_and_forgotten_after_one_question(tmp_path: Path) -> None:
    remember(
        tmp_path,
        MemoryDraft(
            title="Passwords use argon2",
            content="Because bcrypt cuts at 72 bytes. Key: ghp_" + "a1B2" * 9,
            type="decision",
            agent="goop-executor",
            session_id="20260114-093000-login",
            source_files=["src/auth.py"],
        ),
        MemoryDraft(title="The build is slow", content=HOSTILE, type="note"),
    )
    with browse(tmp_path) as browser:
        listed = browser.get("/memory")
        found = browser.get("/memory?q=bcrypt+limit|argon2")
        one = browser.get("/memory/1")
        question = browser.get("/memory/1/forget")
        kept = browser.get("/memory/1")
        done = browser.post("/memory/1/forget", {})
        gone = browser.get("/memory/1")

    assert HOSTILE not in listed.text
    assert "\u202e" not in listed.text
    assert "Passwords use argon2" in text_of(found)
    assert "The build is slow" not in text_of(found)
    shown = text_of(one)
    for part in ("goop-executor", "session 20260114-093000-login", "src/auth.py", "1 redaction"):
        assert part in shown
    assert "cannot be brought back" in text_of(question)
    assert kept.status_code == 200
    assert "Memory 1 is forgotten: Passwords use argon2" in text_of(done, "#notes")
    assert gone.status_code == 404


def test_who_may_only_read_forgets_nothing(tmp_path: Path) -> None:
    remember(tmp_path, MemoryDraft(title="Stays", content="here", type="note"))
    with browse(tmp_path, is_read_only=True) as browser:
        assert "Forget" not in text_of(browser.get("/memory/1"))
        assert browser.post("/memory/1/forget", {}).status_code == 403
        assert browser.get("/memory/1").status_code == 200


def test_many_memories_come_in_pages(tmp_path: Path) -> None:
    remember(
        tmp_path,
        *(MemoryDraft(title=f"Fact {n}", content=f"word{n}", type="note") for n in range(30)),
    )
    with browse(tmp_path) as browser:
        first = browser.get("/memory")
        older = browser.get("/memory?before=6")
        strange = browser.get("/memory?before=x&type=nothing&concept=%00&q=%22%20OR%20%2A")
    assert "Fact 29" in text_of(first)
    assert "Fact 0" not in text_of(first)
    assert "/memory?before=6" in first.text
    assert "Fact 0" in text_of(older)
    assert strange.status_code == 200
