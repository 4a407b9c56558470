"""Dates in a question, in two languages, and how near a record is to them."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.model import dates, words

NOW = datetime(2026, 11, 30, 9, tzinfo=timezone.utc)  # a Monday


def near(question: str, day: str) -> float:
    at = datetime.fromisoformat(day).replace(tzinfo=timezone.utc, hour=12)
    return dates.near(dates.asked(words.fold(question), NOW), at.timestamp())


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("What did we do on 7 May 2023?", "2023-05-07", "2023-07-07"),
        ("on May 7th, 2023", "2023-05-07", "2022-05-07"),
        ("in May 2023", "2023-05-20", "2023-07-20"),
        ("what happened in May?", "2021-05-20", "2021-08-20"),
        ("in early December", "2025-12-02", "2025-09-02"),
        ("2023-05-07", "2023-05-07", "2023-06-07"),
        ("07.05.2023", "2023-05-07", "2023-07-05"),
        ("yesterday", "2026-11-29", "2026-11-01"),
        ("the day before yesterday", "2026-11-28", "2026-11-10"),
        ("two weeks ago", "2026-11-16", "2026-10-01"),
        ("last month", "2026-10-15", "2026-06-15"),
        ("last Friday", "2026-11-27", "2026-11-10"),
        ("this week", "2026-11-28", "2026-10-28"),
        ("что решили вчера", "2026-11-29", "2026-11-01"),
        ("встреча 5 мая", "2024-05-05", "2024-06-25"),
        ("отпуск в мае 2023 года", "2023-05-20", "2023-09-20"),
        ("в марте", "2026-03-10", "2026-07-10"),
        ("в прошлом месяце", "2026-10-15", "2026-05-15"),
        ("три недели назад", "2026-11-09", "2026-09-09"),
        ("в прошлый вторник", "2026-11-24", "2026-10-24"),
    ],
)
def test_a_record_of_the_day_is_nearer(question: str, inside: str, outside: str) -> None:
    assert near(question, inside) == 1.0
    assert near(question, outside) < 0.3


def test_a_year_alone_says_less_than_a_month() -> None:
    assert 0 < near("in 2023", "2023-05-20") < near("in May 2023", "2023-05-20")


@pytest.mark.parametrize(
    "question",
    [
        "May I go?",
        "who maintains the database?",
        "what is the mayor's name?",
        "30 февраля",
        "майя",
        "decide on 3 options",
        "",
    ],
)
def test_what_is_no_date_is_none(question: str) -> None:
    assert dates.asked(words.fold(question), NOW) == []


@given(st.text(max_size=80), st.datetimes(timezones=st.just(timezone.utc)))
def test_no_question_and_no_time_is_too_odd(question: str, now: datetime) -> None:
    for text in (
        question,
        f"on 31 december {question}",
        f"999 years ago {question}",
        f"{question} yesterday last year",
    ):
        spans = dates.asked(words.fold(text), now)
        assert 0.0 <= dates.near(spans, (NOW - timedelta(days=400)).timestamp()) <= 1.0


@pytest.mark.parametrize("question", ["yesterday", "last Friday", "999 years ago", "in May", "on 31 December"])
def test_the_first_and_the_last_instant_are_no_trouble(question: str) -> None:
    for now in (datetime.min, datetime.max):
        assert dates.asked(words.fold(question), now.replace(tzinfo=timezone.utc))
