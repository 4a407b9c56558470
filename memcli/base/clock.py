"""Time: instants as RFC 3339 text, times to live as minutes, ages as words. Only `now` looks at the system clock."""

import re
from datetime import UTC, datetime, timedelta

from memcli.base import errors

MAX_TTL_MINUTES = 52_596_000

# All of them are compiled on first use: most commands are given neither an instant nor a time to live.
_INSTANT = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)([Zz]|[+-][0-9]{2}:?[0-5][0-9])?)?"
)
_N = r"([0-9]+(?:[.,][0-9]+)?)"
# Both spell weeks, days, hours, minutes and seconds in this order.
_SHORT = rf"(?:{_N}w)?(?:{_N}d)?(?:{_N}h)?(?:{_N}m)?(?:{_N}s)?"
_ISO = rf"P(?:{_N}W)?(?:{_N}D)?(?:T(?:{_N}H)?(?:{_N}M)?(?:{_N}S)?)?"
_SECONDS = (604_800, 86_400, 3_600, 60, 1)
_BY_CALENDAR = r"P[^T]*[0-9][YM].*|[0-9.,]+(?:M|mo|y|Y).*"
_BILLION = 10**9

_LIMIT = f"{MAX_TTL_MINUTES:,} minutes (100 years)"
_TTL = "a time to live"
_SPAN = "a span of time"
_HINTS = {
    _TTL: f"give minutes, or 90m 36h 30d 2w 1d12h, or P30D PT2H; 0 means for ever; at most {_LIMIT}",
    _SPAN: "give 90m 36h 30d 2w 1d12h, or P30D PT2H; or name the day, such as 2026-03-01",
}


def parse(text: str) -> datetime:
    """The instant of an RFC 3339 text, in UTC, cut to milliseconds; a bare date is its midnight in UTC.

    Seconds may be left out, and a space may stand for the `T`. Raises UsageError for anything else, for a time of day
    without `Z` or offset, and for instants outside the years 1 to 9999.
    """
    found = re.fullmatch(_INSTANT, text)
    if found is None:
        raise errors.UsageError("this is not a time", hint="give RFC 3339, such as 2026-03-01T09:30:00Z or 2026-03-01")
    day, time, zone = found.groups()
    if time and not zone:
        raise errors.UsageError("this time has no zone", hint="add Z for UTC, or an offset such as +02:00")
    try:
        # Twelve characters end with the milliseconds.
        t = datetime.fromisoformat(f"{day}T{time[:12] if time else '00:00'}{(zone or 'Z').upper()}")
        return t.astimezone(UTC)
    except (ValueError, OverflowError):
        raise errors.UsageError("there is no such time", hint="the years 1 to 9999 can be told, in UTC") from None


def show(t: datetime) -> str:
    """An aware instant as RFC 3339 text in UTC: `2026-03-01T09:30:00Z`, with `.123` only where milliseconds are not 0.

    Raises UsageError for a naive time, and for one that UTC puts outside the years 1 to 9999.
    """
    if t.tzinfo is None:
        raise errors.UsageError("this time has no zone")
    try:
        t = t.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise errors.UsageError("there is no such time in UTC") from None
    return t.isoformat(timespec="milliseconds" if t.microsecond >= 1000 else "seconds") + "Z"


def wall_ns() -> int:
    """The system's time in nanoseconds since 1970, as file systems stamp their files with; no record carries it."""
    import time

    return time.time_ns()


def now(text: str | None = None) -> datetime:
    """The given instant (as `parse` reads it), else the system clock in whole seconds. Raises UsageError."""
    return datetime.now(UTC).replace(microsecond=0) if text is None else parse(text)


def parse_ttl(text: str) -> int:
    """A time to live in minutes; 0 means for ever.

    Takes a bare number of minutes; `90m 36h 30d 2w` and their like, joined too (`1d12h`); ISO 8601 durations
    (`P1DT12H`) without months and years; `for ever`. Raises UsageError for anything else, for parts of a minute and
    for more than 100 years.
    """
    return 0 if text in ("for ever", "forever") else _minutes(text, _TTL)


