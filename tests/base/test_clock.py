"""Instants, times to live and ages: any text gives an answer or a UsageError."""

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memcli.base import clock, errors

MOMENT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T09:30:00Z", MOMENT),
        ("2026-03-01t09:30:00z", MOMENT),
        ("2026-03-01 09:30:00Z", MOMENT),
        ("2026-03-01T09:30Z", MOMENT),
        ("2026-03-01T12:30:00+03:00", MOMENT),
        ("2026-03-01T00:30:00-0900", MOMENT),
        ("2026-02-28T23:30:00-10:00", MOMENT),
        ("2026-03-01T09:30:00-00:00", MOMENT),
        ("2026-03-01T09:30:00.000Z", MOMENT),
        ("2026-03-01T09:30:00.5Z", MOMENT + timedelta(milliseconds=500)),
        ("2026-03-01T09:30:00.123999999999999Z", MOMENT + timedelta(milliseconds=123)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_parse(text, expected):
    t = clock.parse(text)
    assert t == expected
    assert t.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            "now",
            "2026",
            "2026-03",
            "20260301",
            "2026-W09-7",
            "2026-060",
            "09:30:00Z",
            "2026-03-01Z",
            "2026-03-01T",
        ],
        *["2026-03-01T09Z", "2026-03-01T24:00:00Z", "2026-03-01T09:60:00Z", "2026-03-01T09:30:60Z", "2026-3-1"],
        *["2026-02-29", "2026-13-01", "2026-00-01", "0000-01-01", "10000-01-01", "-001-01-01"],
        *["2026-03-01T09:30:00+24:00", "2026-03-01T09:30:00+01:60", "2026-03-01T09:30:00+01", "2026-03-01T09:30:00ZZ"],
        *["2026-03-01T09:30:00.Z", "2026-03-01T09:30:00,5Z", "2026-03-01T09:30:00 Z", "2026-03-01\n", " 2026-03-01"],
        *["２０２６-03-01", "2026-03-01_09:30:00Z", "2026-03-01\u200909:30:00Z", "2026-03-01T09:30:00\x00Z"],
        *["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9" * 10_000],
    ],
)
def test_no_time(text):
    with pytest.raises(errors.UsageError) as bad:
        clock.parse(text)
    assert bad.value.hint
    assert not text or text not in bad.value.message


@pytest.mark.parametrize("text", ["2026-03-01T09:30:00", "2026-03-01 09:30"])
def test_a_time_without_zone_is_told_to_add_one(text):
    with pytest.raises(errors.UsageError) as bad:
        clock.parse(text)
    assert "add Z" in bad.value.hint


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (MOMENT, "2026-03-01T09:30:00Z"),
        (MOMENT.astimezone(timezone(timedelta(hours=5, minutes=45))), "2026-03-01T09:30:00Z"),
        (MOMENT.replace(microsecond=999), "2026-03-01T09:30:00Z"),
        (MOMENT.replace(microsecond=7_999), "2026-03-01T09:30:00.007Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_show(t, text):
    assert clock.show(t) == text


@pytest.mark.parametrize("t", [datetime(2026, 3, 1), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))])
def test_what_cannot_be_shown(t):
    with pytest.raises(errors.UsageError):
        clock.show(t)


@given(MOMENTS)
@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC))
def test_parse_reads_what_show_writes(t):
    assert clock.parse(clock.show(t)) == t


