"""From the XML tree of a `<goop_report>` to the typed model, one section after the other."""

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from lxml import etree

from goop_mcp.protocols.goop_report.blockers import is_open_slot, real_blocker
from goop_mcp.protocols.goop_report.model import (
    Artifacts,
    Check,
    Commit,
    Extension,
    FileAction,
    FileChange,
    Handoff,
    MemoryType,
    NextAction,
    Phase,
    Report,
    SavedMemory,
    State,
    Status,
)
from goop_mcp.protocols.goop_report.prose import ProseClaims, commit_in, read_prose
from goop_mcp.protocols.goop_report.rules import (
    artifacts,
    handoff,
    memory,
    state,
    status,
    structure,
)
from goop_mcp.protocols.goop_report.rules.legacy_forms import CHECKLIST_GAP
from goop_mcp.protocols.goop_report.values import BOOLEAN, ReportValueReader, clean
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.markup import Grammar
from goop_mcp.validation.xml_values import Element, Words
from goop_mcp.workflow.agents import KNOWN_AGENTS, NEXT_AGENT_ALIASES
from goop_mcp.workflow.commands import KNOWN_COMMANDS

if TYPE_CHECKING:
    from goop_mcp.validation.expectations import Expectations

__all__ = ["GRAMMAR", "ROOT_PARTS", "ReportReader"]

ROOT_PARTS = frozenset(
    {
        "status",
        "agent",
        "task_id",
        "task_name",
        "state",
        "summary",
        "artifacts",
        "memory",
        "verification",
        "handoff",
    }
)
_ARTIFACTS = "/goop_report/artifacts"
_FILE_FORM = 'expected <file path="…" action="created">what</file>'
_COMMIT_FORM = 'expected <commit sha="…">message</commit>'
_PLACES_OF_CLAIMS = {
    _ARTIFACTS: f"{_FILE_FORM} in <files>",
    f"{_ARTIFACTS}/files": _FILE_FORM,
    f"{_ARTIFACTS}/commits": _COMMIT_FORM,
}
_STATE_PARTS = frozenset({"phase", "wave", "task", "spec_locked", "interview_complete"})
_HANDOFF_PARTS = frozenset(
    {"ready", "next_action", "files_to_read", "blockers", "suggest_new_session", "next_command"}
)
_ARTIFACT_PARTS = frozenset({"files", "commits"})
_CONTAINERS = frozenset(
    {"goop_report", "state", "artifacts", "files", "commits", "memory", "verification", "handoff"}
    | {"files_to_read", "wave", "task"}
)

GRAMMAR = Grammar(
    root="goop_report",
    containers=_CONTAINERS,
    text_only=(ROOT_PARTS | _STATE_PARTS | _HANDOFF_PARTS | {"file", "commit", "saved", "check"})
    - _CONTAINERS,
    attributes=frozenset(
        {
            "version",
            "path",
            "action",
            "sha",
            "type",
            "importance",
            "name",
            "passed",
            "agent",
            "current",
            "total",
        }
    ),
)

_CHECKLIST = {
    "status": "status",
    "summary": "summary of work",
    "artifacts": "files modified with artifacts section",
    "memory": "memory persisted section",
    "handoff": "handoff with next_action and suggest_new_session",
}
_HANDOFF_CHECKLIST = {
    "next_action": "handoff with next_action",
    "suggest_new_session": "handoff with suggest_new_session",
}
_STATUS = Words({each.value: each for each in Status}, status.UNKNOWN_STATUS)
_PHASE_WORDS = {each.value: each for each in Phase if each is not Phase.DISCUSS}
_PHASES: dict[str, Words[Phase]] = {
    "0.x": Words(_PHASE_WORDS, state.UNKNOWN_PHASE, {"discuss": (Phase.PLAN, state.PHASE_ALIAS)}),
    "v1": Words(_PHASE_WORDS | {"discuss": Phase.DISCUSS}, state.UNKNOWN_PHASE),
}
_FILE_ACTION = Words({each.value: each for each in FileAction}, artifacts.UNKNOWN_FILE_ACTION)
_MEMORY_TYPE = Words({each.value: each for each in MemoryType}, memory.UNKNOWN_MEMORY_TYPE)


