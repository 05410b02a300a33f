"""How rounds follow each other, and how what belongs to them is checked; for every engine."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from goop_mcp.errors import StoreError
from goop_mcp.store.older_copies import OlderCopy
from goop_mcp.store.records import (
    MOST_BYTES_OF_KEPT_REPLIES,
    MOST_BYTES_OF_KEPT_RUNS,
    Confirmation,
    ConfirmationAnswer,
    Event,
    NewConfirmation,
    NewEvent,
    NewKeptReply,
    NewKeptRun,
    Round,
    RoundOutcome,
)
from goop_mcp.store.storable import refuse_unstorable
from goop_mcp.validation.safe_json import JsonValue, load_object

__all__ = ["RoundWriter", "counters_text", "read_counters", "refuse_long_reply"]

# Bytes; a task has about ten counters.
_MOST_COUNTERS: Final = 64 * 1024
# Levels of JSON. Deeper text is refused when written, so that reading it never recurses far.
_DEPTH: Final = 8


class RoundWriter(ABC):
    """The changes of rounds and confirmations, the same for every engine.

    An engine derives its transaction from its reading one and from this class, in this order, and
    adds how a row is stored. `older_copy` is what this transaction has found to be missing.
    """

    older_copy: OlderCopy | None = None

    @abstractmethod
    def now(self) -> str:
        """Return when this transaction began."""

    @abstractmethod
    def revision(self) -> int:
        """Return the revision of the last change."""

    @abstractmethod
    def add_event(self, new: NewEvent) -> Event:
        """Append an event."""

    @abstractmethod
    def _continue_from(self, revision: int) -> None:
        """Count on from `revision`, as if this transaction had none yet."""

    @abstractmethod
    def _reports_changed(self) -> None:
        """Note that what is known of reports has to be read again."""

    @abstractmethod
    def round(self) -> Round:
        """Return the newest round."""

    @abstractmethod
    def report_count(self, *, round: int | None = None) -> int:
        """Return how many envelopes are recorded."""

    @abstractmethod
    def confirmation(self, id: int) -> Confirmation | None:
        """Return the request with `id`, None if there is none."""

    @abstractmethod
    def next_revision(self) -> int:
        """Return this transaction's revision."""

    @abstractmethod
    def _set_round(self, round: Round) -> Round:
        """Store `round` in place of the one with its number."""

    @abstractmethod
    def _remove_round(self, number: int) -> None:
        """Remove the row of a round."""

    @abstractmethod
    def _remove_kept_replies(self) -> None:
        """Remove every kept reply."""

    @abstractmethod
    def _open_confirmation(self, new: NewConfirmation) -> Confirmation | None:
        """Return the open request of the same round, action and subject, None if there is none."""

    @abstractmethod
    def _add_confirmation(self, new: NewConfirmation) -> Confirmation:
        """Store a request."""

    @abstractmethod
    def _answer(self, answered: Confirmation) -> Confirmation:
        """Store the answer to a request."""

    def continue_after(self, used: int) -> None:
        """Give no revision up to `used`; note it if the database has not got so far."""
        had = self.revision()
        if used <= had:
            return

        self.older_copy = OlderCopy(had=had, used=used)
        self._continue_from(used)
        self.add_event(self.older_copy.event(now=self.now()))
        # Readers keep what they know of reports as long as the revision rises.
        self._reports_changed()
        # The change itself has a revision of its own.
        self._continue_from(self.revision())

    def open_round(self, *, name: str | None, opened_at: str) -> Round:
        """Open the round after the newest one. Raises StoreError while that is open."""
        newest = self.round()
        if newest.is_open:
            raise StoreError(
                f"round {newest.number} is open; close it before the next one is opened"
            )

        return self._set_round(
            # Numbers rise by one and are never used twice: reports name their round by number.
            Round(
                number=newest.number + 1,
                name=name,
                opened_at=opened_at,
                first_revision=self.next_revision(),
            )
        )

    def close_round(
        self, *, outcome: RoundOutcome, closed_at: str, plan_sha256: str | None
    ) -> Round:
        """Close the newest round. Raises StoreError when it is closed already."""
        newest = self.round()
        if not newest.is_open:
            raise StoreError(f"round {newest.number} is closed already, as {newest.outcome}")

        # A reply is kept so that it can be recorded in its round, which nothing can after this.
        self._remove_kept_replies()

        return self._set_round(
            replace(
                newest,
                outcome=outcome,
                closed_at=closed_at,
                closed_revision=self.next_revision(),
                plan_sha256=plan_sha256,
            )
        )

    def reopen_round(self) -> Round:
        """Open the newest closed round again, and remove an open one without reports after it.

        Raises StoreError when the newest round is open and cannot be removed.
        """
        newest = self.round()
        if newest.is_open and newest.number > 1:
            # Reports keep the number of their round: without its row they would belong to none.
            if self.report_count(round=newest.number):
                raise StoreError(f"round {newest.number} has reports; the one before stays closed")
            self._remove_round(newest.number)
            newest = self.round()
        if newest.is_open:
            raise StoreError(f"round {newest.number} is open; only a closed one is opened again")

        return self._set_round(
            replace(newest, outcome=None, closed_at=None, closed_revision=None, plan_sha256=None)
        )

    def add_confirmation(self, new: NewConfirmation) -> Confirmation:
        """Add a request for a confirmation, or return the open one that it repeats."""
        refuse_unstorable(new)
        known = self._open_confirmation(new)
        if known is not None and (known.subject, known.arguments) == (new.subject, new.arguments):
            return known
        # The same question about something else: an answer to the old one would now confirm what
        # its author never saw.
        if known is not None:
            self._answer(replace(known, status="outdated", answered_at=new.asked_at))

        return self._add_confirmation(new)

    def answer_confirmation(
        self,
        id: int,
        *,
        status: ConfirmationAnswer,
        via: str | None,
        comment: str | None,
        answered_at: str,
    ) -> Confirmation:
        """Store the answer to an open request. Raises StoreError unless it waits for one."""
        found = self.confirmation(id)
        if found is None:
            raise StoreError(f"there is no request {id} for a confirmation")
        if found.status != "open":
            raise StoreError(f"request {id} for a confirmation was answered before: {found.status}")

        return self._answer(
            replace(found, status=status, via=via, comment=comment, answered_at=answered_at)
        )


