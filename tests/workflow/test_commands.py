"""The commands of the packages and their form."""

import pytest

from goop_mcp.validation.expectations import Profile
from goop_mcp.workflow.commands import (
    COMMANDS,
    KNOWN_COMMANDS,
    command_name,
    usual_next,
    usual_next_of_phase,
)
from goop_mcp.workflow.gates import GATES
from goop_mcp.workflow.phases import PHASES
from tests.requirements import requirement

NAMES = (
    "accept amend complete debug discuss execute help map-codebase memory milestone pause plan"
    " pr-review quick recall remember research resume setup specify status"
)


@requirement("G-35")
def test_commands_of_all_package_versions_are_known_and_no_others() -> None:
    assert {f"/goop-{name}" for name in NAMES.split()} == KNOWN_COMMANDS


@requirement("G-34")
@pytest.mark.parametrize("command", sorted(KNOWN_COMMANDS))
def test_every_known_command_has_the_form(command: str) -> None:
    assert command_name(command) == command


@requirement("G-34")
@pytest.mark.parametrize(
    "text", ["/goop-plan --fast", " /goop-plan\n", "/goop-plan the login page"]
)
def test_arguments_and_blanks_do_not_belong_to_the_command(text: str) -> None:
    assert command_name(text) == "/goop-plan"


@requirement("G-34")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "goop-plan",
        "/plan",
        "/goop-",
        "/goop plan",
        "see /goop-plan",
        "/goop-Plan!",
        "/goop-plan;rm",
    ],
)
def test_text_of_another_form_is_no_command(text: str) -> None:
    assert command_name(text) is None


@pytest.mark.parametrize(
    ("command", "gate"),
    [
        ("/goop-plan", "Discovery"),
        ("/goop-specify", "Discovery"),
        ("/goop-execute", "Spec"),
        ("/goop-accept", "Execution"),
        ("/goop-complete", "Acceptance"),
        ("/goop-pr-review", "Merge"),
        ("/goop-research", None),
        ("/goop-quick", None),
    ],
)
def test_a_command_needs_its_gate(command: str, gate: str | None) -> None:
    assert COMMANDS[command].needs == gate
    assert gate is None or gate in GATES


def test_amending_needs_a_locked_specification() -> None:
    assert [name for name, command in COMMANDS.items() if command.needs_locked_spec] == [
        "/goop-amend"
    ]


def test_commands_of_profile_v1_are_the_published_ones() -> None:
    in_v1 = {name.removeprefix("/goop-") for name, command in COMMANDS.items() if command.in_v1}
    assert in_v1 == {
        "accept",
        "amend",
        "discuss",
        "execute",
        "help",
        "plan",
        "quick",
        "setup",
        "status",
    }


def test_every_phase_of_a_command_is_one_of_its_profile() -> None:
    for command in COMMANDS.values():
        assert command.phase is None or command.phase in PHASES["0.x"]
        assert command.phase_in_v1 is None or command.phase_in_v1 in PHASES["v1"]


def test_every_usual_next_command_exists() -> None:
    assert {name for command in COMMANDS.values() for name in command.next} <= KNOWN_COMMANDS


@pytest.mark.parametrize(
    ("command", "profile", "version", "following"),
    [
        ("/goop-discuss", "0.x", None, "/goop-plan"),
        ("/goop-plan", "0.x", None, "/goop-execute"),
        ("/goop-plan", "0.x", "0.1.6", "/goop-specify"),
        ("/goop-plan", "0.x", "0.2.4", "/goop-execute"),
        ("/goop-plan", "v1", "0.1.6", "/goop-execute"),
        ("/goop-accept", "0.x", None, "/goop-milestone"),
        ("/goop-accept", "v1", None, "/goop-discuss"),
        ("/goop-pr-review", "0.x", None, None),
        ("/goop-deploy", "0.x", None, None),
    ],
)
def test_the_usual_next_command_depends_on_profile_and_version(
    command: str, profile: Profile, version: str | None, following: str | None
) -> None:
    assert usual_next(command, profile=profile, version=version) == following


@pytest.mark.parametrize(
    ("phase", "tasks_remain", "following"),
    [
        ("plan", True, "/goop-execute"),
        ("specify", True, "/goop-execute"),
        ("research", True, "/goop-plan"),
        ("execute", True, "/goop-execute"),
        ("execute", False, "/goop-accept"),
        ("accept", True, "/goop-milestone"),
        ("idle", True, None),
        ("deploy", True, None),
    ],
)
def test_a_phase_hands_over_to_its_usual_command(
    phase: str, tasks_remain: bool, following: str | None
) -> None:
    assert usual_next_of_phase(phase, tasks_remain=tasks_remain) == following
