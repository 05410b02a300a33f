"""Judge the replies of delegated tasks by what their agents changed and did."""

import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Final

import anyio

from goop_mcp.command_words import is_value
from goop_mcp.delegation.agents import AgentSession
from goop_mcp.delegation.runner import TaskReply
from goop_mcp.evidence import readers
from goop_mcp.evidence.activity import NO_ACTIVITY, AgentActivity
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.protocols import validate
from goop_mcp.retry.programs import run_program
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.held_settings import HeldSettings
from goop_mcp.services.stop_hooks.judging import required_tier
from goop_mcp.services.stop_hooks.policy import CLAIM_SECONDS
from goop_mcp.services.transcripts import read_activity
from goop_mcp.store.interface import Store
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.git import GitError, Repository, files_state

__all__ = ["TaskJudge"]

_log = logging.getLogger(__name__)

# What hosts call a conversation: it becomes a part of a path and a word of a command.
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9_-]{8,100}", re.ASCII)
_EXPORT_SECONDS: Final = 20.0
_MOST_FOLDERS: Final = 10_000
_MOST_DAYS: Final = 60
_OTHER_SESSIONS: Final = "earlier messages of the task were sent in another conversation"


class TaskJudge:
    """Verifies what the replies of tasks claim in `project`, by its policy for hooks.

    Compared are the files and commits in the folder of the task, and where the host of the agent
    keeps a transcript, what the agent did. `rules` are the custom ones. `held` are the settings of
    the project, None to look at them now, before an agent works. Safe to use in threads.
    """

    def __init__(
        self,
        project: Path,
        store: Callable[[], Store],
        rules: Sequence[Rule],
        held: HeldSettings | None = None,
    ) -> None:
        self._store, self._rules = store, rules
        self._held = held or HeldSettings(str(project), say=_log.warning)
        self._held.policy()

    def begin(self, folder: Path, *, commit: str | None = None) -> Evidence | None:
        """Return what a task begins with in `folder`, None if git cannot give it.

        `commit` is the one that a worktree begins at, in which nothing else is changed.
        """
        if commit is not None:
            return Evidence(activity=NO_ACTIVITY, base=commit, began=time.time_ns())

        began = time.time_ns()
        repository = Repository(folder, until=time.monotonic() + CLAIM_SECONDS)
        try:
            head = repository.head()
            if head is None:
                return None
            changed = repository.uncommitted() or {}
        except GitError:
            return None

        return Evidence(activity=NO_ACTIVITY, base=head, changed=changed, began=began)

    def judge(self, reply: TaskReply) -> Verdict:
        """Return the verdict on a reply, its claims verified. Raises RuleFailedError."""
        judged_by = self._held.judged_by()
        policy = judged_by.policy
        base = None if reply.start is None else reply.start.base
        if reply.correction is not None:
            reply.correction.look_at(partial(files_state, reply.folder))
        evidence = None
        if policy.evidence != "off":
            evidence = cache(partial(_evidence_of, reply))

        if not policy.check_workspace:
            return validate(
                reply.text,
                protocol=reply.protocol,
                mode=reply.mode,
                rules=self._rules,
                evidence=evidence,
                require=required_tier(policy, evidence),
                correction=reply.correction,
            )

        return check_workspace(
            reply.text,
            reply.folder,
            store=self._store(),
            protocol=reply.protocol,
            mode=reply.mode,
            expected=Expectations(base=base),
            rules=self._rules,
            evidence=evidence,
            require=required_tier(policy, evidence),
            judged_by=judged_by,
            correction=reply.correction,
        )


def _evidence_of(reply: TaskReply) -> Evidence:
    """Return what the agent did until its reply, and what its task began with."""
    activity = NO_ACTIVITY
    if reply.session is not None:
        activity = _read_session(reply.session, reply.text)
    if activity.complete and not reply.whole_session:
        # An agent that only repeats its report did its work before.
        activity = replace(activity, complete=False, why_incomplete=_OTHER_SESSIONS)

    start = reply.start or Evidence()
    return Evidence(activity=activity, base=start.base, changed=start.changed, began=start.began)


def _read_session(session: AgentSession, report: str) -> AgentActivity:
    """Return what the agent did until its `report`, nothing where no transcript is found."""
    if not is_value(session.id) or _SESSION_ID.fullmatch(session.id) is None:
        return NO_ACTIVITY
    if session.host == "opencode":
        # OpenCode keeps its sessions in a database of its own.

        async def export() -> bytes:
            with anyio.fail_after(_EXPORT_SECONDS):
                words = [session.program, "export", session.id]
                ended = await run_program(
                    words, folder=session.folder, environment=session.environment
                )
                return bytes(ended.output)

        try:
            return readers.opencode.read_opencode_export(anyio.run(export), report=report)
        except (OSError, TimeoutError):
            return NO_ACTIVITY

    home = session.environment.get("HOME") or str(Path.home())
    path = (
        _claude_transcript(session, home)
        if session.host == "claude-code"
        else _codex_rollout(session, home)
    )
    return NO_ACTIVITY if path is None else read_activity(path, report, host=session.host)


def _claude_transcript(session: AgentSession, home: str) -> str | None:
    folder = Path(session.environment.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude", "projects")
    # Claude Code names the folder of a project by its path, long ones in a way of its own.
    with suppress(OSError), os.scandir(folder) as projects:
        for project in islice(projects, _MOST_FOLDERS):
            path = f"{project.path}/{session.id}.jsonl"
            if os.access(path, os.R_OK):
                return path

    return None


def _codex_rollout(session: AgentSession, home: str) -> str | None:
    """Return the file of the session; Codex keeps one folder for each day."""
    folder = Path(session.environment.get("CODEX_HOME") or f"{home}/.codex", "sessions")
    days = sorted(folder.glob("[0-9]*/[0-9]*/[0-9]*"), reverse=True)
    for day in days[:_MOST_DAYS]:
        found = next(day.glob(f"rollout-*{session.id}.jsonl"), None)
        if found is not None:
            return str(found)

    return None
