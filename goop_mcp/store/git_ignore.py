"""What keeps git away from the files of one machine in a project's folder `.goopspec`."""

from typing import Final

__all__ = ["GIT_IGNORE", "NOT_FOR_GIT"]

GIT_IGNORE: Final = ".gitignore"

NOT_FOR_GIT: Final = """\
# The database of goop-mcp, copies of it, locks and files that are being written: they belong to
# this machine.
/goop.db*
/.lock
.*.goop-tmp
"""
"""The text of the `.gitignore` that whoever creates `.goopspec` writes first."""