class ReportReader(ReportValueReader):
    """Reads one `<goop_report>` tree into the model, with the phases of the project's profile."""

    def __init__(self, expected: "Expectations") -> None:
        """Take the profile from what the caller expects."""
        super().__init__()
        self._phases = _PHASES[expected.profile]
        self._extensions: list[Extension] = []
        self._doubled: set[str] = set()
        self._prose: list[ProseClaims] = []
        self._extension_counts: dict[str, int] = {}

    def read(self, root: Element) -> Report:
        """Return the report of a `<goop_report>` tree."""
        path = "/goop_report"
        # The repair of broken tags may leave another root; what is below it is then only a guess.
        if root.tag != "goop_report":
            self.tangled = True

        parts = self._parts(root, path, ROOT_PARTS)
        self._checklist(_CHECKLIST, parts)
        report_state = self._state(parts.get("state"))
        task_id = self.name(parts.get("task_id"), f"{path}/task_id")
        # Other phases work on no task of the plan.
        if report_state and report_state.phase is Phase.EXECUTE and "task_id" not in parts:
            self.report(
                state.TASK_ID_MISSING.problem(
                    "phase is execute and there is no task_id; expected the form W2.T3",
                    path=f"{path}/task_id",
                )
            )

        version = self.attribute(root, "version") or None
        status = self.required_word(parts.get("status"), f"{path}/status", _STATUS)
        if f"{path}/status" in self._doubled:
            # There are two, and taking either would be a guess.
            status = None

        report = Report(
            version=version,
            status=status,
            agent=self.required_name(parts.get("agent"), f"{path}/agent", KNOWN_AGENTS),
            task_id=task_id,
            task_name=self.text(parts.get("task_name")),
            state=report_state,
            summary=self.required_text(parts.get("summary"), f"{path}/summary"),
            artifacts=self._artifacts(parts.get("artifacts")),
            memory=self._memory(parts.get("memory")),
            verification=self._verification(parts.get("verification")),
            handoff=self._handoff(parts.get("handoff")),
            extensions=tuple(self._extensions),
        )
        # Last, over the whole tree: what a reader has reported itself is not reported again.
        self.template_texts(root)

        return report

    # Sections

    def _state(self, element: Element | None) -> State | None:
        path = "/goop_report/state"
        if element is None:
            self.missing(path)
            return None

        parts = self._parts(element, path, _STATE_PARTS)
        for name in ("wave", "task"):
            counter = parts.get(name)
            # A counter should be empty; what it holds is kept as part of the state.
            if counter is not None and (counter.text is not None or len(counter) > 0):
                self._items(counter, path, "")

        return State(
            phase=self.required_word(parts.get("phase"), f"{path}/phase", self._phases),
            wave=self.counter(parts.get("wave"), f"{path}/wave"),
            task=self.counter(parts.get("task"), f"{path}/task"),
            spec_locked=self.boolean(parts.get("spec_locked"), f"{path}/spec_locked"),
            interview_complete=self.boolean(
                parts.get("interview_complete"), f"{path}/interview_complete"
            ),
        )

    def _artifacts(self, element: Element | None) -> Artifacts | None:
        path = "/goop_report/artifacts"
        if element is None:
            return None

        parts = self._parts(element, path, _ARTIFACT_PARTS)
        files = self._items(parts.get("files"), f"{path}/files", "file")
        commits = self._items(parts.get("commits"), f"{path}/commits", "commit")
        changes = []
        for number, file in enumerate(files, 1):
            where = f"{path}/files/file[{number}]"
            name = self.attribute(file, "path")
            if name is None:
                self.missing(f"{where}/@path")
            elif not name:
                self.empty(f"{where}/@path")

            action = self.attribute_word(file, "action", where, _FILE_ACTION)
            changes.append(FileChange(path=name, action=action, description=self.text(file) or ""))

        made = []
        for number, each in enumerate(commits, 1):
            sha, text = self.attribute(each, "sha"), self.text(each) or ""
            # Agents write `abc1234 message` as the text in place of the attribute.
            commit = commit_in(text) if sha is None else None
            if commit is not None:
                self._in_prose(text, f"{path}/commits/commit[{number}]", _COMMIT_FORM)
            made.append(commit or Commit(sha=sha, message=text))

        # Text between the elements was set aside while they were read, wherever it stood.
        for prose in self._prose:
            changes += prose.files
            made += prose.commits

        if changes and not made:
            self._gap("commit hash (if applicable)")
        return Artifacts(files=tuple(changes), commits=tuple(made))

    def _memory(self, element: Element | None) -> tuple[SavedMemory, ...] | None:
        path = "/goop_report/memory"
        if element is None:
            return None
        items = self._items(element, path, "saved")
        memories = []
        for number, saved in enumerate(items, 1):
            where = f"{path}/saved[{number}]"
            kind = None
            if self.attribute(saved, "type") is None:
                self.missing(f"{where}/@type")
            else:
                kind = self.attribute_word(saved, "type", where, _MEMORY_TYPE)

            raw = self.attribute(saved, "importance")
            try:
                # `float` reads `1_0` as 10, which is Python's form and nobody else's.
                importance = float(raw) if raw is not None and "_" not in raw else None
            except ValueError:
                importance = None

            if importance is None or not 0 <= importance <= 1:
                what = "has no importance" if raw is None else f"importance is {excerpt(raw, 40)!r}"
                self.report(
                    memory.IMPORTANCE_OUT_OF_RANGE.problem(
                        f"{what}; expected a number from 0 to 1",
                        path=f"{where}/@importance",
                        found=None if raw is None else excerpt(raw),
                    )
                )
                # A number out of range is kept: it shows which memory was meant.
                if importance is not None and not isfinite(importance):
                    importance = None

            memories.append(
                SavedMemory(type=kind, importance=importance, title=self.text(saved) or "")
            )

        return tuple(memories)

    def _verification(self, element: Element | None) -> tuple[Check, ...] | None:
        path = "/goop_report/verification"
        if element is None:
            return None
        items = self._items(element, path, "check")
        checks = []
        for number, check in enumerate(items, 1):
            where = f"{path}/check[{number}]"
            passed = None
            if self.attribute(check, "passed") is None:
                self.missing(f"{where}/@passed")
            else:
                passed = self.attribute_word(check, "passed", where, BOOLEAN)

            name = self.attribute(check, "name")
            evidence, run = self.text(check) or "", self.attribute(check, "run")
            checks.append(Check(name=name, passed=passed, evidence=evidence, run=run))

        return tuple(checks)

    def _handoff(self, element: Element | None) -> Handoff | None:
        path = "/goop_report/handoff"
        if element is None:
            self.missing(path)
            return None

        parts = self._parts(element, path, _HANDOFF_PARTS)
        new_session = self.boolean(parts.get("suggest_new_session"), f"{path}/suggest_new_session")
        command = (
            self.name(parts.get("next_command"), f"{path}/next_command", known=KNOWN_COMMANDS)
            or None
        )
        # Before the values: a part that is missing explains what its readers could only report as
        # blank.
        self._checklist(_HANDOFF_CHECKLIST, parts)
        if "ready" not in parts:
            message = "handoff has no ready; expected <ready>true</ready> or false"
            self.report(handoff.READY_MISSING.problem(message, path=f"{path}/ready"))
        if "suggest_new_session" not in parts:
            message = "handoff has no suggest_new_session; expected true or false"
            self.report(
                handoff.SESSION_FLAG_MISSING.problem(message, path=f"{path}/suggest_new_session")
            )

        written = parts.get("next_command")
        if new_session and (written is None or not self.text(written)):
            message = (
                "suggest_new_session is true and there is no next_command; expected the command"
                " that continues"
            )
            self.report(
                handoff.SESSION_WITHOUT_COMMAND.problem(message, path=f"{path}/next_command")
            )

        blockers = self.text(parts.get("blockers"))
        if blockers and is_open_slot(blockers):
            self.placeholder(blockers, f"{path}/blockers", None)

        files = self._items(parts.get("files_to_read"), f"{path}/files_to_read", "file")

        return Handoff(
            ready=self.boolean(parts.get("ready"), f"{path}/ready"),
            next_action=self._next_action(parts.get("next_action"), f"{path}/next_action"),
            files_to_read=tuple([self.text(file) or "" for file in files]),
            blockers=real_blocker(blockers) if blockers else None,
            suggest_new_session=new_session,
            next_command=command,
        )

    def _checklist(self, items: Mapping[str, str], parts: Mapping[str, Element]) -> None:
        """Note the items of the closing checklist that are missing (P-13)."""
        for name, item in items.items():
            if name not in parts:
                self._gap(item)

    def _gap(self, item: str) -> None:
        self.report(CHECKLIST_GAP.problem(f"checklist item missing: {item}", path="/goop_report"))

    def _next_action(self, element: Element | None, path: str) -> NextAction | None:
        if element is None:
            return None

        raw = self.attribute(element, "agent")
        text = self.text(element) or ""
        if not raw:
            message = "next_action names no agent; expected the agent that continues"
            self.report(handoff.NEXT_ACTION_WITHOUT_AGENT.problem(message, path=path))
            return NextAction(agent=None, text=text)

        agent = self.listed_name(raw, f"{path}/@agent", element, "agent", KNOWN_AGENTS)
        if agent in NEXT_AGENT_ALIASES:
            read_as = NEXT_AGENT_ALIASES[agent]
            self.report(
                handoff.NEXT_AGENT_ALIAS.problem(
                    f"next agent is {agent!r}; expected {read_as!r}, which means the same",
                    path=f"{path}/@agent",
                    found=agent,
                    expected=(read_as,),
                )
            )
            agent = read_as

        return NextAction(agent=agent, text=text)

    # Elements

    def _parts(self, element: Element, path: str, known: frozenset[str]) -> dict[str, Element]:
        """Return the known children by name; keep the others as extensions, report doubles."""
        parts: dict[str, Element] = {}
        # lxml makes a new string at each access to a text, hence the names.
        stray = [text] if (text := element.text) and not text.isspace() else []

        for child in element:
            tag = child.tag
            if tag not in known:
                self._extension(child, path)
            elif tag in parts:
                name = str(tag)
                self._doubled.add(f"{path}/{name}")
                where = f"{path}/{name}[2]"
                message = f"<{name}> occurs more than once; expected once"
                self.report(structure.DUPLICATE_ELEMENT.problem(message, path=where))
            else:
                parts[str(tag)] = child

            if (tail := child.tail) and not tail.isspace():
                stray.append(tail)

        if stray:
            self._stray_text(stray, path)
        return parts

    def _items(self, element: Element | None, path: str, name: str) -> list[Element]:
        """Return the children called `name`; keep the others as extensions."""
        if element is None:
            return []

        items: list[Element] = []
        # lxml makes a new string at each access to a text, hence the names.
        stray = [text] if (text := element.text) and not text.isspace() else []

        for child in element:
            if child.tag == name:
                items.append(child)
            else:
                self._extension(child, path)

            if (tail := child.tail) and not tail.isspace():
                stray.append(tail)

        if stray:
            self._stray_text(stray, path)
        return items

    def _extension(self, child: Element, path: str) -> None:
        name = etree.QName(child).localname
        # A known name in the wrong case or in a namespace is repaired first: as an extension it
        # would leave its part missing.
        misspelt = name.lower() in GRAMMAR.names and name not in GRAMMAR.names.values()
        if misspelt or (child.tag != name and child.prefix is None):
            self.tangled = True

        plain = len(child) == 0 and not child.attrib and child.tag == name
        content = (
            clean(child.text)
            if plain
            else etree.tostring(child, encoding="unicode", with_tail=False)
        )
        self._extensions.append(
            Extension(name=_below_root(path, name), content=content, is_xml=not plain)
        )
        written = f"{child.prefix}:{name}" if child.prefix else name
        where = f"{path}/{written}"
        # Counting as they are met is linear; looking back over the siblings of each is not.
        number = self._extension_counts[where] = self._extension_counts.get(where, 0) + 1
        if number > 1:
            where = f"{where}[{number}]"

        message = f"element <{excerpt(written, 60)}> is not in the schema; kept"
        self.report(structure.EXTENSION_ELEMENT.problem(message, path=where))

    def _stray_text(self, pieces: "list[str]", path: str) -> None:
        text = "\n".join(filter(None, map(clean, pieces)))
        if path in _PLACES_OF_CLAIMS:
            # What agents write here as prose often names files and commits. These are taken as
            # claims, and only the lines left over are kept as text.
            prose = read_prose(text)
            if prose.files or prose.commits or (prose.suspicious and path != _ARTIFACTS):
                self._in_prose(text, f"{path}/text()", _PLACES_OF_CLAIMS[path])

            self._prose.append(prose)
            text = "\n".join(prose.rest)
        if not text:
            return

        self._extensions.append(Extension(name=_below_root(path, "#text"), content=text))
        found = excerpt(text, 60)
        message = f"text outside of any element: {found!r}; kept"
        self.report(
            structure.EXTENSION_ELEMENT.problem(
                message, path=f"{path}/text()", found=found, fix="Put the text into an element."
            )
        )

    def _in_prose(self, text: str, path: str, expected: str) -> None:
        found = excerpt(text, 60)
        message = f"claimed as text: {found!r}; {expected}"
        self.report(artifacts.CLAIM_IN_PROSE.problem(message, path=path, found=found))


def _below_root(path: str, name: str) -> str:
    """Return the place of `name` in `path`, as extensions name it: without the root."""
    return f"{path.removeprefix('/goop_report')}/{name}".lstrip("/")
