"""The page Check: the verdict on a pasted reply, with and without script."""

from pathlib import Path

from tests.cli.running import ACCEPTED, REJECTED, REPAIRABLE
from tests.workbench.browsing import browse, text_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202egnp.exe"


def test_a_person_pastes_a_reply_and_sees_what_is_wrong(tmp_path: Path) -> None:
    rejected = REJECTED.read_text(encoding="utf-8")
    with browse(tmp_path) as browser:
        empty = browser.get("/check")
        page = browser.post("/check", {"text": rejected, "protocol": "auto", "mode": "lenient"})
        part = browser.post("/check/preview", {"text": rejected})
        good = browser.post("/check/preview", {"text": ACCEPTED.read_text(encoding="utf-8")})

    assert "Paste a reply" in text_of(empty, "#result")
    shown = text_of(page, "#result")
    assert "rejected" in shown
    assert "goop_report/unknown-status" in shown
    assert "Feedback for the agent" in shown
    assert "What happens next" in shown
    # What was pasted is still there, and the preview is the same part without the page around it.
    assert "<goop_report" in text_of(page, "textarea")
    assert "<html" not in part.text
    assert "goop_report/unknown-status" in part.text
    assert ">accepted<" in good.text


def test_repairs_and_the_repaired_envelope_are_shown(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        part = browser.post("/check/preview", {"text": REPAIRABLE})
        strict = browser.post("/check/preview", {"text": REPAIRABLE, "mode": "strict"})

    assert "repairs of its form" in part.text
    assert "a &amp;amp;&amp;amp; b." in part.text
    assert ">rejected<" in strict.text


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    reply = REPAIRABLE.replace("W1.T2", HOSTILE).replace("COMPLETE", HOSTILE)
    with browse(tmp_path) as browser:
        page = browser.post("/check", {"text": reply})
        wrong = browser.post("/check/preview", {"text": "x", "protocol": HOSTILE, "mode": "?"})

    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert "\u202e" not in page.text.partition('id="result"')[2]
    assert "<script>alert" not in wrong.text
    assert "refused" in wrong.text


def test_nothing_is_recorded(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        browser.post("/check", {"text": ACCEPTED.read_text(encoding="utf-8"), "in_project": "yes"})
    assert not list(tmp_path.rglob("*.db"))
