"""Make the times comparable that people and programs write into documents."""

from datetime import UTC, datetime, time

__all__ = ["comparable_moment"]

_DATE_ONLY = len("2026-01-15")


def comparable_moment(text: str, *, of_day: time = time.max) -> str | None:
    """Return a time as comparable text in UTC, None for any other text.

    A date without a time means the time `of_day`, by default the end of the day.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        if len(text.strip()) == _DATE_ONLY:
            moment = datetime.combine(moment.date(), of_day)

        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter for a time in the year 0 or 10000 of UTC
        return None

    return moment.isoformat(timespec="milliseconds")
