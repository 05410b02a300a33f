"""Prompts for agents: Markdown files, filled in with the caller's values.

A prompt file begins with front matter, TOML between two `+++` lines: `name`, `title`, `description`
and, for each argument, a table `[[arguments]]` with `name`, `description` and `required`. The rest
is the text for the agent. Values are data: they are inserted and never read as a template (D-85).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from goop_mcp import services
from goop_mcp.assets import list_assets, read_asset, split_front_matter
from goop_mcp.errors import AssetBrokenError, PromptArgumentError, UnknownNameError
from goop_mcp.messages.quoting import line
from goop_mcp.protocols import validate
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.agents import PLANNER, RESEARCHER, is_agent_name, plain_agent_name

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment

    from goop_mcp.validation.rules import Rule

__all__ = [
    "Prompt",
    "PromptArgument",
    "command_names",
    "find_prompt",
    "list_prompts",
    "parse_prompt",
    "render_prompt",
]

_SUFFIX = ".md"
_COMMANDS = "commands/"
_HELP = "goop-help"
_RESUMING = "resume_session"
_HANDOFF = "HANDOFF.md"  # a copy of `workspace.layout.HANDOFF`, to avoid loading the workspace
_REPAIRING = "repair_report"
_PHASE_ALIASES = {"discuss": "plan"}  # without a project, discussing belongs to planning (D-28)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """A value that a caller may give, or must give if it is `required`."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One packaged prompt; `template` is its text before the values are inserted."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    template: str


def list_prompts() -> tuple[Prompt, ...]:
    """Return all prompts, sorted by name. Raises AssetBrokenError for a malformed file."""
    return tuple(map(find_prompt, _prompt_files()))


def command_names() -> tuple[str, ...]:
    """Return the names of the prompts that are commands of the workflow, such as goop-plan."""
    return tuple(name for name, file in _prompt_files().items() if file.startswith(_COMMANDS))


def _prompt_files() -> dict[str, str]:
    """Return the files by the names of the prompts, sorted by name."""
    # The subfolder prompts/templates/ holds assets of another kind.
    files = [
        file for file in list_assets("prompts", _SUFFIX) if "/" not in file.removeprefix(_COMMANDS)
    ]
    return dict(
        sorted((file.removeprefix(_COMMANDS).removesuffix(_SUFFIX), file) for file in files)
    )


def find_prompt(name: str) -> Prompt:
    """Return the prompt called `name`. Raises UnknownNameError, which suggests the nearest name."""
    files = _prompt_files()
    if name not in files:
        raise UnknownNameError("prompt", name, files)
    return parse_prompt(read_asset("prompts", files[name]), file=name + _SUFFIX)


def render_prompt(
    name: str,
    arguments: Mapping[str, str],
    *,
    find_document: Callable[[str], str | None] | None = None,
    rules: "Sequence[Rule]" = (),
    project: "Path | None" = None,
) -> str:
    """Return the text of the prompt `name` with `arguments` filled in, ending with a line feed.

    An optional argument that is absent or blank leaves the choice to the agent. `find_document`
    returns the text of a document for a prompt about a project, None if it does not exist. `rules`
    are custom rules for a prompt that judges a reply, and `project` is the folder whose form of
    report applies. Raises UnknownNameError for an unknown prompt, PromptArgumentError for an
    unknown, missing or unusable argument, RuleFailedError, and what `find_document` raises.
    """
    prompt = find_prompt(name)
    known = [argument.name for argument in prompt.arguments]
    for argument in arguments:
        if argument not in known:
            takes = f"it takes {' and '.join(known)}" if known else "it takes none"
            raise PromptArgumentError(
                f"the prompt {name} has no argument {argument[:80]!r}; {takes}"
            )

    for each in prompt.arguments:
        if each.required and each.name not in arguments:
            raise PromptArgumentError(f"the prompt {name} needs the argument {each.name}")

    given = {argument.name: arguments.get(argument.name, "") for argument in prompt.arguments}
    prepare = _PREPARED.get(name)
    values = given if prepare is None else prepare(given)
    # Three prompts need more than their arguments: a document, the other commands, and the rules.
    if name == _RESUMING:
        values = services.prompt_values.resume_values(
            None if find_document is None else find_document(_HANDOFF)
        )

    if name == _HELP:
        commands = [(each, find_prompt(each).description) for each in command_names()]
        values = {**values, "commands": commands}

    if name == _REPAIRING:
        expected = None if project is None else expect_of_project(project, NOTHING_EXPECTED)
        protocol = given["protocol"].strip() or "auto"
        verdict = validate(given["text"], protocol=protocol, expected=expected, rules=rules)
        values = {"feedback": verdict.feedback or ""}

    return _environment().from_string(prompt.template).render(values).strip() + "\n"


