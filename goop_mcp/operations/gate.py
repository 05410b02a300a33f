"""The gate before a spawn: may an agent be started with this prompt (xml-handoff-protocol, sections 3.3, 3.4, 7.1)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from goop_mcp.operations.reading_files import STDIN, read_reply
from goop_mcp.protocols import check_rules
from goop_mcp.protocols.agent_request import AGENT_REQUEST, gate_messages
from goop_mcp.protocols.agent_request.rules.session import SCHEMA_MISSING
from goop_mcp.protocols.agent_request.sessions import is_session_id
from goop_mcp.validation import path_rules, pipeline
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Finding, Mode, Severity, excerpt
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.claimed_files import links_that_lead_out
from goop_mcp.workspace.files import ProjectFiles

__all__ = ["Adoption", "Containment", "GateAnswer", "gate", "gate_file"]

Adoption = Literal["optional", "pilot", "expanded", "mandatory"]
Containment = Literal["workspace", "session"]

_LOG = logging.getLogger(__name__)
_PROSE_IS_ENOUGH = frozenset({"spike", "research"})
_WELL_FORMEDNESS = ("xml/", "envelope/", "path/", "agent_request/multiple-requests")
_ALWAYS_REFUSED = path_rules.TEMPLATE_VARIABLE.id


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """Whether to go on, and what to say.

    `messages` are the lines for people, in the form of sections 3.4 and 3.3. `log` are the lines
    for the session's log: the outcome, and for a refusal its reasons in the form of section 7.1.
    `findings` are those of the verdict as the gate weighs them, and its own; `verdict` is the
    judgement on the prompt itself.
    """

    proceed: bool
    messages: tuple[str, ...]
    log: tuple[str, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict


def gate(
    text: str,
    file_name: str,
    *,
    schema_present: bool = True,
    adoption: Adoption = "optional",
    workflow: str | None = None,
    mode: Mode = "lenient",
    expected: Expectations = NOTHING_EXPECTED,
    schema: str = gate_messages.SCHEMA,
    rules: Sequence[Rule] = (),
) -> GateAnswer:
    """Say whether an agent may be started with the prompt `text`; `file_name` is what messages call it.

    A prompt without a request proceeds with a warning, unless `adoption` is "mandatory" and `workflow`, which is what
    the caller knows of the work, is neither SPIKE nor research (H-53). With `schema_present` False, which means that
    the file `schema` was asked for and is not there, only well-formedness and paths are judged (H-33, D-77). A variable
    that was left in a path is an error here (D-59). `rules` are those of `validate`. Pure: reads and writes nothing.
    """
    return _answer(
        _examined(text, mode, expected, rules).verdict(),
        file_name,
        schema=schema,
        schema_present=schema_present,
        needed=adoption == "mandatory" and (workflow or "").strip().lower() not in _PROSE_IS_ENOUGH,
        place=expected.session_folder,
    )


def gate_file(
    file: str,
    *,
    project: Path,
    schema: str | None = None,
    adoption: Adoption = "optional",
    workflow: str | None = None,
    mode: Mode = "lenient",
    containment: Containment = "workspace",
    stdin: BinaryIO | None = None,
    rules: Sequence[Rule] = (),
) -> GateAnswer:
    """Say whether an agent may be started with the prompt in `file`, as `gate` does.

    Paths have to stay inside `project`, links followed, or with `containment` "session" inside the
    folder of `file`. `schema` names a schema file that has to be there. Raises UnreadableFileError,
    and for `rules` RuleRefusedError and RuleFailedError.
    """
    text = read_reply(file, stdin=stdin).removeprefix("\ufeff")
    expected = _expectations(file, project, containment)
    examined = _examined(text, mode, expected, rules)
    folder = expected.session_folder
    answer = _answer(
        examined.verdict(
            links_that_lead_out(examined.claims(), ProjectFiles(project), session_folder=folder)
        ),
        "standard input" if file == STDIN else PurePath(file).name,
        schema=schema or gate_messages.SCHEMA,
        schema_present=schema is None or (project / schema).is_file(),
        needed=adoption == "mandatory" and (workflow or "").strip().lower() not in _PROSE_IS_ENOUGH,
        place=folder,
    )
    _LOG.info("%s", answer.log[0])

    return answer


def _examined(
    text: str, mode: Mode, expected: Expectations, rules: Sequence[Rule]
) -> pipeline.Examination:
    check_rules(rules)
    return pipeline.examine(
        text, (AGENT_REQUEST,), protocol="agent_request", mode=mode, expected=expected, rules=rules
    )


def _expectations(file: str, project: Path, containment: Containment) -> Expectations:
    """Return what the place of `file` tells: the session's folder and id, where the folder is named by one."""
    folder = None if file == STDIN else _folder_in(project, Path(file))
    name = "" if folder is None else PurePath(folder).name

    return Expectations(
        workspace=project.as_posix(),
        session_folder=folder if containment == "session" else None,
        session_id=name if is_session_id(name) else None,
    )


def _folder_in(project: Path, file: Path) -> str | None:
    """Return the folder of `file` relative to `project`, None when it lies elsewhere."""
    folder = file.resolve().parent
    return folder.relative_to(project).as_posix() if folder.is_relative_to(project) else None


def _answer(
    verdict: Verdict,
    file_name: str,
    *,
    schema: str,
    schema_present: bool,
    needed: bool,
    place: str | None,
) -> GateAnswer:
    """Weigh the findings as the gate does and put its messages together."""
    absent = any(finding.rule == AGENT_REQUEST.no_envelope.id for finding in verdict.findings)
    findings = [_weighed(each, needed=needed) for each in verdict.findings]
    if not schema_present and not absent:
        findings = [each for each in findings if each.rule.startswith(_WELL_FORMEDNESS)]
        findings.append(_schema_missing(schema))

    errors = [each for each in findings if each.severity is Severity.ERROR]
    messages = gate_messages.for_people(
        findings,
        verdict,
        file_name=file_name,
        schema=schema,
        schema_present=schema_present,
        place=place,
    )

    return GateAnswer(
        proceed=not errors,
        messages=tuple(messages),
        log=tuple(_log_lines(errors, verdict, file_name, absent=absent)),
        findings=tuple(findings),
        verdict=verdict,
    )


def _log_lines(
    errors: Sequence[Finding], verdict: Verdict, file_name: str, *, absent: bool
) -> list[str]:
    if errors:
        return [gate_messages.FAILED, *gate_messages.for_log(errors, verdict, file_name=file_name)]
    return [f"No XML handoff block found in {file_name}" if absent else gate_messages.PASSED]


def _weighed(finding: Finding, *, needed: bool) -> Finding:
    """Return `finding` with the weight it has before a spawn."""
    refused = finding.rule == _ALWAYS_REFUSED or (
        needed and finding.rule == AGENT_REQUEST.no_envelope.id
    )
    return replace(finding, severity=Severity.ERROR) if refused else finding


def _schema_missing(schema: str) -> Finding:
    shown = excerpt(schema, 200)
    return Finding(
        rule=SCHEMA_MISSING.id,
        severity=Severity.WARNING,
        message=f"schema file {shown} does not exist; only well-formedness and paths were checked",
        found=shown,
        fix=SCHEMA_MISSING.fix,
    )
