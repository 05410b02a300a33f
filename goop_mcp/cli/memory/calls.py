"""What the memory commands share: the database, the format of the output, the exit code."""

from collections.abc import Callable
from functools import wraps

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, TENANT, opened_application
from goop_mcp.cli.streams import complain, emit_json, show, wants_colour
from goop_mcp.memory.drafts import MemoryRefusedError
from goop_mcp.memory.repository import MemoryNotFoundError
from goop_mcp.validation.findings import Severity

__all__ = ["FORMAT", "NOT_DONE", "present", "with_store"]

NOT_DONE = 1

FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text for people, or json.",
)


class _NotDoneError(click.ClickException):
    exit_code = NOT_DONE


def with_store(command: Callable[..., int]) -> Callable[..., int]:
    """Pass the project's database to `command` as `store`, and add the options that select it."""

    @wraps(command)
    def run(
        *, project: str | None, database: str | None, project_id: str | None, **values: object
    ) -> int:
        try:
            with opened_application(
                project, database=database, project_id=project_id
            ) as application:
                code = command(store=application.store, **values)
                for warning in application.store.warnings:
                    complain(f"warning: {warning}")
        except MemoryRefusedError as error:
            # The last error is the message of the exit; those before it are printed here.
            *others, last = [
                f"{finding.message}; {finding.fix[:1].lower()}{finding.fix[1:]}"
                for finding in error.findings
                if finding.severity is Severity.ERROR
            ]
            for message in others:
                complain(message)

            raise _NotDoneError(last) from error
        except MemoryNotFoundError as error:
            raise _NotDoneError(str(error)) from error

        return code

    for option in (TENANT, PROJECT_ID, DATABASE, PROJECT):
        run = option(run)

    return run


def present(values: object, text: str, *, form: str) -> None:
    """Show `text` to people, or `values` as JSON to programs."""
    if form == "json":
        emit_json(values)
    else:
        show(text, colour=wants_colour("auto"))
