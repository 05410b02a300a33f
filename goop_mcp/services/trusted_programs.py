"""The programs that a repository's own git configuration names, for the person who trusts them."""

from pathlib import Path

from goop_mcp.recording.configured_programs import RepositoryPrograms
from goop_mcp.recording.git_calls import Git

__all__ = ["programs_of"]


def programs_of(project: Path) -> RepositoryPrograms:
    """Return what git would run for the repository of `project`. Raises NoTreeError, OSError."""
    with Git(str(project.resolve())) as git:
        return git.programs(git.place().common)
