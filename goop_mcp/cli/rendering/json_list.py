"""Render verdicts as one JSON document: a list of `{"file", …verdict}`."""

from goop_mcp.cli.json_text import json_text
from goop_mcp.services.check_files import FileVerdicts

__all__ = ["render_json"]


def render_json(outcome: FileVerdicts) -> str:
    """Return the verdicts in the order of the files; files that could not be read are left out."""
    verdicts = [{"file": checked.file, **checked.verdict.to_dict()} for checked in outcome.checked]
    return json_text(verdicts)
