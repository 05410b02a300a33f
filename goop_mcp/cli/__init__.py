"""The command line: `goop-mcp` and `python -m goop_mcp`."""

import sys
from collections.abc import Sequence

import click

from goop_mcp import __version__
from goop_mcp.cli.completion import register_shells
from goop_mcp.cli.program import Program, run_command
from goop_mcp.cli.streams import INTERRUPTED, complain, prepare_streams
from goop_mcp.cli.usage import usage_message
from goop_mcp.errors import GoopError

__all__ = ["main", "program"]


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    __version__, "-V", "--version", prog_name="goop-mcp", message="%(prog)s %(version)s"
)
@click.pass_context
def program(context: click.Context) -> int:
    """Check the structured reports that coding agents hand back, before anyone acts on them.

    A report is the XML or JSON at the end of a reply, called its envelope.

    Without a command and with a pipe on stdin: the MCP server on stdio.
    """
    if context.invoked_subcommand is not None:
        return 0
    if sys.stdin is None or sys.stdin.isatty():
        click.echo(context.get_help())
        return 0

    return run_command("serve")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments`, by default those of the process; return the exit code.

    2 stands for usage errors and files that cannot be read, 130 for an interrupt. An error of the
    caller is one message on stderr, never a traceback.
    """
    try:
        prepare_streams()
        register_shells()
        code = program.main(arguments, prog_name="goop-mcp", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.UsageError as error:
        complain(usage_message(error, program, sys.argv[1:] if arguments is None else arguments))
        return error.exit_code
    except click.ClickException as error:
        complain(error.format_message())
        return error.exit_code
    except GoopError as error:
        complain(str(error))
        return 2

    return code if isinstance(code, int) else 0
