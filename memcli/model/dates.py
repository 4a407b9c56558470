"""Dates that a question names, in English or Russian, and how near a record's time is to them.

`asked("What did we decide in May?", now)` gives spans of time; relative words (yesterday, two weeks ago, в прошлом
месяце) count from `now`. A month or day without a year is meant in any year.
"""

import re
from datetime import datetime, timezone
from functools import cache

from memcli.base import clock
from memcli.base.value import Value, value

# Compiled on first use: most questions name no date.
_re = cache(re.compile)
_DAY = 86400.0
_EN_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_RU_MONTHS = "янв фев мар апр ма июн июл авг сен окт ноя дек".split()
_EN_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_RU_WEEKDAYS = "понедельник вторник сред четверг пятниц суббот воскресень".split()
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|январ[яьеюю]|феврал[яьею]|марта?е?у?|апрел[яьею]|ма[йяею]|июн[яьею]|июл[яьею]"
    r"|августа?е?у?|сентябр[яьею]|октябр[яьею]|ноябр[яьею]|декабр[яьею])"
)
_YEAR = r"((?:19|20)\d\d)"
_DAY_OF = r"(\d{1,2})(?:st|nd|rd|th|-?го)?"
_ISO = rf"\b{_YEAR}-(\d\d)(?:-(\d\d))?\b"
_DOTTED = rf"\b(\d\d?)\.(\d\d?)\.{_YEAR}\b"
_DAY_MONTH = rf"\b{_DAY_OF}\s+(?:of\s+)?{_MONTH}\b(?:,?\s+(?:of\s+)?{_YEAR})?"
_MONTH_DAY = rf"\b{_MONTH}\.?\s+{_DAY_OF}\b(?!\d)(?:,?\s+{_YEAR})?"
_MONTH_YEAR = rf"\b{_MONTH}\b,?\s+(?:of\s+)?{_YEAR}\b"
_MONTH_ALONE = rf"\b(?:in|during|since|by|this|last|early|late|mid|of|в|во|за|с|до)[\s-]+{_MONTH}\b"
_YEAR_ALONE = rf"\b{_YEAR}\b"
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "couple of": 2, "few": 3,
    "один": 1, "одну": 1, "два": 2, "две": 2, "три": 3, "четыре": 4, "пять": 5, "шесть": 6, "пару": 2, "": 1,
}  # fmt: skip
_UNIT_DAYS = {
    "day": 1,
    "week": 7,
    "month": 30,
    "year": 365,
    "ден": 1,
    "дн": 1,
    "недел": 7,
    "месяц": 30,
    "год": 365,
    "лет": 365,
}
_UNIT = r"(days?|weeks?|months?|years?|день|дня|дней|недел[яюиье]|месяц[аеы]?в?|месяцев|год[ау]?|лет)"
_AGO = rf"\b(\d{{1,3}}|{'|'.join(k for k in _COUNTS if k)})?\s*{_UNIT}\s+(?:ago|earlier|назад|тому)\b"
_LAST = rf"\b(last|past|previous|прошл\w+|this|current|эт\w+|текущ\w+)\s+{_UNIT}"
_LAST_WEEKDAY = rf"\b(?:on|last|this|в|во|прошл\w+)\s+({'|'.join(_EN_WEEKDAYS)}|(?:{'|'.join(_RU_WEEKDAYS)})\w*)\b"
_NAMED_DAYS = {"today": 0, "tonight": 0, "yesterday": 1, "сегодня": 0, "вчера": 1, "позавчера": 2}
_NAMED = rf"\b(day before yesterday|{'|'.join(_NAMED_DAYS)})\b"
_HINT = (
    r"\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|day|week|month|year|tonight|"
    "янв|фев|мар|апр|ма[йяею]|июн|июл|авг|сен|окт|ноя|дек|дн[яе]|день|недел|месяц|год|лет|вчера|сегодня|вторник|четверг|сред|пятниц|суббот"
)


@value
class Span(Value):
    """From `first` up to `last`, epoch seconds. yearly: the same days of any year. sharp: 0..1, less for a whole year."""

    first: float
    last: float
    yearly: bool = False
    sharp: float = 1.0


