"""The commands of the packages and their form (WORKFLOW, section 3)."""

import pytest

from goop_mcp.workflow.commands import KNOWN_COMMANDS, command_name
from tests.requirements import requirement

NAMES = (
    "accept amend complete debug discuss execute help map-codebase memory milestone pause plan pr-review quick recall "
    "remember research resume setup specify status"
)


@requirement("G-35")
def test_commands_of_all_package_versions_are_known_and_no_others() -> None:
    assert {f"/goop-{name}" for name in NAMES.split()} == KNOWN_COMMANDS


@requirement("G-34")
@pytest.mark.parametrize("command", sorted(KNOWN_COMMANDS))
def test_every_known_command_has_the_form(command: str) -> None:
    assert command_name(command) == command


@requirement("G-34")
@pytest.mark.parametrize("text", ["/goop-plan --fast", " /goop-plan\n", "/goop-plan the login page"])
def test_arguments_and_blanks_do_not_belong_to_the_command(text: str) -> None:
    assert command_name(text) == "/goop-plan"


@requirement("G-34")
@pytest.mark.parametrize(
    "text", ["", "goop-plan", "/plan", "/goop-", "/goop plan", "see /goop-plan", "/goop-Plan!", "/goop-plan;rm"]
)
def test_text_of_another_form_is_no_command(text: str) -> None:
    assert command_name(text) is None
