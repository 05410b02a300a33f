"""Ask a person at the terminal to trust what runs programs; elsewhere it takes the digest."""

import shlex
from collections.abc import Iterable, Sequence

import click

from goop_mcp.cli.streams import at_terminal, complain, show
from goop_mcp.recording.trust import whole_digest

__all__ = ["is_trusted_by_caller", "shown_words"]


def is_trusted_by_caller(
    what: str, *, runs: Sequence[str], digest: str, given: Iterable[str], shown_by: str
) -> bool:
    """Return whether the caller trusts `what` with this digest; say why where that is not so.

    `runs` are its commands, each on one line. `given` are the digests of --trust: with any, nobody
    is asked. Without one a person is asked at the terminal; elsewhere nothing is trusted.
    `shown_by` is the command that shows the digest. Raises TrustError for a part of a digest.
    """
    if digests := [whole_digest(each, shown_by=shown_by) for each in given]:
        if digest not in digests:
            complain(f"the digest of {what} is {digest}, and not {digests[0]}; nothing is trusted")
        return digest in digests

    if not at_terminal():
        complain(
            f"nobody has trusted {what}, which runs {'; '.join(runs) or 'nothing'}. Run this on a"
            f" terminal, or with --trust {digest}"
        )
        return False

    show("".join([f"{what[:1].upper()}{what[1:]} runs:\n", *(f"  {each}\n" for each in runs)]))
    if click.confirm("Do you trust it?", default=False):
        return True
    complain("nothing is trusted, and nothing was run")
    return False


def shown_words(words: Sequence[str]) -> str:
    """Return a command on one line, with what cannot be printed as escapes.

    It comes from anywhere: no line feed or control character of it may hide what it runs.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in shlex.join(words)
    )
