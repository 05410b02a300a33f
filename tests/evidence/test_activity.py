from goop_mcp.evidence import NO_ACTIVITY, AgentActivity, ObservedCommand, ObservedFile
from goop_mcp.evidence.activity import OUTPUT_CHARACTERS, cut_output


def test_an_activity_without_any_entry_is_empty_and_incomplete() -> None:
    assert NO_ACTIVITY.is_empty
    assert not NO_ACTIVITY.complete
    assert NO_ACTIVITY.why_incomplete == "there is no transcript"

    changed = ObservedFile(position=3, path="/p/a.py", action="written")
    assert not AgentActivity(host="claude-code", files=(changed,)).is_empty


def test_a_command_whose_outcome_is_not_known_has_no_status() -> None:
    command = ObservedCommand(position=0, line="pytest &")
    assert command.status is None
    assert command.ran
    assert command.current


def test_the_end_of_a_long_output_is_kept() -> None:
    output = "x" * OUTPUT_CHARACTERS + "1 failed"
    kept, whole = cut_output(output)
    assert (len(kept), whole) == (OUTPUT_CHARACTERS, False)
    assert kept.endswith("1 failed")
    assert cut_output("2 passed") == ("2 passed", True)


def test_an_entry_does_not_show_its_output_in_logs() -> None:
    command = ObservedCommand(position=0, line="env", output="TOKEN=abc")
    assert "TOKEN" not in repr(command)
