"""`goop-mcp trust`: let run, or let count, what a person has read."""

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import PROJECT, WrongCallError, project_folder
from goop_mcp.cli.streams import show
from goop_mcp.cli.trust_git import trust_git
from goop_mcp.cli.trust_settings import forget_settings, trust_settings
from goop_mcp.recording.trust import trusted_files

__all__ = ["trust"]


@click.command(short_help="Trust settings that weaken, or programs that a repository names.")
@click.argument("file", metavar="[FILE]", shell_complete=file_names, required=False)
@click.option(
    "--git",
    is_flag=True,
    help="The programs that the repository's own git configuration names, such as filters.",
)
@click.option(
    "--digest",
    metavar="DIGEST",
    help="The whole digest of what is trusted, 64 hexadecimal digits; without a terminal.",
)
@click.option("--list", "lists", is_flag=True, help="List all that you trust, with its digest.")
@click.option("--forget", is_flag=True, help="Trust the settings of the project no longer.")
@PROJECT
def trust(
    file: str | None,
    *,
    git: bool,
    digest: str | None,
    lists: bool,
    forget: bool,
    project: str | None,
) -> int:
    """Trust the settings of a project as they are now: the tables check, hooks and protocols.

    While agents work, settings that weaken how their reports are judged count only as they stood
    when the session began, or once a person trusted them. FILE is the goop-mcp.toml, pyproject.toml
    or .goopspec/hooks.json of the project. What weakens is shown, and you are asked on the
    terminal. Everything else in these files may change.

    git runs filters while it compares files, and .git/config may name any program as one. So a
    recorded run is bound to the files only where the configuration names none, or a person trusts
    exactly these settings with --git. Filters of your own configuration (git config --global) need
    no trust.

    Exit code: 0 trusted, 2 a usage error, 3 a person has to trust them.
    """
    if (lists or forget) and (digest is not None or (lists and forget)):
        raise WrongCallError("expected one of --digest, --list and --forget")
    if git and (file is not None or lists or forget):
        raise WrongCallError("expected --git alone, or with --digest and --project")
    if git:
        return trust_git(project_folder(project), digest)
    if lists:
        show("".join(f"{each}  {name}\n" for name, each in trusted_files().items()))
        return 0
    if forget:
        return forget_settings(file, project)

    return trust_settings(file, project, digest)