def parse_span(text: str) -> int:
    """A span of time in minutes, written as a time to live is. Raises UsageError as `parse_ttl` does, in its own words."""
    return _minutes(text, _SPAN)


def _minutes(text: str, what: str) -> int:
    hint = _HINTS[what]
    if re.fullmatch(r"-[0-9P].*", text):
        raise errors.UsageError(f"{what} cannot be negative", hint=hint)
    if re.fullmatch(_BY_CALENDAR, text):
        raise errors.UsageError("months and years have no fixed length", hint="say it in days or weeks: 30d, 52w")
    total = sum(_billionths(number, what) * seconds for number, seconds in _parts(text, what))
    minutes, rest = divmod(total, 60 * _BILLION)
    if minutes > MAX_TTL_MINUTES:
        raise errors.UsageError(f"{what} is at most {_LIMIT}", hint=hint)
    if rest:
        raise errors.UsageError(f"{what} is a whole number of minutes", hint=hint)
    return minutes


def _parts(text: str, what: str) -> list[tuple[str, int]]:
    """The numbers in a time to live or a span, each with the seconds of its unit."""
    if re.fullmatch(_N, text):
        return [(text, 60)]
    found = re.fullmatch(_ISO if text[:1] == "P" else _SHORT, text)
    if found is None or text in ("", "P") or text.endswith("T"):
        raise errors.UsageError(f"this is not {what}", hint=_HINTS[what])
    return [(number, seconds) for number, seconds in zip(found.groups(), _SECONDS, strict=True) if number]


def _billionths(number: str, what: str) -> int:
    # Whole numbers, because floats would make 0.1h + 0.2h a part of a minute.
    whole, _, part = number.replace(",", ".").partition(".")
    whole, part = whole.lstrip("0"), part.rstrip("0")
    if len(whole) > 20:
        raise errors.UsageError(f"{what} is at most {_LIMIT}", hint=_HINTS[what])
    if len(part) > 9:
        raise errors.UsageError(f"{what} is a whole number of minutes", hint=_HINTS[what])
    return int(whole + part.ljust(9, "0"))


def show_ttl(minutes: int) -> str:
    """A time to live in the largest unit that fits whole: `30d`, `36h`, `90m`, or `for ever` for 0."""
    if not minutes:
        return "for ever"
    if minutes % 1440 == 0:
        return f"{minutes // 1440}d"
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def add_minutes(t: datetime, minutes: int) -> datetime | None:
    """`t` and so many minutes more; None where that is beyond the years 1 to 9999, which means never.

    A time to live of 0 (for ever) is the caller's to know: 0 minutes more is `t` itself.
    """
    try:
        return t + timedelta(minutes=minutes)
    except OverflowError:
        return None


def shifted(t: datetime, *, days: float = 0, hours: float = 0, seconds: float = 0) -> datetime:
    """`t` so much later (earlier below 0), to the microsecond; the first or the last instant of the years 1 to 9999 where
    that is beyond them, so that "the last day" can be asked at any time."""
    try:
        return t + timedelta(days=days, hours=hours, seconds=seconds)
    except OverflowError:
        end = datetime.max if days * 86_400 + hours * 3_600 + seconds > 0 else datetime.min
        return end.replace(tzinfo=UTC)


def since_epoch(seconds: float) -> datetime:
    """The instant so many seconds after 1970 began, in UTC; saturates as `shifted` does (a file may carry any time)."""
    return shifted(datetime(1970, 1, 1, tzinfo=UTC), seconds=seconds)


def age(t: datetime, now: datetime) -> str:
    """How long ago `t` was, for people: "just now", "5 minutes", "3 hours", "12 days", "4 months", "2 years"."""
    if t > now:
        return "in the future"
    seconds = (now - t) // timedelta(seconds=1)
    days = seconds // 86_400
    # A month is the twelfth part of 365 days here.
    for count, unit in (
        (days // 365, "year"),
        (days * 12 // 365, "month"),
        (days, "day"),
        (seconds // 3600, "hour"),
        (seconds // 60, "minute"),
    ):
        if count:
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "just now"
