"""Which parts of goop-mcp the workbench shows for a project."""

import os

from goop_mcp.context import AppContext
from goop_mcp.hosts.halves import are_judged
from goop_mcp.services.parts import Parts, parts_in_use

__all__ = ["judged_here", "parts_here"]


def parts_here(application: AppContext) -> Parts:
    """Return the parts in use in the project of `application`. Raises StoreError."""
    context, judged = application.project_context, judged_here(application)
    if not context.store.exists():
        return parts_in_use(context, None, are_judged=judged)
    return context.store.read(lambda reading: parts_in_use(context, reading, are_judged=judged))


def judged_here(application: AppContext) -> bool:
    """Return whether hooks on this machine judge reports, where the project is on it."""
    settings = application.settings
    return settings.keeps_files and are_judged(settings.project, os.environ)
