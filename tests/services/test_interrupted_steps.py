"""What a killed writer, a broken state or a server without the folder leaves is put right."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from goop_mcp.errors import StateCorruptError
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_documents import find_project_document
from goop_mcp.services.project_snapshot import take_snapshot
from goop_mcp.services.project_status import project_status
from goop_mcp.services.session_contents import NOTHING_GIVEN
from goop_mcp.services.session_handoff import build_session_handoff
from goop_mcp.store.opening import open_store
from goop_mcp.workspace.documents.handoff import read_handoff
from goop_mcp.workspace.files import ProjectFiles
from tests.postgres import Database
from tests.services.reporting import NOW, working_in
from tests.services.test_project_steps import BLUEPRINT, REQUIREMENTS, SPEC, Player
from tests.workspace.projects import copied


@pytest.fixture
def shared(database: Database, tmp_path: Path) -> Iterator[tuple[Player, Player]]:
    """Return a player in a checkout, and one at a server without the folder."""
    folders = [tmp_path / "checkout", tmp_path / "server"]
    with closing(open_store(database.url(), project=tmp_path, project_id="shop")) as store:
        for folder in folders:
            folder.mkdir()
        checkout, server = (
            Player(ProjectContext(store=store, files=ProjectFiles(each), writes_files=False))
            for each in folders
        )
        yield checkout, server


@pytest.fixture(params=["sqlite", "postgresql"])
def player(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Player]:
    if request.param == "sqlite":
        with working_in(tmp_path) as context:
            yield Player(context)
    else:
        yield request.getfixturevalue("shared")[0]


def test_what_a_server_without_the_folder_did_is_written_by_the_next_change_in_a_checkout(
    shared: tuple[Player, Player],
) -> None:
    checkout, server = shared
    checkout.accepting()
    locked = checkout.read("SPEC.md")
    server.confirmed("accept", outcome="accept")

    # Readers in the checkout find what is recorded, before any file is written.
    text = find_project_document(checkout.context.files, "SPEC.md", recorded=checkout.context.store)
    assert text is not None
    assert "**Locked:** No" in text
    assert checkout.drift() == []
    assert checkout.read("SPEC.md") == locked

    checkout.done("start_round")
    assert checkout.read("SPEC.md") == text
    checkout.context.recover(now=NOW)
    archive = checkout.documents / "archive" / "round-1"
    assert (archive / "SPEC.md").read_text(encoding="utf-8") == locked
    assert not (server.context.files.root / ".goopspec").exists()


def test_a_server_without_the_folder_reopens_a_round_with_its_locked_header(
    shared: tuple[Player, Player],
) -> None:
    checkout, server = shared
    checkout.accepting()
    locked = checkout.read("SPEC.md")
    checkout.confirmed("accept", outcome="accept")
    assert "**Locked:** No" in checkout.read("SPEC.md")
    server.confirmed("reopen_round")

    assert checkout.drift() == []
    checkout.verify("Once more.")
    assert checkout.read("SPEC.md") == locked
    assert checkout.drift() == []


def test_a_file_that_somebody_changed_meanwhile_is_left_alone(
    shared: tuple[Player, Player],
) -> None:
    checkout, server = shared
    checkout.accepting()
    server.confirmed("accept", outcome="accept")
    edited = checkout.read("SPEC.md") + "\nA note.\n"
    checkout.write("SPEC.md", edited)
    checkout.done("start_round")
    assert checkout.read("SPEC.md") == edited


def test_a_running_process_completes_what_another_one_did_not_live_to_write(
    tmp_path: Path,
) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as context:
        player = Player(context)
        saved = player.done("checkpoint").revision
        assert saved is not None
        command = [sys.executable, "-m", "tests.services.reporter", str(tmp_path), "a", "1"]
        killed = subprocess.run([*command, "commit", "1"], timeout=300, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert json.loads(player.read("state.json"))["revision"] == saved

        # Nobody has started again: this process began before, and reads what is recorded.
        assert project_status(context).is_stale
        state = take_snapshot(context).project.state
        assert state is not None
        assert state.revision == saved + 1

        player.done("checkpoint")
        assert json.loads(player.read("state.json"))["revision"] == saved + 2
        assert not project_status(context).is_stale


def test_resume_restores_a_state_that_cannot_be_read_up_to_its_last_change(
    player: Player,
) -> None:
    player.executing()
    player.done("checkpoint", note="before the receipts")
    player.report("W1.T1", "1")
    player.report("W2.T1", "2")
    before = project_status(player.context)
    assert before.current_wave == 2
    if player.context.writes_files:
        player.write("state.json", '{"version": 1,')
    else:
        player.context.store.write(lambda writing: writing.set_stored_state('{"version": 1,'))
    assert project_status(player.context).phase is None

    resumed = player.done("resume")
    assert "It was restored from cp-" in resumed.message
    assert "2 later changes" in resumed.message
    after = project_status(player.context)
    assert (after.phase, after.current_wave, after.spec_locked, after.next_command) == (
        before.phase,
        before.current_wave,
        True,
        before.next_command,
    )
    assert player.drift() == []
    if player.context.writes_files:
        (aside,) = player.documents.glob("state.broken-*.json")
        assert aside.read_text(encoding="utf-8") == '{"version": 1,'
        assert aside.name in resumed.message


def test_the_note_of_a_checkpoint_stands_before_what_the_records_say(player: Player) -> None:
    player.executing()
    player.report("W1.T1", "1", summary="The cart is built.")
    built = build_session_handoff(NOTHING_GIVEN, player.context, write=False, now=NOW)
    known = read_handoff(built.text).context
    assert known
    player.done("checkpoint", note="Ask Maria about refunds.")
    files, recorded = player.context.files, player.context.store
    shown = None if player.context.writes_files else recorded
    text = find_project_document(files, "HANDOFF.md", recorded=shown)
    assert text is not None
    assert read_handoff(text).context == f"Ask Maria about refunds. {known}"

    # The next handoff says it again, until a session has resumed.
    player.done("checkpoint")
    text = find_project_document(files, "HANDOFF.md", recorded=shown)
    assert text is not None
    assert "Ask Maria about refunds." in text


def test_a_person_who_edits_the_chronicle_leaves_no_file_outdated(
    tmp_path: Path,
) -> None:
    with working_in(tmp_path) as context:
        player = Player(context)
        player.executing()
        player.write("CHRONICLE.md", player.read("CHRONICLE.md") + "\nA note of mine.\n")
        assert not project_status(context).is_stale


def test_a_decision_without_a_blocker_is_refused(player: Player) -> None:
    player.executing()
    refused = player.step("decide", choice="A")
    assert (refused.status, refused.command) == ("refused", "goop-mcp status")
    assert "No blocker waits" in refused.message


def test_a_new_project_records_by_hooks_and_an_older_one_keeps_its_setting(
    tmp_path: Path,
) -> None:
    (tmp_path / "new").mkdir()
    with working_in(tmp_path / "new") as context:
        assert ".goopspec/hooks.json" in Player(context).done("init").files
    text = (tmp_path / "new" / ".goopspec" / "hooks.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"record": True}

    (tmp_path / "old").mkdir()
    copied("profile_0x", tmp_path / "old")
    with working_in(tmp_path / "old") as context:
        Player(context).step("init")
    assert not (tmp_path / "old" / ".goopspec" / "hooks.json").exists()


def test_refusals_name_what_can_be_done_instead(player: Player) -> None:
    player.done("init", name="Shop")
    skipping = player.step("start_phase", phase="execute")
    assert skipping.command == "goop-mcp project phase plan"
    player.done("start_phase", phase="plan")

    player.write("REQUIREMENTS.md", REQUIREMENTS)
    player.done("complete_interview")
    player.write("SPEC.md", SPEC)
    player.write("BLUEPRINT.md", BLUEPRINT)
    asked = player.step("lock_spec")
    assert asked.confirmation is not None
    player.write("SPEC.md", SPEC.replace("A cart", "A big cart"))
    outdated = player.answer(asked.confirmation.id)
    assert "Lock the specification of Shop: what was to be confirmed has changed" in (
        outdated.message
    )

    player.confirmed("lock_spec")
    player.done("start_phase", phase="execute")
    for task, wave in (("W1.T1", "1"), ("W1.T2", "1"), ("W2.T1", "2")):
        player.report(task, wave)
    player.verify()
    player.confirmed("accept", outcome="accept")
    closed = player.step("accept", outcome="accept")
    assert "Round 1 is closed already" in closed.message
    assert closed.command == "goop-mcp project round"


def test_a_broken_state_without_a_checkpoint_is_left_and_says_so(player: Player) -> None:
    player.done("init", name="Shop")
    if player.context.writes_files:
        player.write("state.json", "{")
    else:
        player.context.store.write(lambda writing: writing.set_stored_state("{"))
    with pytest.raises(StateCorruptError, match="project resume takes it from the newest"):
        player.step("start_phase", phase="plan")
    with pytest.raises(StateCorruptError, match="no checkpoint was saved"):
        player.step("resume")
