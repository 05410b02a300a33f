"""Every template is the style guide's, byte for byte, with the slots filled."""

from goop_mcp.messages import (
    Choice,
    Position,
    TaskLine,
    decision_required,
    gate_blocked,
    gate_passed,
    notice,
    phase_complete,
    phase_start,
    progress,
    session_handoff,
    status_display,
    warning,
)
from goop_mcp.messages.icons import (
    KNOWN_ICONS,
    PHASE_ICONS,
    PRIMARY_ICON,
    SEPARATOR,
    STYLE_VERSION,
    StatusIcon,
)
from goop_mcp.messages.rendering import success
from goop_mcp.messages.templates import HEADER
from tests.messages.style_guide import GUIDE, filled, table
from tests.requirements import requirement


@requirement("V-08")
def test_phase_start_is_the_guides_template() -> None:
    assert phase_start("Research", "Which library carries tokens") == filled(
        "Phase Start",
        ("[Phase Name]", "Research"),
        ("[Phase description and context]", "Which library carries tokens"),
    )


@requirement("V-09")
def test_an_open_gate_is_the_guides_template() -> None:
    assert gate_passed() == filled("Gate Check - Pass")


@requirement("V-10")
def test_a_closed_gate_is_the_guides_template_with_a_cross() -> None:
    reason = "Specification not locked. Run /goop-plan to confirm and lock first."

    assert gate_blocked(reason, command="/goop-plan") == filled(
        "Gate Check - Blocked", ("[Reason for block]", reason), ("/goop-[command]", "/goop-plan")
    )


@requirement("V-05", "V-10")
def test_the_warning_header_is_the_guides_with_a_warning_sign() -> None:
    assert warning("Discovery was skipped", command="/goop-discuss") == filled(
        "Warning/Blocked Header",
        ("[Warning message]", "Discovery was skipped"),
        ("/goop-[command]", "/goop-discuss"),
    )


@requirement("V-04")
def test_the_success_header_is_the_guides() -> None:
    assert success("All waves are done") == filled(
        "Success Header", ("[Success message]", "All waves are done")
    )


@requirement("V-11")
def test_progress_is_the_guides_template() -> None:
    message = progress(
        phase="execute",
        wave=Position(2, 3),
        task=Position(4, 6),
        completed=[TaskLine("2.1", "add the model"), TaskLine("2.2", "add the route")],
        in_progress=[TaskLine("2.3", "test the route")],
    )

    assert message == filled(
        "Progress Update",
        ("[description]", "add the model"),
        ("[description]", "add the route"),
        ("[description]", "test the route"),
    )


@requirement("V-12")
def test_phase_complete_is_the_guides_template() -> None:
    assert phase_complete(
        "Execute", summary="3 waves, 8 tasks.", next_command="/goop-accept"
    ) == filled(
        "Phase Complete",
        ("[Phase Name]", "Execute"),
        ("[Summary content]", "3 waves, 8 tasks."),
        ("/goop-[next-command]", "/goop-accept"),
    )


@requirement("V-13")
def test_decision_required_is_the_guides_template() -> None:
    message = decision_required("Which provider?", [Choice("A", "Stripe"), Choice("B", "PayPal")])

    assert message == filled(
        "Decision Required",
        ("[Context about the decision]", "Which provider?"),
        ("[Option A description]", "Stripe"),
        ("[Option B description]", "PayPal"),
    )


@requirement("V-14")
def test_session_handoff_is_the_guides_template() -> None:
    message = session_handoff(
        accomplished=["Wave 1", "Wave 2"],
        phase="execute",
        spec_locked=True,
        wave=Position(2, 3),
        next_command="/goop-execute",
    )

    assert message == filled(
        "Handoff",
        ("[Item 1]", "Wave 1"),
        ("[Item 2]", "Wave 2"),
        ("[phase]", "⚡ Execute"),
        ("[locked/unlocked]", "locked"),
        ("[N/M]", "2/3"),
        ("/goop-[command]", "/goop-execute"),
    )


@requirement("V-15")
def test_status_display_is_the_guides_template() -> None:
    message = status_display(
        project="demo",
        interview_complete=True,
        spec_locked=True,
        accepted=False,
        next_command="/goop-execute",
    )

    assert message == filled(
        "Status Display", ("[name]", "demo"), ("/goop-[command]", "/goop-execute")
    )


def test_the_other_states_of_the_gates_have_their_icons() -> None:
    message = status_display(
        project="demo", interview_complete=False, spec_locked=False, accepted=True
    )

    assert (
        "| Interview | ⏳ Pending |\n| Spec Lock | 🔓 Unlocked |\n| Acceptance | ✓ Complete"
        " |\n\n---" in message
    )


def test_what_is_not_known_is_left_out_or_shown_as_a_dash() -> None:
    assert (
        progress(phase="execute")
        == "## 🔮 GoopSpec · Progress\n\n**Phase:** ⚡ Execute | **Wave:** – | **Task:** –\n\n---"
    )
    handoff = session_handoff(accomplished=[], phase="plan", spec_locked=None, next_command=None)
    assert "**Phase:** 📋 Plan | **Spec:** – | **Wave:** –" in handoff
    assert handoff.endswith("Start a new session.\n\n---")


def test_a_decision_without_options_asks_its_own_question() -> None:
    assert (
        decision_required("The key is missing", question="Where is it?")
        == "## 🔮 GoopSpec · Decision Required\n\n⚠️ The key is missing\n\nWhere is it?\n\n---"
    )


def test_long_lists_are_counted_and_not_shown_in_full() -> None:
    message = session_handoff(
        accomplished=["x"] * 25, phase="plan", spec_locked=True, next_command=None
    )

    assert message.count("- ✓ x") == 20
    assert "- ✓ … and 5 more" in message


def test_a_notice_has_header_lines_and_divider() -> None:
    assert notice("Retry", "one", "two") == "## 🔮 GoopSpec · Retry\n\none\n\ntwo\n\n---"


# Icons


@requirement("V-06")
def test_phase_icons_are_those_of_the_table() -> None:
    assert {name.lower(): icon for name, icon, _ in table("Phase Icons")} == dict(PHASE_ICONS)
    assert len(PHASE_ICONS) == 7


@requirement("V-07")
def test_status_icons_are_those_of_the_table() -> None:
    assert {name.upper(): icon for name, icon, _ in table("Status Indicators")} == {
        icon.name: icon.value for icon in StatusIcon
    }
    assert len(StatusIcon) == 8
    assert {*StatusIcon, *PHASE_ICONS.values()} == set(KNOWN_ICONS)


@requirement("V-03")
def test_the_separator_is_the_middle_dot_between_two_blanks() -> None:
    assert [hex(ord(each)) for each in SEPARATOR] == ["0xb7"]
    assert HEADER == "## \N{CRYSTAL BALL} GoopSpec \N{MIDDLE DOT} "


@requirement("V-01")
def test_the_primary_icon_is_the_crystal_ball() -> None:
    assert PRIMARY_ICON == "\N{CRYSTAL BALL}"
    assert HEADER in GUIDE


def test_the_style_has_the_version_of_the_guide() -> None:
    assert GUIDE.rstrip().endswith(f"v{STYLE_VERSION}*")