def asked(question: str, now: datetime) -> list[Span]:
    """The spans that a question names, in its words' order of precision; none for most questions.

    question: folded text (`words.fold`), as the words here are in lower case and without ё.
    """
    if not _re(_HINT).search(question):
        return []
    found: list[Span] = []
    rest = question
    for pattern, read in _READERS:
        for match in _re(pattern).finditer(rest):
            span = read(match, now)
            if span:
                found.append(span)
                # What a longer form has read is not read again by a shorter one.
                rest = rest[: match.start()] + "#" * (match.end() - match.start()) + rest[match.end() :]
    return found


def near(spans: list[Span], at: float) -> float:
    """0..1: 1 inside a span, halved for each quarter of its length (two days at least) outside of it; the best of them."""
    return max((s.sharp * _closeness(s, at) for s in spans), default=0.0)


def _closeness(span: Span, at: float) -> float:
    length = span.last - span.first
    away = 0.0 if span.first <= at < span.last else min(abs(at - span.first), abs(at - span.last))
    if span.yearly:
        year = 365.2425 * _DAY
        turn = (at - span.first) % year
        away = 0.0 if turn < length else min(turn - length, year - turn)
    return float(0.5 ** (away / max(length / 4, 2 * _DAY)))


def _span(year: int, month: int, day: int = 0, *, yearly: bool = False) -> Span | None:
    """One day, or one month with day 0; None for a day that is none."""
    try:
        first = datetime(year, month, day or 1, tzinfo=timezone.utc)
    except ValueError:
        return None
    length = 1 if day else 30 if month in (4, 6, 9, 11) else 28 if month == 2 else 31
    start = first.timestamp()
    return Span(first=start, last=start + length * _DAY, yearly=yearly)


def _month(word: str) -> int:
    for names in (_EN_MONTHS, _RU_MONTHS):
        for number, name in enumerate(names, 1):
            # "ма" stands for май and мая; март has come before.
            if word.startswith(name):
                return number
    return 0


def _month_and_day(word: str, day: str, year: str | None, now: datetime) -> Span | None:
    return _span(int(year) if year else now.year, _month(word), int(day), yearly=not year)


def _ago(match: "re.Match[str]", now: datetime) -> Span | None:
    unit = _unit(match[2])
    word = match[1] or ""
    count = int(word) if word.isdigit() else _COUNTS[word]
    middle = now.timestamp() - count * unit * _DAY
    return Span(first=middle - unit * _DAY / 2, last=middle + unit * _DAY / 2)


def _last(match: "re.Match[str]", now: datetime) -> Span | None:
    unit = _unit(match[2]) * _DAY
    this = match[1].startswith(("this", "current", "эт", "текущ"))
    end = now.timestamp()
    # "last week" is said on any day of this one, so it may be up to two units old.
    return Span(first=end - unit, last=end + _DAY) if this else Span(first=end - 2 * unit, last=end - unit / 7)


def _unit(word: str) -> int:
    return next(days for name, days in _UNIT_DAYS.items() if word.startswith(name))


def _weekday(match: "re.Match[str]", now: datetime) -> Span:
    names = _EN_WEEKDAYS if match[1].isascii() else _RU_WEEKDAYS
    number = next(i for i, name in enumerate(names) if match[1].startswith(name))
    back = (now.weekday() - number) % 7 or 7
    return _back(now, back)


def _back(now: datetime, days: int) -> Span:
    day = clock.shifted(now, days=-days).astimezone(timezone.utc)
    start = day.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    return Span(first=start, last=start + _DAY)


def _year(match: "re.Match[str]", _: datetime) -> Span:
    start = datetime(int(match[1]), 1, 1, tzinfo=timezone.utc).timestamp()
    return Span(first=start, last=start + 365 * _DAY, sharp=0.4)


# The longer forms come first.
_READERS = (
    (_ISO, lambda m, _: _span(int(m[1]), int(m[2]), int(m[3] or 0))),
    (_DOTTED, lambda m, _: _span(int(m[3]), int(m[2]), int(m[1]))),
    (_DAY_MONTH, lambda m, now: _month_and_day(m[2], m[1], m[3], now)),
    (_MONTH_YEAR, lambda m, _: _span(int(m[2]), _month(m[1]))),
    (_MONTH_DAY, lambda m, now: _month_and_day(m[1], m[2], m[3], now)),
    (_AGO, _ago),
    (_LAST, _last),
    (_NAMED, lambda m, now: _back(now, _NAMED_DAYS.get(m[1], 2))),
    (_LAST_WEEKDAY, _weekday),
    (_MONTH_ALONE, lambda m, now: _span(now.year, _month(m[1]), yearly=True)),
    (_YEAR_ALONE, _year),
)