def refuse_long_reply(new: NewKeptReply) -> None:
    """Raise StoreError for a reply that has more bytes than all kept ones may have together."""
    # Without this the newest reply would be the first to be removed, and all others with it.
    if len(new.text.encode()) > MOST_BYTES_OF_KEPT_REPLIES:
        raise StoreError(
            f"the reply of {new.agent} has more than {MOST_BYTES_OF_KEPT_REPLIES:,} bytes, the most"
            " that is kept"
        )


def refuse_long_run(new: NewKeptRun) -> None:
    """Raise StoreError for a run that has more bytes than all kept ones may have together."""
    if len(new.content.encode()) > MOST_BYTES_OF_KEPT_RUNS:
        raise StoreError(
            f"the run {new.run} has more than {MOST_BYTES_OF_KEPT_RUNS:,} bytes, the most that is"
            " kept"
        )


def counters_text(values: Mapping[str, JsonValue]) -> str:
    """Return counters as the JSON that is stored.

    Raises StoreError for more than 64 KiB, and for what `read_counters` would not accept.
    """
    text = json.dumps(dict(values), sort_keys=True)
    if len(text) > _MOST_COUNTERS:
        raise StoreError(
            f"counters of a task take {len(text)} bytes of JSON; expected at most {_MOST_COUNTERS}"
        )
    if read_counters(text) is None:
        raise StoreError(f"counters of a task are not valid JSON of at most {_DEPTH} levels")

    return text


def read_counters(text: str) -> Mapping[str, JsonValue] | None:
    """Return the counters in stored JSON, None for any other text."""
    return load_object(text, depth=_DEPTH)