@given(MOMENTS, st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)))
def test_an_offset_changes_nothing(t, offset):
    zone = timezone(timedelta(minutes=offset // timedelta(minutes=1)))
    try:
        local = t.astimezone(zone)
    except OverflowError:
        return
    assert clock.parse(local.isoformat()) == t


def test_now_is_what_was_given_or_whole_seconds():
    assert clock.now("2026-03-01T09:30:00Z") == MOMENT
    t = clock.now()
    assert t.tzinfo is UTC
    assert t.microsecond == 0
    assert abs(datetime.now(UTC) - t) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        *[("0", 0), ("0d", 0), ("P0D", 0), ("PT0S", 0), ("for ever", 0), ("1", 1), ("007", 7), ("43200", 43_200)],
        *[("90m", 90), ("36h", 2160), ("30d", 43_200), ("2w", 20_160), ("1d12h", 2160), ("1w1d1h1m60s", 11_582)],
        *[
            ("1.5h", 90),
            ("0,5d", 720),
            ("90.0", 90),
            ("0.1h", 6),
            ("0.00001w", None),
            ("120s", 2),
            ("52596000", 52_596_000),
        ],
        *[("P30D", 43_200), ("PT2H", 120), ("P1DT12H", 2160), ("P2W", 20_160), ("PT90M", 90), ("PT1.5H", 90)],
        *[("P1W1DT1H1M60S", 11_582), ("0.7h1.1h", None), ("36525d", 52_596_000), ("0" * 40 + "1", 1)],
    ],
)
def test_parse_ttl(text, minutes):
    if minutes is None:
        with pytest.raises(errors.UsageError):
            clock.parse_ttl(text)
    else:
        assert clock.parse_ttl(text) == minutes


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            "P",
            "PT",
            "P1DT",
            "T2H",
            "d",
            "1x",
            "12h1d",
            "1d 12h",
            " 1d",
            "1d\n",
            "1h1h",
            "1e3",
            "0x10",
            "1_000",
            "+5",
        ],
        *["nan", "NaN", "inf", "1.", ".5", "1..5", "٣", "１", "1D", "30s", "90s", "0.5", "0.5m", "1.001h", "PT30S"],
        *[
            "0.33333333333333333333h",
            "-1",
            "-0.5",
            "-1d",
            "-P1D",
            "52596001",
            "36525.1d",
            "1000000000w",
            "9" * 30,
            "9" * 9999,
        ],
        *["1" + "0" * 400 + "m", "0." + "3" * 400, "P99999999999999999999D"],
    ],
)
def test_no_ttl_and_the_limit_is_named(text):
    with pytest.raises(errors.UsageError) as bad:
        clock.parse_ttl(text)
    assert "52,596,000" in bad.value.hint
    assert len(text) < 3 or text not in bad.value.message


@pytest.mark.parametrize(
    "text", ["P1M", "P1Y", "P1Y2M3D", "P1.5M", "P0M", "P1MT2H", "1M", "3mo", "1y", "2years", "6months"]
)
def test_months_and_years_are_refused_with_a_reason(text):
    with pytest.raises(errors.UsageError, match="no fixed length") as bad:
        clock.parse_ttl(text)
    assert "days" in bad.value.hint


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "for ever"),
        (1, "1m"),
        (90, "90m"),
        (2160, "36h"),
        (1440, "1d"),
        (43_200, "30d"),
        (20_160, "14d"),
        (1441, "1441m"),
    ],
)
def test_show_ttl(minutes, text):
    assert clock.show_ttl(minutes) == text


@given(st.integers(0, clock.MAX_TTL_MINUTES))
def test_parse_ttl_reads_what_show_ttl_writes(minutes):
    assert clock.parse_ttl(clock.show_ttl(minutes)) == minutes


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from("wdhm")), min_size=1, unique_by=lambda p: p[1]))
def test_both_spellings_say_the_same(parts):
    sizes = {"w": 10_080, "d": 1440, "h": 60, "m": 1}
    parts.sort(key=lambda p: -sizes[p[1]])
    short = "".join(f"{n}{u}" for n, u in parts)
    days = "".join(f"{n}{u.upper()}" for n, u in parts if u in "wd")
    hours = "".join(f"{n}{u.upper()}" for n, u in parts if u in "hm")
    total = sum(n * sizes[u] for n, u in parts)
    assert clock.parse_ttl(short) == clock.parse_ttl(f"P{days}{'T' if hours else ''}{hours}") == total


