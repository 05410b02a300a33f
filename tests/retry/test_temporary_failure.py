"""A program that ends with exit code 75 may be asked again, at the time that it names."""

import sys

import anyio
import pytest

from goop_mcp.retry.calls import is_transient, usage_of_failure
from goop_mcp.retry.command_line import Answer, CommandFailedError, CommandLineAgent
from goop_mcp.retry.policy import retry_time
from goop_mcp.retry.replies import NOTHING_USED, Message

TEMPORARY = "import sys; sys.stderr.write(sys.argv[1]); sys.exit(int(sys.argv[2]))"
"""Writes its first word on standard error and ends with its second as the exit code."""


@pytest.mark.parametrize(
    ("errors", "seconds", "reason"),
    [
        ("out of quota\nRetry-After: 30\n", 30.0, ": out of quota"),
        ("retry-after: 1\nRetry-After:7\ntrace of a tool\n", 7.0, ": trace of a tool"),
        ("Retry-After: 2.5", 2.5, ""),
        ("busy", None, ": busy"),
        # An hour at most.
        ("Retry-After: 1e300\n", 3600.0, ""),
        ("Retry-After: inf\n", 3600.0, ""),
        ("Retry-After: nan\n", None, ""),
        ("Retry-After: -5\n", None, ""),
        ("Retry-After: soon\n", None, ""),
        (f"Retry-After: {'9' * 5000}\n", None, None),
        ("see Retry-After: 30 in the manual\n", None, ": see Retry-After: 30 in the manual"),
    ],
)
def test_exit_code_75_is_repeated_when_the_program_says(
    errors: str, seconds: float | None, reason: str | None
) -> None:
    failure = failed_with(errors, 75)
    assert is_transient(failure)
    assert usage_of_failure(failure) == NOTHING_USED
    assert retry_time(failure, now=lambda: 1000.0) == (None if seconds is None else 1000 + seconds)
    if reason is not None:
        assert str(failure).endswith(f"ended with exit code 75{reason}")


@pytest.mark.parametrize("code", [1, 74, 76])
def test_no_other_exit_code_is_repeated_for_what_the_program_wrote(code: int) -> None:
    failure = failed_with("Retry-After: 30\n", code)
    assert not is_transient(failure)
    assert retry_time(failure) is None
    assert usage_of_failure(failure) is None
    assert str(failure).endswith(f"ended with exit code {code}: Retry-After: 30")


def failed_with(errors: str, code: int) -> CommandFailedError:
    words = [sys.executable, "-c", TEMPORARY, errors, str(code)]
    agent = CommandLineAgent(command=lambda _text, _session: words, read=Answer)
    with pytest.raises(CommandFailedError) as raised:
        anyio.run(agent.ask, Message("Do it."))
    return raised.value
