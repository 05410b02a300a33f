"""The log of the process on standard error: one line for each record, as text or JSON."""

import copy
import json
import logging
import re
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal

from goop_mcp.current_request import current_request

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["LogFormat", "configure_logging", "log_all_errors"]

LogFormat = Literal["text", "json"]

_OWN: Final = "goop_mcp."
_LONGEST_DETAIL: Final = 200
_LONGEST_REMARK: Final = 1_000
_LONGEST_CLEANED: Final = 20_000
# Whoever knows the id of a session can use the session, so ids must not be in logs. The SDK makes
# them from random UUIDs, with or without hyphens.
_SESSION: Final = re.compile(
    r"\b([0-9a-f]{8})-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}\b"
)


class _TextLines(logging.Formatter):
    """Writes a record with its traceback on one line, so that no text can forge another record."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s")
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """Return the record without secrets and with line breaks escaped."""
        request = current_request()
        shown = copy.copy(record)
        shown.request = (
            f" [{' '.join(filter(None, (request.id, request.caller)))}]"
            if request is not None
            else ""
        )
        shown.msg, shown.args = _message(record, self._clean), None
        if record.exc_info:
            shown.exc_text = _without_sessions(record, self.formatException(record.exc_info))
        return self._clean(super().format(shown)).replace("\r", "\\r").replace("\n", "\\n")


class _JsonLines(logging.Formatter):
    """Writes a record as a JSON object on one line; keys without a value are omitted."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__()
        self._clean = clean

    def format(self, record: logging.LogRecord) -> str:
        """Return the record without secrets."""
        request = current_request()
        exception = self.formatException(record.exc_info) if record.exc_info else None
        values = {
            "time": (
                datetime.fromtimestamp(record.created, UTC)
                .isoformat(timespec="milliseconds")
                .replace("+00:00", "Z")
            ),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record, self._clean),
            "request_id": request.id if request is not None else None,
            "tool": request.tool if request is not None else None,
            "caller": request.caller if request is not None else None,
            "exception": (
                self._clean(_without_sessions(record, exception)) if exception is not None else None
            ),
        }

        return json.dumps({key: value for key, value in values.items() if value is not None})


def _message(record: logging.LogRecord, clean: Callable[[str], str]) -> str:
    """Return the message of a record without secrets.

    Messages of libraries are truncated, those for debugging most: they repeat what clients sent, of
    any length.
    """
    whole = record.getMessage()
    # Cleaning takes time proportional to the length and runs on the event loop.
    if not record.name.startswith(_OWN) and len(whole) > _LONGEST_CLEANED:
        whole = f"{whole[:_LONGEST_CLEANED]}… ({len(whole):,} characters)"

    text = _without_sessions(record, clean(whole))
    most = _LONGEST_REMARK if record.levelno > logging.DEBUG else _LONGEST_DETAIL
    if record.name.startswith(_OWN) or len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text):,} characters)"


def _without_sessions(record: logging.LogRecord, text: str) -> str:
    """Return the text of a library with each session id cut to its first 8 characters.

    Records of goop-mcp hold no session ids, but request ids, which may look like them.
    """
    return text if record.name.startswith(_OWN) else _SESSION.sub(r"\1…", text)


def log_all_errors() -> None:
    """Log what Python would print itself: warnings and tracebacks of uncaught exceptions."""
    logger = logging.getLogger("goop_mcp.process")

    def uncaught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            logger.critical("the program ended with an error", exc_info=(kind, error, trace))

    def uncaught_in_thread(about: threading.ExceptHookArgs) -> None:
        if about.exc_value is not None and not isinstance(about.exc_value, SystemExit):
            logger.error("a thread ended with an error", exc_info=about.exc_value)

    def ignored(about: "UnraisableHookArgs") -> None:
        logger.error("an error could not be raised: %s", about.err_msg, exc_info=about.exc_value)

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, uncaught_in_thread, ignored
    logging.captureWarnings(capture=True)


_FORMATS = {"text": _TextLines, "json": _JsonLines}


def configure_logging(level: str, *, clean: Callable[[str], str], form: LogFormat = "text") -> None:
    """Log all records from `level` upwards to stderr, one line for each.

    `clean` removes secrets from a text. Call it before the MCP SDK is used, which otherwise
    installs its own handler.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATS[form](clean))
    logging.basicConfig(level=level, handlers=[handler], force=True)
