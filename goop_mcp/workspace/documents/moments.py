"""Times as people and programs write them into documents, made comparable."""

from datetime import UTC, datetime, time

__all__ = ["comparable_moment"]

_DATE_ONLY = len("2026-01-15")


def comparable_moment(text: str, *, of_day: time = time.max) -> str | None:
    """Return a time as comparable text in UTC; a date alone means `of_day`, by default its end, anything else None."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if len(text.strip()) == _DATE_ONLY:
            moment = datetime.combine(moment.date(), of_day)

        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter for what is in the year 0 or 10000 of UTC
        return None

    return moment.isoformat(timespec="milliseconds")
