"""Whether the words of a report are known: the same report, another one, or one of a closed round.

The same words are the same report while nothing has answered them. After an answer they are another
report, as are those of a closed round that an agent says again (D-110).
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from goop_mcp import services
from goop_mcp.redaction import redact_structure
from goop_mcp.services.open_questions import question_key
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import StoredReport
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.report_index import Records, blocker_of, names_of, work_of

__all__ = ["Known", "ReportWords", "named_work", "words_of"]

_BLOCKED: Final = "BLOCKED"
_COMPLETE: Final = "COMPLETE"
# A commit, the digest of a file or a recorded run: what was made in one round only. Numbers, words
# and the parts of a session id are none.
_MADE: Final = re.compile(
    r"(?<![\w-])(?:r-[0-9a-f]{12}|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64})(?![\w-])"
)
# Only what takes the work up again: "see report 7" and "report 7 is still open" end nothing.
_TAKEN_UP: Final = re.compile(
    r"(?:\A\W*|\b(?:continu|answer|clos|complet|finish|resolv|unblock)\w{1,4} )"
    r"(report #?\d{1,18})(?:\s*[:.,;]|\s*\Z|\s+with\b)",
    re.IGNORECASE,
)


class Known(NamedTuple):
    """What is known of the words of a report.

    `key` is the idempotency key of a new report with them, "" where nothing was looked up. `same`
    is the report that they repeat, `earlier` one of a closed round with the same words; None
    without one.
    """

    key: str = ""
    same: StoredReport | None = None
    earlier: StoredReport | None = None

    @property
    def mark(self) -> str | None:
        """What a report is marked with that says what one of a closed round reported, else None."""
        if self.earlier is None:
            return None
        return f"same words as report {self.earlier.id} of round {self.earlier.round}"


@dataclass(frozen=True, slots=True)
class ReportWords:
    """An accepted envelope as it is stored: JSON, its digest, and the number of removed secrets."""

    text: str = field(repr=False)
    digest: str
    redactions: int

    def find(self, reading: ReadTransaction, *, was_seen: bool) -> Known:
        """Return what is known of these words in the present round.

        `was_seen` states that an agent was seen to say them in this round. Raises
        ReportArgumentError for a reply of a closed round.
        """
        number = reading.round().number
        base = key = self._key(number)
        while (same := reading.report_by_key(key)) is not None:
            since = _answered_since(reading, same)
            if since is None:
                return Known(key, same=same)
            key = f"{base}:after:{since}"

        earlier = self._earlier(reading, number) if key == base else None
        if earlier is not None:
            _refuse_old(reading, earlier, was_seen=was_seen)

        return Known(key, earlier=earlier)

    def _key(self, round: int) -> str:
        """Return the idempotency key: the same envelope in another round is another report."""
        return f"report:{self.digest}" if round == 1 else f"report:{round}:{self.digest}"

    def _earlier(self, reading: ReadTransaction, number: int) -> StoredReport | None:
        rounds = range(number - 1, 0, -1)
        found = (reading.report_by_key(self._key(each)) for each in rounds)
        return next((each for each in found if each is not None), None)


def named_work(known: str | None, summary: str | None, records: Records) -> str | None:
    """Return the work of another report that one without a task goes on with, None without one.

    It is that which the caller knows, or which the summary takes up again; and only that of a
    report whose blocker is the last word on it: any other needs no end.
    """
    found = {known} if known else set(map(normal_task_id, _TAKEN_UP.findall(summary or "")))
    named = found & records.blocked.keys()
    return named.pop() if len(named) == len(found) == 1 else None


def words_of(verdict: Verdict, occurrence: str) -> ReportWords | None:
    """Return the words of an accepted reply, None for any other; `occurrence` names this time."""
    if not verdict.accepted or verdict.envelope is None or verdict.protocol is None:
        return None

    # The digest is of the content without secrets and formatting, so that the same report in
    # another layout is a duplicate.
    values, redactions = redact_structure(verdict.envelope.to_dict())
    text = json.dumps(values, sort_keys=True)
    digest = hashlib.sha256(
        json.dumps([verdict.protocol, values], sort_keys=True).encode()
    ).hexdigest()

    return ReportWords(text, f"{digest}:{occurrence}" if occurrence else digest, redactions)


def _answered_since(reading: ReadTransaction, report: StoredReport) -> int | None:
    """Return the revision since which the same words as in `report` are something new (D-110).

    That of the first decision on its work after it, or of the report by which work that is not done
    yet went on without its blocker; None for a report that is COMPLETE, or still the last word.
    """
    if report.status == _COMPLETE:
        return None
    work = work_of(report)
    names = names_of(work, report.agent)
    since = [
        each.revision
        for each in reading.confirmations(round=report.round)
        if each.action == "decide" and question_key(each.subject_key) in names
    ]
    if blocker_of(report, json.loads(report.envelope)) is not None:
        later = reading.reports(after_revision=report.revision, round=report.round)
        of_work = [each for each in later if work_of(each) == work]
        if of_work and of_work[0].status != _COMPLETE:
            since += [each.revision for each in of_work]
    return min((each for each in since if each > report.revision), default=None)


def _refuse_old(reading: ReadTransaction, earlier: StoredReport, *, was_seen: bool) -> None:
    """Refuse a reply that cannot be of this round, as one given by its number is refused.

    An agent may be blocked by the same as before, and says so in the same words.
    """
    if earlier.status == _BLOCKED:
        return
    if _MADE.search(earlier.envelope) is not None:
        why = "and names what was made in that round"
    elif was_seen or _has_begun(reading):
        return
    else:
        why = "and nothing has run in this round yet"
    raise services.recorded_reports.earlier_round(earlier, reading.round(), why=why)


def _has_begun(reading: ReadTransaction) -> bool:
    """Whether anything ran in the present round: a report was recorded, or a check."""
    round = reading.round()
    if reading.reports(round=round.number, include_retired=True, limit=1):
        return True
    return any(each.created_at > (round.opened_at or "") for each in reading.kept_runs(limit=1))
