"""Choose the protocol whose envelope counts, if a text holds several (D-01, D-03, D-05)."""

import re
from collections.abc import Callable, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from goop_mcp.validation.envelope_rules import AMBIGUOUS, HOST_ERROR, LINE_ENDS
from goop_mcp.validation.escaping import ZERO_WIDTH
from goop_mcp.validation.extraction import Extraction
from goop_mcp.validation.families import Family
from goop_mcp.validation.hosts import after_envelope, may_be_wrapped
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem

__all__ = ["Selection", "select"]


class Selection(Struct):
    """A family and what it found in a text.

    `others` are envelopes of other protocols that were not chosen. `ambiguous` is set if none of
    them can be chosen; `extraction` then has nothing chosen.
    """

    family: Family
    extraction: Extraction
    others: tuple["Selection", ...] = ()
    ambiguous: Problem | None = None


def select(text: str, families: Sequence[Family], limits: Limits) -> Selection:
    """Return the family whose envelope is in `text`.

    Of several protocols, the envelope that ends the text is chosen; an envelope inside another one
    is content. The older and looser forms are searched only if nothing else is found.
    """
    detected = len(families) > 1
    # Hosts wrap replies; what they added is removed once, for all protocols.
    source, remarks, by_host = _as_read(text)
    lower = source.read.lower() if detected else ""
    # An invisible character within a name hides it from this test, and the families repair it.
    if not lower.isascii():
        lower = ZERO_WIDTH.sub("", lower)

    selections: list[Selection] = []
    for family in families:
        if detected:
            # A loop takes a third of the time of any(), for each reply and protocol.
            for stem, search in _mark_searches(family.marks):
                if stem in lower and (search is None or search(lower) is not None):
                    break
            else:
                continue

        found = _remarked(family.find(source, limits), remarks, by_host=by_host)
        selections.append(Selection(family, found))
    live = [
        selection
        for selection in selections
        if (chosen := selection.extraction.chosen) is not None
        and (not detected or selection.family.is_marked(chosen))
    ]
    # An envelope in the text of another one is what that one is about.
    if len(live) > 1:
        live = [
            selection for selection in live if not any(_holds(other, selection) for other in live)
        ]
    if len(live) > 1:
        return _that_ends(live)
    if live:
        # The last word counts: whoever is cut off in a second envelope meant to replace the first
        # (D-16).
        cut_off = _cut_off_after(live[0], selections)
        return live[0] if cut_off is None else replace(cut_off, others=(live[0],))

    # Candidates of the usual form stay listed next to what the older forms find.
    unchosen = {
        selection.family.name: replace(selection.extraction, chosen=None)
        for selection in selections
    }
    nothing = Extraction(source=source, blocks=(), chosen=None)
    older = _older(
        source,
        [Selection(family, unchosen.get(family.name, nothing)) for family in families],
        limits,
    )
    if (
        older.extraction.chosen is not None
        and (cut_off := _cut_off_after(older, selections)) is not None
    ):
        return replace(cut_off, others=(older,))

    return replace(older, extraction=_remarked(older.extraction, remarks, by_host=by_host))


def _that_ends(live: Sequence[Selection]) -> Selection:
    """Return the selection whose envelope ends the text, with the others; else an ambiguous one."""
    # The envelope that ends the text is the answer, and the others are what it is about. If
    # several end it, or none does, choosing one would be a guess.
    ending = [
        selection
        for selection in live
        if (chosen := selection.extraction.chosen) is not None
        and after_envelope(selection.extraction.source.read, chosen.end) is None
    ]
    if len(ending) == 1:
        others = tuple(selection for selection in live if selection is not ending[0])
        return replace(ending[0], others=others)

    names = [selection.family.name for selection in live]
    problem = AMBIGUOUS.problem(
        f"envelopes of {len(names)} protocols ({', '.join(names)}), and none of them ends the text;"
        " expected one",
        offset=min(_span(selection)[0] for selection in live),
        found=", ".join(names),
    )
    extraction = replace(live[0].extraction, chosen=None)

    return Selection(live[0].family, extraction, others=tuple(live[1:]), ambiguous=problem)


