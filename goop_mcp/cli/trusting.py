"""Ask a person at the terminal to trust what runs programs; elsewhere it takes the digest."""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

import click

from goop_mcp.cli.options import WrongCallError
from goop_mcp.cli.streams import at_terminal, complain, show
from goop_mcp.recording.trust import whole_digest

__all__ = ["are_trusted_by_caller", "is_trusted_by_caller", "shown_words"]

_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")


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


def are_trusted_by_caller(digest: str, given: str | None) -> bool:
    """Return whether the caller trusts the settings with this digest, which were just shown.

    `given` is the digest of --digest, None to ask a person at the terminal. Says why where they are
    not trusted. Raises WrongCallError for a part of a digest.
    """
    if given is not None and _DIGEST.fullmatch(given) is None:
        raise WrongCallError(
            f"--digest is {given[:64]!r}; expected all 64 hexadecimal digits of the digest"
        )
    if given is not None and given.lower() != digest:
        complain(f"the digest of the settings is {digest}, and not {given.lower()}")
        return False
    if given is None and not at_terminal():
        complain(
            "a person has to read these lines: run the command on a terminal, or with --digest"
            f" {digest}"
        )
        return False
    if given is None and not click.confirm(
        "Do you trust these settings as they are now?", default=False
    ):
        complain("nothing was trusted")
        return False

    return True


def shown_words(words: Sequence[str]) -> str:
    """Return a command on one line, with what cannot be printed as escapes.

    It comes from anywhere: no line feed or control character of it may hide what it runs.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in shlex.join(words)
    )