@given(
    st.one_of(
        st.text(), st.text(alphabet="0123456789-+.,:TtZz WwDdHhMmSsPY\n"), st.from_regex(r"P?[0-9.]{1,6}[wdhmWDHMSTY]*")
    )
)
@example("0001-01-01T00:00:00+14:00")
@example("9999-12-31T23:59:59-14:00")
def test_any_text_gives_an_answer_or_a_usage_error(text):
    for read in (clock.parse, clock.now, clock.parse_ttl):
        try:
            found = read(text)
        except errors.UsageError:
            continue
        assert isinstance(found, int | datetime)


@given(MOMENTS, st.integers())
@example(MOMENT, 10**12)
@example(MOMENT, 10**400)
@example(MOMENT, -(10**400))
@example(datetime(9999, 12, 31, tzinfo=UTC), 52_596_000)
def test_add_minutes_is_never_rather_than_an_overflow(t, minutes):
    later = clock.add_minutes(t, minutes)
    if later is None:
        assert minutes != 0
    else:
        assert later - t == timedelta(minutes=minutes)


@given(MOMENTS, st.floats(-1e12, 1e12))
@example(MOMENT, 1e300)
@example(MOMENT, -(10**400))
def test_a_shift_ends_with_the_years_that_can_be_told(t, days):
    found = clock.shifted(t, days=days)
    assert found.utcoffset() == timedelta(0)
    try:
        assert found == t + timedelta(days=days)
    except OverflowError:
        assert found.replace(tzinfo=None) == (datetime.max if days > 0 else datetime.min)
    assert clock.since_epoch(-1e30).year == 1


def test_a_ttl_ends_to_the_second():
    assert clock.add_minutes(MOMENT, 30) == datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
    assert clock.add_minutes(datetime(2024, 2, 28, 23, 59, tzinfo=UTC), 1) == datetime(2024, 2, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("past", "words"),
    [
        (timedelta(seconds=-1), "in the future"),
        (timedelta(0), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute"),
        (timedelta(minutes=5), "5 minutes"),
        (timedelta(minutes=59, seconds=59), "59 minutes"),
        (timedelta(hours=1), "1 hour"),
        (timedelta(hours=3), "3 hours"),
        (timedelta(hours=24), "1 day"),
        (timedelta(days=12), "12 days"),
        (timedelta(days=30), "30 days"),
        (timedelta(days=31), "1 month"),
        (timedelta(days=125), "4 months"),
        (timedelta(days=364), "11 months"),
        (timedelta(days=365), "1 year"),
        (timedelta(days=800), "2 years"),
    ],
)
def test_age(past, words):
    assert clock.age(MOMENT - past, MOMENT) == words


@given(MOMENTS, MOMENTS)
def test_any_age_is_a_few_words(t, now):
    assert re.fullmatch(r"in the future|just now|1 \w+[^s]|[0-9]+ \w+s", clock.age(t, now))


def test_it_loads_only_datetime_and_re():
    probe = "import re, datetime, sys; from memcli.base import errors; a = set(sys.modules);"
    probe += "from memcli.base import clock; clock.now(); clock.parse_ttl('P1DT2H'); print(*set(sys.modules) - a)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "memcli.base.clock"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("999999d", "a span of time is at most 52,596,000 minutes (100 years)"),
        ("9" * 30 + "d", "a span of time is at most 52,596,000 minutes (100 years)"),
        ("-5m", "a span of time cannot be negative"),
        ("1d5", "this is not a span of time"),
        ("0.001s", "a span of time is a whole number of minutes"),
        ("P1M", "months and years have no fixed length"),
        ("for ever", "this is not a span of time"),
    ],
)
def test_a_span_of_time_is_not_called_a_time_to_live(text, says):
    with pytest.raises(errors.UsageError) as raised:
        clock.parse_span(text)
    assert raised.value.message == says
    assert "live" not in f"{raised.value.message} {raised.value.hint}"
    assert clock.parse_span("36h") == 2160
