"""The gate before a spawn: whether an agent may be started with a prompt, and its log (H-39).

Messages and log lines have the form of the xml-handoff-protocol, sections 3.3, 3.4 and 7.1.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

from goop_mcp import redaction
from goop_mcp.errors import GoopError
from goop_mcp.protocols import check_rules
from goop_mcp.protocols.agent_request import AGENT_REQUEST, gate_messages
from goop_mcp.protocols.agent_request.rules.session import SCHEMA_MISSING
from goop_mcp.protocols.agent_request.sessions import is_session_id
from goop_mcp.services.user_files import PATIENCE, STDIN, opener_for_writing, read_reply
from goop_mcp.validation import path_rules, pipeline
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Finding, Mode, Severity, excerpt
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.claimed_files import links_that_lead_out
from goop_mcp.workspace.files import ProjectFiles

__all__ = [
    "Adoption",
    "Containment",
    "GateAnswer",
    "SessionLogError",
    "append_to_log",
    "gate",
    "gate_file",
]

Adoption = Literal["optional", "pilot", "expanded", "mandatory"]
Containment = Literal["workspace", "session"]

_LOG = logging.getLogger(__name__)
_PROSE_IS_ENOUGH = frozenset({"spike", "research"})
_WELL_FORMEDNESS = ("xml/", "envelope/", "path/", "agent_request/multiple-requests")
_ALWAYS_REFUSED = path_rules.TEMPLATE_VARIABLE.id


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """Whether to proceed, with messages and findings.

    `messages` are lines for people. `log` are the lines for the session's log: the outcome, and the
    reasons of a refusal. `findings` are those of the verdict with the severity that they have for
    the gate, and its own; `verdict` is that on the prompt itself.
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
    """Decide whether an agent may be started with the prompt `text`.

    Messages call the prompt `file_name`. A prompt without a request proceeds with a warning, unless
    `adoption` is "mandatory" and the caller's `workflow` is neither SPIKE nor research (H-53).
    `schema_present` False means that the requested file `schema` does not exist; only
    well-formedness and paths are judged then (H-33, D-77). A variable left in a path is an error
    here (D-59). `rules` are those of `validate`. Pure: reads and writes nothing.
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
    """Decide whether an agent may be started with the prompt in `file`, as `gate` does.

    Paths must stay inside `project`, with links followed, or with `containment` "session" inside
    the folder of `file`. `schema` is a schema file that must exist. Raises UnreadableFileError, and
    RuleRefusedError and RuleFailedError for `rules`.
    """
    text = read_reply(file, stdin=stdin).removeprefix("\ufeff")

    # The folder of the file is that of the session, and has its id as name.
    own: str | None = None
    if file != STDIN:
        parent = Path(file).resolve().parent
        own = parent.relative_to(project).as_posix() if parent.is_relative_to(project) else None

    name = PurePath(own or "").name
    folder = own if containment == "session" else None
    expected = Expectations(
        workspace=project.as_posix(),
        session_folder=folder,
        session_id=name if is_session_id(name) else None,
    )
    examined = _examined(text, mode, expected, rules)
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
    if answer.findings:
        # What states something about the prompt goes to screens and logs, itself to the agent.
        messages, log, findings = redaction.shareable(
            (answer.messages, answer.log, answer.findings), text
        )
        answer = replace(answer, messages=messages, log=log, findings=findings)
    _LOG.info("%s", answer.log[0])

    return answer


def _examined(
    text: str, mode: Mode, expected: Expectations, rules: Sequence[Rule]
) -> pipeline.Examination:
    check_rules(rules)
    return pipeline.examine(
        text, (AGENT_REQUEST,), protocol="agent_request", mode=mode, expected=expected, rules=rules
    )


def _answer(
    verdict: Verdict,
    file_name: str,
    *,
    schema: str,
    schema_present: bool,
    needed: bool,
    place: str | None,
) -> GateAnswer:
    """Return the decision of the gate; `needed` states that a prompt must hold a request."""
    no_envelope = AGENT_REQUEST.no_envelope.id
    absent = any(finding.rule == no_envelope for finding in verdict.findings)
    # Two findings that a validator only warns of are errors before a spawn.
    refused = {_ALWAYS_REFUSED, no_envelope} if needed else {_ALWAYS_REFUSED}
    findings = [
        replace(each, severity=Severity.ERROR) if each.rule in refused else each
        for each in verdict.findings
    ]
    if not schema_present and not absent:
        findings = [each for each in findings if each.rule.startswith(_WELL_FORMEDNESS)]
        shown = excerpt(schema, 200)
        findings.append(
            Finding(
                rule=SCHEMA_MISSING.id,
                severity=Severity.WARNING,
                message=(
                    f"schema file {shown} does not exist; only well-formedness and paths were"
                    " checked"
                ),
                found=shown,
                fix=SCHEMA_MISSING.fix,
            )
        )

    errors = [each for each in findings if each.severity is Severity.ERROR]
    messages = gate_messages.for_people(
        findings,
        verdict,
        file_name=file_name,
        schema=schema,
        schema_present=schema_present,
        place=place,
    )

    if errors:
        reasons = gate_messages.for_log(errors, verdict, file_name=file_name)
        log = [gate_messages.FAILED, *reasons]
    else:
        log = [f"No XML handoff block found in {file_name}" if absent else gate_messages.PASSED]

    return GateAnswer(
        proceed=not errors,
        messages=tuple(messages),
        log=tuple(log),
        findings=tuple(findings),
        verdict=verdict,
    )


class SessionLogError(GoopError, OSError):
    """Raised when the log of a session cannot be written; the text names the file."""


def append_to_log(path: str, lines: Sequence[str], *, patience: float = PATIENCE) -> None:
    """Append `lines` to the file `path`, created if necessary.

    A pipe must have a reader within `patience` seconds. Raises SessionLogError.
    """
    try:
        with open(path, "a", encoding="utf-8", opener=opener_for_writing(patience)) as log:
            log.write("".join(f"{line}\n" for line in lines))
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise SessionLogError(
            f"the log {path!r} cannot be written ({reason}); name another file"
        ) from error
