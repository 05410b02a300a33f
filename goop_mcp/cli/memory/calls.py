"""How a memory command is called and answers: the project's database, the form of the answer, the exit code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, opened_application
from goop_mcp.cli.streams import complain, emit_json, show, wants_colour
from goop_mcp.memory.drafts import MemoryRefusedError
from goop_mcp.memory.keeping import MemoryNotFoundError
from goop_mcp.store.interface import Store
from goop_mcp.validation.findings import Finding, Severity

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
    """Give `command` the project's database as `store`, and the options that say which one is meant."""

    @wraps(command)
    def run(
        *, project: str | None, database: str | None, project_id: str | None, **values: object
    ) -> int:
        with _opened(project, database, project_id) as store:
            return command(store=store, **values)

    for option in (PROJECT_ID, DATABASE, PROJECT):
        run = option(run)

    return run


def present(values: object, text: str, *, form: str) -> None:
    """Show `text` to people, or `values` as JSON to programs."""
    if form == "json":
        emit_json(values)
    else:
        show(text, colour=wants_colour("auto"))


@contextmanager
def _opened(project: str | None, database: str | None, project_id: str | None) -> Iterator[Store]:
    """Yield the project's database; a memory that is not there or refused ends the program with 1."""
    try:
        with opened_application(project, database=database, project_id=project_id) as application:
            yield application.store
            for warning in application.store.warnings:
                complain(f"warning: {warning}")
    except MemoryRefusedError as error:
        *others, last = [_told(each) for each in error.findings if each.severity is Severity.ERROR]
        for fault in others:
            complain(fault)

        raise _NotDoneError(last) from error
    except MemoryNotFoundError as error:
        raise _NotDoneError(str(error)) from error


def _told(finding: Finding) -> str:
    return f"{finding.message}; {finding.fix[:1].lower()}{finding.fix[1:]}"
