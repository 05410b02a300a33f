"""Code written by hand: `json.loads` and a model; a pattern that cuts an envelope out, and lxml."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress

from lxml import etree
from pydantic import ValidationError

from benchmarks.peers.contender import FLOOR, Contender, Talk
from benchmarks.peers.payload import Reply, arguments_of

__all__ = ["CONTENDERS"]


_ENVELOPE = re.compile(r"<goop_report.*</goop_report>", re.DOTALL)
_STATUSES = ("COMPLETE", "PARTIAL", "BLOCKED", "CHECKPOINT")


def _check(replies: Sequence[str]) -> Talk:
    envelopes = [arguments_of(reply) for reply in replies]

    def check() -> None:
        for envelope in envelopes:
            with suppress(ValidationError):
                Reply.model_validate(json.loads(envelope))

    return check


def _read(text: str, *, recover: bool) -> str | None:
    match = _ENVELOPE.search(text)
    envelope = (
        match[0]
        if match
        else text[text.find("<goop_report") :]
        if recover and "<goop_report" in text
        else ""
    )
    try:
        root = etree.fromstring(
            envelope.encode(), etree.XMLParser(recover=recover, resolve_entities=False)
        )
    except etree.XMLSyntaxError:
        return None

    if root is None or root.findtext("status") not in _STATUSES:
        return None
    return root.findtext("summary")


CONTENDERS = {
    "json": [Contender(name=FLOOR, package="pydantic", talk=_check)],
    "xml": [
        Contender(
            name="lxml after a pattern",
            package="lxml",
            read=lambda text: _read(text, recover=False),
        ),
        Contender(
            name="lxml, recovering", package="lxml", read=lambda text: _read(text, recover=True)
        ),
    ],
}