def parse_prompt(text: str, *, file: str) -> Prompt:
    """Return the prompt that `text` holds. `file` is the file's name, which gives the prompt's.

    Raises AssetBrokenError, which names the file, if its front matter is malformed.
    """
    front, template = split_front_matter(text, file=f"the prompt file {file}")
    unknown = front.keys() - {"name", "title", "description", "arguments"}
    if unknown:
        raise _broken(file, f"its front matter has an unknown key {min(unknown)!r}")

    name = _text(front, "name", file)
    if file != name + _SUFFIX:
        raise _broken(file, f"it names the prompt {name!r}; expected the name of the file")

    title, description = _text(front, "title", file), _text(front, "description", file)
    tables = front.get("arguments", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise _broken(file, "arguments is not a list of [[arguments]] tables in its front matter")

    arguments = []
    for table in tables:
        required = table.get("required")
        if not isinstance(required, bool):
            raise _broken(
                file, "an argument does not say whether it is required; expected true or false"
            )

        arguments.append(
            PromptArgument(
                name=_text(table, "name", file),
                description=_text(table, "description", file),
                required=required,
            )
        )

    return Prompt(
        name=name,
        title=title,
        description=description,
        arguments=tuple(arguments),
        template=template,
    )


def _text(table: Mapping[str, object], key: str, file: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _broken(file, f"{key} is missing or not a text in its front matter")
    return value


def _broken(file: str, reason: str) -> AssetBrokenError:
    return AssetBrokenError(f"the prompt file {file} cannot be used: {reason}")


def _values_of_goop_report(given: Mapping[str, str]) -> Mapping[str, str]:
    """Return agent and phase; raise PromptArgumentError for values that no report may have."""
    agent = plain_agent_name(given["agent"])
    if agent and not is_agent_name(agent):
        raise PromptArgumentError(
            f"agent is {excerpt(given['agent'], 60)!r}; expected the form goop-[type], such as"
            " goop-executor"
        )

    phase = given["phase"].strip().lower()
    phase = _PHASE_ALIASES.get(phase, phase)
    if phase:
        # Loaded here, because only prompts with a phase need the model.
        from goop_mcp.protocols.goop_report.model import Phase  # noqa: PLC0415

        known = [each.value for each in Phase if each is not Phase.DISCUSS]
        if phase not in known:
            raise PromptArgumentError(
                f"phase is {excerpt(phase, 60)!r}; expected one of {', '.join(known)}"
            )

    return {"agent": agent, "phase": phase}


def _values_of_start_task(given: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the values of start_task, with the task on one line for use inside a tool call."""
    task = line(given["task"]) if given["task"].strip() else ""
    query = json.dumps(task or "[your task]", ensure_ascii=False)
    values = _values_of_goop_report(given)

    return {
        **values,
        "task": task,
        "query": query,
        "plans": values["agent"] == PLANNER,
        "researches": values["agent"] == RESEARCHER or values["phase"] == "research",
    }


def _values_of_resolve_blocker(given: Mapping[str, str]) -> Mapping[str, Any]:
    return services.prompt_values.blocker_values(given["text"], given["protocol"].strip() or "auto")


def _values_of_draft_handoff(given: Mapping[str, str]) -> Mapping[str, Any]:
    return services.prompt_values.draft_values(given["text"])


_PREPARED: Mapping[str, Callable[[Mapping[str, str]], Mapping[str, Any]]] = {
    "goop_report": _values_of_goop_report,
    "draft_handoff": _values_of_draft_handoff,
    "resolve_blocker": _values_of_resolve_blocker,
    "start_task": _values_of_start_task,
}
"""Functions that compute the values of a prompt from its arguments; others use them unchanged."""


@cache
def _environment() -> "Environment":
    # Loaded here, because jinja2 is slow to import and only rendering needs it.
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415

    return Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # The output is Markdown, which escaping for HTML would corrupt.
        autoescape=False,  # noqa: S701
    )
