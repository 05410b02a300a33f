"""What must stand in every document and answer, computed from the events of a play alone.

The oracle never looks at what the product says about the project. It keeps its own books from what
the play sends and its story says, and compares after each step what each reader finds: the next
agent in HANDOFF.md and the prompts, everybody in CHRONICLE.md and ADL.md, a person on a terminal
and in the browser, an orchestrator over MCP.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape

from click.testing import CliRunner

from goop_mcp.cli.demo.full_player import Player, PlayStep
from goop_mcp.cli.status import status
from goop_mcp.settings import Settings
from goop_mcp.workspace.documents.handoff import read_handoff
from tests.scenarios.connecting import database_options
from tests.workbench.browsing import browse

__all__ = ["Oracle"]

_TAG = re.compile(r"<(\w+)[^>]*>([^<]*)</\1>")
_CHECK = re.compile(r'<check name="[^"]*" passed="false"')
_NEXT_AGENT = re.compile(r'<next_action agent="([^"]*)"')
_DECIDED_BY = ("reason", "comment")
_WAITING = 3


def _plain(text: str) -> str:
    return " ".join(unescape(re.sub(r"[`*|\\]|<[^>]+>", " ", text)).split())


@dataclass(slots=True)
class Oracle:
    """The books: what was decided in this round, and what waits for a person, by what it is about.

    A text is one that readers must find. `logged` is all that was ever decided, `blocked` are open
    blockers by task, or by their own report without one, `asked` those that were answered. `words`
    are the replies that were recorded, by what they are about, and `reports` is their number.
    `partials` counts PARTIAL reports in a row
    by task, `claims` refused replies with the same untrue claim. `unfinished` is the task of the
    last report if that leaves it undone, `superseded` are the summaries that a later report of
    their task replaces. `asked_for` is what the last report wants next, `outdated` the same once a
    step to another phase has followed.
    """

    decided: list[tuple[str, ...]] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    partials: dict[str, int] = field(default_factory=dict)
    claims: dict[str, int] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    reports: int = 0
    logged: list[tuple[str, ...]] = field(default_factory=list)
    summaries: dict[str, str] = field(default_factory=dict)
    superseded: set[str] = field(default_factory=set)
    unfinished: str | None = None
    asked_for: str | None = None
    outdated: str | None = None
    begun: bool = False

    def saw(self, step: PlayStep) -> None:
        """Enter a step, with the end that its story has for it."""
        if step.tool == "update_project" and step.status == "done":
            self._saw_step(step)
        elif step.tool == "record_report":
            self._saw_report(str(step.arguments["text"]), step)

    def _saw_step(self, step: PlayStep) -> None:
        given = step.arguments
        action = str(given["action"])
        self.begun = True
        words = tuple(str(given[name]) for name in _DECIDED_BY if given.get(name))
        if action == "decide":
            task = str(given["task"])
            text = self.blocked.pop(task, None) or self.waiting.get(task) or self.asked.get(task)
            option = re.search(rf"\b{given.get('choice')}\) ([^,(]+)", text or "")
            if self.waiting.pop(task, None) is None:
                # Nothing was asked: it replaces what was decided before.
                self.decided = [each for each in self.decided if each[0] != task]
            self.partials.pop(task, None)
            self.asked[task] = text or ""
            stated = option[1].strip() if option is not None else str(given["choice"])
            self.decided.append((task, stated, *words))
            self.logged.append((task, stated, *words))
        elif words and step.person is not None:
            self.decided.append(words)
            self.logged.append(words)
        if action == "start_phase" or given.get("outcome") == "reject":
            self.outdated = self.asked_for
        moves = ("start_phase", "accept", "start_round", "reopen_round")
        if action in moves:
            self.waiting.pop("accept", None)
        if action == "start_round" or (action == "accept" and given["outcome"] != "reject"):
            self.waiting.clear()
            self.blocked.clear()
        if action == "start_round":
            self.decided.clear()
            self.summaries.clear()
            self.words.clear()
        if action == "accept" and given["outcome"] == "reject":
            tasks = given.get("tasks")
            for each in tasks if isinstance(tasks, list) else ():
                self.waiting.pop(str(each), None)

    def _saw_report(self, text: str, step: PlayStep) -> None:
        stated = dict(_TAG.findall(text))
        task, agent = stated.get("task_id"), stated.get("agent", "")
        key = task or f"({agent})"
        if step.status == "rejected":
            if "evidence/file-not-found" in step.findings:
                self.claims[key] = self.claims.get(key, 0) + 1
                if self.claims[key] > 1:
                    self.waiting[key] = key
            return
        if step.status == "duplicate":
            assert text in self.words, "a reply that was never recorded is called a duplicate"
        # Words that were answered are sent again; those that block still are the same report.
        assert self.words.get(text) not in self.blocked or step.status == "duplicate", step.name
        if step.status != "recorded":
            return
        self.reports += 1
        if "workflow/round-closed" in step.findings:
            return

        work = task or f"report {self.reports}"
        task = None if work.startswith("report ") else task
        self.words[text] = work
        self.claims.pop(key, None)
        self.waiting.pop("accept", None)
        for each in (key, work):
            self.waiting.pop(each, None)
            self.blocked.pop(each, None)
        blockers = unescape(stated.get("blockers", "None"))
        if blockers != "None" and stated["status"] != "COMPLETE":
            self.blocked[work] = self.waiting[work] = blockers
        self.partials[key] = self.partials.get(key, 0) + 1 if stated["status"] == "PARTIAL" else 0
        if self.partials[key] > 3:
            self.waiting[key] = f"PARTIAL {self.partials[key]} times in a row"
        done = stated["status"] == "COMPLETE" and _CHECK.search(text) is None
        self.asked_for, self.outdated = unescape(stated.get("next_action", "")), None
        next_agent = _NEXT_AGENT.search(text)
        if task is not None:
            self.unfinished = None if done else task
            if (before := self.summaries.get(task)) not in (None, stated["summary"]):
                self.superseded.add(unescape(str(before)))
            self.summaries[task] = stated["summary"]
            self.superseded.discard(unescape(stated["summary"]))
        if done and next_agent is not None and next_agent[1] == "user":
            self.waiting["accept" if agent == "goop-verifier" else key] = key

    async def watch(
        self,
        player: Player,
        step: PlayStep,
        settings: Settings,
        files: Mapping[str, bytes],
    ) -> None:
        """Enter a step; assert that every reader finds what the books say, and nothing else.

        The answer to a call is not needed: a server that is killed gives none. `files` are the
        documents, {} if people changed them since.
        """
        self.saw(step)
        if not self.begun or not files:
            return

        found_status = (await player.ask("project_status", {"detail": "full"})).values
        handoff = str((await player.ask("build_handoff", {"kind": "session"})).values["text"])
        chronicle = files.get("CHRONICLE.md", b"").decode()
        log = files.get("ADL.md", b"").decode()
        block = re.search(r"<!-- goop:state .*?<!-- goop:end-state", chronicle, re.DOTALL)
        found: dict[str, tuple[str, str]] = {
            "HANDOFF.md": (
                _section(handoff, "### Decisions Made"),
                _section(handoff, "### Pending Decisions"),
            ),
            "CHRONICLE.md": (
                _listed(block[0] if block else "", "Decisions Made"),
                _listed(block[0] if block else "", "Waiting for a Person"),
            ),
        }
        for place, (decided, waiting) in found.items():
            self._compare(place, decided, waiting)
        for words in self.logged:
            assert all(each in _plain(log) for each in words), f"ADL.md lacks {words}"
        self._check_status(found_status)
        self._check_handoff(handoff, found_status)
        self._check_chronicle(block[0] if block else "", found_status)
        self._check_people(settings)

    def _compare(self, place: str, decided: str, waiting: str) -> None:
        for words in self.decided:
            missing = [each for each in words if each not in _plain(decided)]
            assert not missing, f"{place} does not show the decision {missing}: {decided}"
        if not self.decided:
            assert not decided.strip() or decided.strip() == "None", f"{place}: {decided}"
        shown = _plain(waiting)
        for key in self.waiting:
            name = "Accept the result" if key == "accept" else key
            assert name in shown, f"{place} does not show that {name} waits: {waiting}"
        assert waiting.count("Answer:") == len(self.waiting), f"{place}: {waiting}"

    def _check_status(self, found: Mapping[str, object]) -> None:
        rows = found["waiting"]
        assert isinstance(rows, list)
        assert len(rows) == len(self.waiting), f"status: {rows}, expected {self.waiting}"
        assert all(row["command"].startswith("goop-mcp ") for row in rows)
        assert all(str(row["call"]).startswith("update_project(") for row in rows)

    def _check_handoff(self, text: str, found: Mapping[str, object]) -> None:
        handoff = read_handoff(text)
        command = found["next_command"]
        if isinstance(command, str) and command.startswith("/goop-"):
            assert handoff.command == command, f"HANDOFF.md: {handoff.command}, status: {command}"
        assert ("ADL.md" in " ".join(handoff.files_to_read)) == bool(self.decided)
        if self.outdated is not None and handoff.next_task is not None:
            assert handoff.next_task.action != self.outdated, "HANDOFF.md: the phase has changed"
        if self.unfinished is not None:
            assert handoff.next_task is not None
            assert self.unfinished in handoff.next_task.task, handoff.next_task.task
        for summary in self.superseded:
            assert summary not in handoff.outcomes, f"HANDOFF.md: {summary} was superseded"
        for blocker in self.blocked.values():
            assert any(blocker[:60] in each for each in handoff.blockers)

    def _check_chronicle(self, block: str, found: Mapping[str, object]) -> None:
        command = found["next_command"]
        assert command is None or f"**Next Step:** `{command}`" in block

    def _check_people(self, settings: Settings) -> None:
        place = ["--project", str(settings.project), *database_options(settings)]
        ended = CliRunner().invoke(
            status,
            ["--exit-code", *place],
            catch_exceptions=False,
            standalone_mode=False,
        )
        assert (ended.return_value == _WAITING) == bool(self.waiting), ended.output
        for key in self.waiting:
            name = "Accept the result" if key == "accept" else key
            assert name in _plain(ended.output)
        with browse(settings) as browser:
            page = _plain(browser.get("/").text)
        for key, text in self.waiting.items():
            wanted = "Accept the result" if key == "accept" else text[:50]
            assert wanted in page or key in page, f"the page lacks {wanted}"


def _section(text: str, title: str) -> str:
    """Return the text below a heading of a handoff."""
    found = re.search(rf"^{re.escape(title)}$\n(.*?)(?=^#|^---|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found is not None else ""


def _listed(block: str, title: str) -> str:
    """Return the list below a title of the block of state."""
    found = re.search(rf"\*\*{re.escape(title)}:\*\*\n\n(.*?)(?=\n\n|\n<!--|\Z)", block, re.DOTALL)
    return found[1] if found is not None else ""