@cache
def _mark_searches(
    marks: tuple[str, ...],
) -> tuple[tuple[str, Callable[[str], object] | None], ...]:
    """Return texts, each with a search: a text has one of `marks` if it has one and that finds it.

    Marks that differ only in their last character, such as the quotation mark after a key, share a
    search, because each one goes through the whole of a text that does not have it. What they
    share is looked for first: `in` skips ahead by its length, which no pattern does.
    """
    lasts: dict[str, list[str]] = {}
    for mark in marks:
        lasts.setdefault(mark[:-1], []).append(mark[-1])

    return tuple(
        (stem, re.compile(f"{re.escape(stem)}[{re.escape(''.join(last))}]").search)
        if len(last) > 1
        else (f"{stem}{last[0]}", None)
        for stem, last in lasts.items()
    )


def _as_read(text: str) -> tuple[SourceText, tuple[Problem, ...], bool]:
    """Return the text to search for envelopes, its repairs, and whether a host had wrapped it."""
    if may_be_wrapped(text):
        # Few replies need this module.
        from goop_mcp.validation.host_json import take_out_of_json  # noqa: PLC0415

        if (taken := take_out_of_json(text)) is not None:
            return taken.source, _host_error(taken.error), True

    if "\n" not in text and "\r" in text.strip():
        problem = LINE_ENDS.problem(
            "the lines end with a carriage return alone; expected line feeds",
            offset=0,
            before="\\r",
            after="\\n",
        )
        return SourceText(text, text.replace("\r", "\n")), (problem,), False

    return SourceText(text), (), False


def _host_error(error: str | None) -> tuple[Problem, ...]:
    if error is None:
        return ()
    message = f"the host says that the run ended with {error}; expected a run that ended well"
    return (HOST_ERROR.problem(message, offset=0, found=error),)


def _remarked(found: Extraction, remarks: tuple[Problem, ...], *, by_host: bool) -> Extraction:
    if found.chosen is None or not (remarks or by_host):
        return found
    return replace(
        found,
        remarks=(*remarks, *found.remarks),
        host_transformed=found.host_transformed or by_host,
    )


def _older(source: SourceText, selections: Sequence[Selection], limits: Limits) -> Selection:
    for selection in selections:
        if (older := selection.family.find_legacy(source.read, limits)) is not None:
            blocks = (*selection.extraction.blocks, *older.blocks)
            own = source if older.source.read == source.read else older.source
            return Selection(selection.family, replace(older, blocks=blocks, source=own))

    # An envelope that was only drafted in thinking explains the reply better than none.
    return next(
        (selection for selection in selections if selection.extraction.blocks), selections[0]
    )


def _cut_off_after(whole: Selection, selections: Sequence[Selection]) -> Selection | None:
    """Return the selection of another protocol that was cut off after `whole`.

    It is the agent's last word (D-16).
    """
    for selection in selections:
        block = selection.extraction.chosen
        # Of the same protocol, its own search has chosen the last one already.
        own = selection.family is whole.family
        if (
            block is not None
            and not block.complete
            and not own
            and _span(selection)[0] >= _span(whole)[1]
        ):
            return selection

    return None


def _span(selection: Selection) -> tuple[int, int]:
    """Return start and end of the chosen block in the text as given."""
    chosen, source = selection.extraction.chosen, selection.extraction.source
    return (0, 0) if chosen is None else (source.origin(chosen.start), source.origin(chosen.end))


def _holds(outer: Selection, inner: Selection) -> bool:
    if outer is inner or outer.extraction.chosen is None or not outer.extraction.chosen.complete:
        return False
    (start, end), (inner_start, inner_end) = _span(outer), _span(inner)
    return start <= inner_start and inner_end <= end and (start, end) != (inner_start, inner_end)
