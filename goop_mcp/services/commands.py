"""The commands of the workflow as files of hosts, each made from the prompt of the same name.

A host expands `$ARGUMENTS` in such a file to what the person wrote after the command.
`python -m goop_mcp.services.commands FOLDER` writes those of the plugin.
"""

import json
import re
import sys
from pathlib import Path
from typing import Final, Literal

from goop_mcp.services.prompts import command_names, find_prompt, render_prompt
from goop_mcp.workflow.commands import COMMANDS, PLUGIN_PREFIX

__all__ = ["COMMAND_MARK", "CommandForm", "command_file"]

CommandForm = Literal["claude-code", "opencode", "plugin"]
"""A command of a project or person in Claude Code, one in OpenCode, one in our plugin."""

COMMAND_MARK: Final = "# goop-mcp: install writes this file, uninstall removes it"
"""The second line of every installed command: our files are known by it."""

_ARGUMENTS: Final = "$ARGUMENTS"
_STEPS: Final = frozenset(
    name
    for each in COMMANDS.values()
    if each.phase is not None or each.next
    for name in (each.name, *each.next)
)
_NAMED = re.compile(r"(?<![\w/:])/(?=goop-[a-z])")


def command_file(name: str, form: CommandForm) -> str:
    """Return the file of the command `name`, such as goop-plan, in the form of a host.

    In a plugin the names of other commands have its prefix. Raises UnknownNameError.
    """
    prompt = find_prompt(name)
    given = {argument.name: _ARGUMENTS for argument in prompt.arguments}
    text = render_prompt(name, given)
    if form == "plugin":
        text = _NAMED.sub(f"/{PLUGIN_PREFIX}", text)

    front = [] if form == "plugin" else [COMMAND_MARK]
    # A text of JSON is one of YAML as well.
    front.append(f"description: {json.dumps(prompt.description, ensure_ascii=False)}")
    if form != "opencode":
        front += [f"argument-hint: {json.dumps(f'[{each.name}]')}" for each in prompt.arguments]

        # Claude Code describes to its model each command that the model may run, which costs tokens
        # in every session: only those that decisions name as the next step are worth it.
        if f"/{prompt.name}" not in _STEPS:
            front.append("disable-model-invocation: true")

    return "\n".join(["---", *front, "---", text])


if __name__ == "__main__":
    for each in command_names():
        path = Path(sys.argv[1]) / f"{each}.md"
        path.write_text(command_file(each, "plugin"), encoding="utf-8")
