"""`goop-mcp trust --git`: let programs run that a repository's own git configuration names."""

from pathlib import Path

from goop_mcp import services
from goop_mcp.cli.running import A_PERSON
from goop_mcp.cli.streams import complain, show
from goop_mcp.cli.trusting import are_trusted_by_caller
from goop_mcp.recording.configured_programs import RepositoryPrograms

__all__ = ["trust_git"]


def trust_git(folder: Path, given: str | None) -> int:
    """Trust the settings of the repository of `folder` that name programs; return the exit code.

    They are shown, and a person is asked on the terminal. `given` is their whole digest, None
    without one.
    """
    found = services.trusted_programs.programs_of(folder)
    if not found.named:
        show("The configuration of this repository names no program that git would run.\n")
        return 0

    show("".join(f"{line}\n" for line in _lines(found)))
    if found.is_trusted():
        complain(f"these settings are trusted as they are now ({found.digest[:12]})")
        return 0
    if not are_trusted_by_caller(found.digest, given):
        return A_PERSON

    found.trust()
    complain(f"trusted the settings as they are now ({found.digest[:12]})")
    return 0


def _lines(found: RepositoryPrograms) -> list[str]:
    """Return the lines that a person has to read: all of each value, with escapes."""
    lines = ["The configuration of this repository has git run programs, with your rights:"]
    lines += (f"  {found.line(each, whole=True)}" for each in found.named)
    if others := [each for each in found.settings if each not in found.named]:
        lines += ["With them are trusted:", *(f"  {found.line(e, whole=True)}" for e in others)]
    return lines
