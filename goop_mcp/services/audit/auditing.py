"""audit(): read transcripts one after the other, and count what their claims are worth."""

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple
from zlib import crc32

from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.readers import claude_code, codex, last_messages, opencode
from goop_mcp.evidence.readers.blocks import objects
from goop_mcp.evidence.readers.last_messages import LastMessage
from goop_mcp.messages.quoting import line
from goop_mcp.services.audit.judging import judge_message
from goop_mcp.services.audit.opencode_storage import read_session
from goop_mcp.services.audit.places import Found
from goop_mcp.services.audit.results import Audit, AuditLimits, Case
from goop_mcp.services.audit.sources import Source
from goop_mcp.services.transcripts import TranscriptError, open_transcript
from goop_mcp.validation.findings import counted_noun

__all__ = ["audit"]

_MOST_KNOWN = 200_000
_SHOWN = 200


class _LeftOutError(Exception):
    """Raised for a transcript that is not read; the text is the reason."""


class _Opened(NamedTuple):
    """The content of a transcript: bytes, or a session of OpenCode."""

    host: str
    content: bytes = b""
    session: Mapping[str, object] | None = None

    def messages(self) -> Iterator[LastMessage]:
        if self.session is not None:
            return last_messages.in_opencode(self.session)
        find = last_messages.in_codex if self.host == "codex" else last_messages.in_claude_code
        return find(self.content)

    def activity(self, message: LastMessage) -> AgentActivity:
        """Return what the agent did until it sent `message`."""
        if self.session is not None:
            until = objects(self.session.get("messages"))[: message.end]
            return opencode.read_opencode(
                {**self.session, "messages": list(until)}, report=message.report
            )
        read = codex.read_codex if self.host == "codex" else claude_code.read_claude_code
        return read(self.content[: message.end], report=message.report, at_end=False)


def audit(
    found: Found,
    *,
    project: str,
    sources: Iterable[Source] | None = None,
    limits: AuditLimits | None = None,
) -> Audit:
    """Return what the claims in the transcripts are worth, within `limits`. Changes nothing.

    `project` is the folder whose transcripts these are, "" for those of all. `sources` are those of
    `found` for a caller that watches how far this is. An interrupt ends it, with what was read.
    """
    auditor = _Auditor(found, project, limits or AuditLimits())
    return auditor.run(found.sources if sources is None else sources)


class _Auditor:
    def __init__(self, found: Found, project: str, limits: AuditLimits) -> None:
        self._limits = limits
        self._result = Audit(project, found.looked_in)
        self._read = 0
        self._found, self._done = len(found.sources), 0
        self._give_up = time.monotonic() + limits.seconds
        # Hosts copy the messages of a session that goes on into the file of the next one.
        self._known: set[tuple[str, str, int]] = set()
        if not found.complete:
            self._result.left_out["files of folders with too many files"] += 1

    def run(self, sources: Iterable[Source]) -> Audit:
        try:
            self._read_all(sources)
        except KeyboardInterrupt:
            # What was read until then is worth as much as before.
            self._result.interrupted = True
            reason = "transcripts not read to the end before the interrupt"
            self._result.left_out[reason] = self._found - self._done

        return self._result

    def _read_all(self, sources: Iterable[Source]) -> None:
        for number, source in enumerate(sources):
            if number >= self._limits.transcripts:
                self._leave_out(f"after {counted_noun(self._limits.transcripts, 'transcript')}")
            elif time.monotonic() > self._give_up:
                self._leave_out(f"after {self._limits.seconds:g} s")
            elif self._read + source.size > self._limits.all_bytes:
                self._leave_out(f"beyond {_size(self._limits.all_bytes)} in all")
            else:
                try:
                    self._audit(source)
                except _LeftOutError as error:
                    self._leave_out(str(error))
            self._done += 1

    def _leave_out(self, reason: str) -> None:
        self._result.left_out[f"transcripts {reason}"] += 1

    def _audit(self, source: Source) -> None:
        opened = self._open(source)
        if opened.host == "opencode" and "messages" not in (opened.session or {}):
            # A folder may hold any other JSON.
            return
        messages = list(opened.messages())
        if not messages:
            raise _LeftOutError("without a last message of an agent")

        self._result.transcripts[opened.host] += 1
        again = 0
        judged = 0
        # From the end: of too many, the last ones say most.
        for message in reversed(messages):
            if not self._is_new(opened.host, message):
                continue
            if judged >= self._limits.messages or again > self._limits.again_bytes:
                self._result.left_out["messages of very long transcripts"] += 1
                continue

            self._result.messages += 1
            claims = judge_message(message.text, partial(opened.activity, message))
            if claims:
                judged += 1
                again += message.end if opened.session is None else source.size
            for claim in claims:
                self._result.outcomes[claim.outcome] += 1
                if claim.outcome == "unreadable":
                    self._result.add_unreadable(claim.detail)
                elif claim.outcome == "contradicted":
                    place = line(source.path, longest=4 * _SHOWN)
                    session = source.session and line(source.session, longest=_SHOWN)
                    self._result.add(
                        Case(opened.host, place, session, message.line, claim, source.changed)
                    )

    def _open(self, source: Source) -> _Opened:
        if source.problem:
            raise _LeftOutError(f"of OpenCode: {line(source.problem, longest=_SHOWN)}")
        if source.size > self._limits.file_bytes:
            raise _LeftOutError(f"of more than {_size(self._limits.file_bytes)}")

        self._read += source.size
        try:
            if source.host == "opencode":
                session = read_session(source, most=self._limits.file_bytes)
                return _Opened("opencode", session=session)
            transcript = open_transcript(source.path)
        except TranscriptError:
            raise _LeftOutError("in no known form, or that cannot be read") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise _LeftOutError(f"that cannot be read: {line(reason, longest=_SHOWN)}") from None

        if not transcript.from_start:
            raise _LeftOutError(f"of more than {_size(self._limits.file_bytes)}")
        if transcript.host == "opencode":
            return _Opened("opencode", session=opencode.session_of_export(transcript.content))
        return _Opened(transcript.host, transcript.content)

    def _is_new(self, host: str, message: LastMessage) -> bool:
        if not message.time:
            return True
        key = (host, message.time, crc32(message.text.encode("utf-8", "surrogatepass")))
        if key in self._known:
            return False
        if len(self._known) < _MOST_KNOWN:
            self._known.add(key)
        return True


def _size(count: int) -> str:
    return f"{count / 1024**3:g} GB" if count >= 1024**3 else f"{count / 1024**2:g} MB"
