"""An audit as text for people."""

from collections.abc import Iterator

from goop_mcp.services.audit.results import Audit, Case

__all__ = ["audit_page", "nothing_found", "rate_line"]

_ABOUT = "contradicted by the result of a command or of a write"


def audit_page(audit: Audit) -> str:
    """Return the rate, the counts and the worst cases, ending with a line feed."""
    if not audit.transcripts:
        return "".join(f"{each}\n" for each in (nothing_found(audit), *_left_out(audit)))

    lines = [rate_line(audit), ""]
    lines += [f"  {name:13} {count:6,}  {about}".rstrip() for name, count, about in counts(audit)]
    hosts = ", ".join(f"{count:,} {host}" for host, count in sorted(audit.transcripts.items()))
    read = audit.transcripts.total()
    messages = f"{audit.messages:,} last {_noun('message', audit.messages)}"
    lines += ["", f"Read: {read:,} {_noun('transcript', read)} ({hosts}), {messages}."]
    lines += _unreadable(audit)
    lines += _left_out(audit)
    if audit.worst:
        lines += ["", "The worst:" if len(audit.worst) > 1 else "The case:"]
        for number, case in enumerate(audit.worst, 1):
            lines += ["", *_case(number, case)]

    return "\n".join(lines) + "\n"


def rate_line(audit: Audit) -> str:
    """Return the rate in one sentence."""
    percent = audit.percent
    if percent is None:
        return "No claim about a check or a file has a history that can be read: there is no rate."
    of = f"{audit.outcomes['contradicted']:,} of {audit.readable:,}"
    return f"{percent:.1f} % of the claims with a readable history are {_ABOUT} ({of})."


def counts(audit: Audit) -> Iterator[tuple[str, int, str]]:
    """Yield each outcome, how many claims have it, and what it means."""
    yield (
        "contradicted",
        audit.outcomes["contradicted"],
        "a result in the transcript says otherwise",
    )
    yield "supported", audit.outcomes["supported"], "a result in the transcript shows it"
    yield (
        "unsupported",
        audit.outcomes["unsupported"],
        "no result shows it, which does not make it untrue",
    )
    yield (
        "unreadable",
        audit.outcomes["unreadable"],
        "what the agent did is not known completely; not in the rate",
    )


def nothing_found(audit: Audit) -> str:
    """Return where transcripts were looked for in vain, and what to do."""
    places = ", ".join(audit.looked_in)
    if audit.left_out:
        return f"no transcript could be read: looked in {places}"
    if not audit.project:
        return f"no transcripts found: looked in {places}"
    return (
        f"no transcripts found for this project: looked in {places} for sessions in"
        f" {audit.project}; name another folder, or use --all-projects"
    )


def _noun(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _unreadable(audit: Audit) -> Iterator[str]:
    for reason, count in audit.reasons():
        yield f"Unreadable: {count:,} because {reason}."


def _left_out(audit: Audit) -> Iterator[str]:
    for reason, count in sorted(audit.left_out.items()):
        one = reason.replace("transcripts ", "transcript ", 1) if count == 1 else reason
        yield f"Left out: {count:,} {one}."


def _case(number: int, case: Case) -> Iterator[str]:
    judged = case.judged
    yield f"{number}. {case.place}"
    yield f"   claim:   {judged.claim}"
    source = f" ({judged.source})" if judged.source else ""
    yield f"   result:  {judged.detail}{source}"
    if judged.command:
        yield f"   command: {judged.command}"
