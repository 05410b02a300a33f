"""Long work shows on a terminal how far it is, and nothing in a pipe."""

import sys

from tests.cli.running import run_command, run_command_on_terminal

SLOW = """
import time
from goop_mcp.cli.streams import counting
print([time.sleep(0.3) or each for each in counting(range(6), "lines imported")])
"""
COMMAND = [sys.executable, "-c", SLOW]


def test_what_takes_long_shows_its_number_on_a_terminal() -> None:
    shown = run_command_on_terminal(COMMAND).out
    assert "\rlines imported: 5" in shown
    # The line is gone before the result is printed.
    assert shown.endswith(" \r[0, 1, 2, 3, 4, 5]\n")


def test_a_pipe_receives_the_result_only() -> None:
    ended = run_command(COMMAND)
    assert (ended.out, ended.err) == ("[0, 1, 2, 3, 4, 5]\n", "")
