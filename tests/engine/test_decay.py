"""Confidence and fading are functions of elapsed time alone: a month without a sweep is thirty daily sweeps."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Box, at, stamp

from memcli.engine import sweep
from memcli.model import policy, records
from memcli.store import facts

BASE = records.Fact(
    id="0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d",
    key="k",
    text="v",
    source=records.Source(id="anna", kind="user"),
    confidence=0.9,
    created_at=at(),
    updated_at=at(),
)
UNIT = st.floats(0, 1)
DAYS = st.integers(0, 4000)


def opinion(run: str, day: int = 0, source: str = "user:sam") -> records.Opinion:
    return records.Opinion(source=source, run=run, at=at(days=day))


def test_confidence_halves_in_180_days() -> None:
    seen = {d: policy.effective_confidence(BASE, at(days=d)) for d in (0, 90, 180, 360)}
    assert seen == pytest.approx({0: 0.9, 90: 0.9 * 0.5**0.5, 180: 0.45, 360: 0.225})


def test_a_time_before_the_write_does_not_raise_confidence() -> None:
    assert policy.effective_confidence(BASE, at(days=-500)) == 0.9


def test_age_counts_from_the_last_confirmation() -> None:
    fact = BASE.replace(confirmed_at=at(days=180))
    assert policy.effective_confidence(fact, at(days=360)) == pytest.approx(0.45)
    assert policy.effective_confidence(BASE.replace(confirmed_at=at(days=-9)), at(days=180)) == pytest.approx(0.45)


def test_confirmations_and_denials_count_once_a_run_whatever_the_sources_name() -> None:
    base = BASE.replace(confidence=0.5)
    said = (opinion("a"), opinion("a", source="user:mei"), opinion("b"), opinion("", 1), opinion("", 1), opinion("", 2))
    assert policy.effective_confidence(base.replace(confirmations=said), at()) == pytest.approx(0.5 + 4 * 0.05)
    assert policy.effective_confidence(base.replace(denials=said), at()) == pytest.approx(0.5 - 4 * 0.1)
    many = tuple(opinion(str(n)) for n in range(99))
    assert policy.effective_confidence(base.replace(confirmations=many), at()) == 1.0
    assert policy.effective_confidence(base.replace(denials=many), at()) == 0.0


def test_what_only_a_file_said_of_itself_is_medium_at_most_and_never_confirmed_up() -> None:
    fact = BASE.replace(confidence=1.0, source=records.Source(id="anna", kind="user", via="import"))
    many = tuple(opinion(str(n)) for n in range(99))
    assert policy.effective_confidence(fact, at()) == 0.6
    assert policy.effective_confidence(fact.replace(confirmations=many), at()) == 0.6
    assert policy.effective_confidence(fact.replace(denials=many[:2]), at()) == pytest.approx(0.4)


@given(confidence=UNIT, importance=st.floats(0.8, 1), days=DAYS)
def test_what_is_important_never_fades(confidence: float, importance: float, days: int) -> None:
    fact = BASE.replace(confidence=confidence, importance=importance)
    assert policy.effective_confidence(fact, at(days=days)) == confidence
    assert not policy.faded(fact, at(days=days))


@given(confidence=UNIT, importance=st.floats(0, 0.79), first=DAYS, more=DAYS)
def test_confidence_only_falls_with_time_and_faded_stays_faded(
    confidence: float, importance: float, first: int, more: int
) -> None:
    fact = BASE.replace(confidence=confidence, importance=importance)
    now, later = at(days=first), at(days=first + more)
    assert policy.effective_confidence(fact, later) <= policy.effective_confidence(fact, now)
    assert policy.faded(fact, later) >= policy.faded(fact, now)


@given(confidence=UNIT, first=DAYS, more=DAYS)
def test_decay_over_two_spans_is_decay_over_both(confidence: float, first: int, more: int) -> None:
    whole = policy.decay(at(), at(days=first + more), 180)
    assert policy.decay(at(), at(days=first), 180) * policy.decay(
        at(days=first), at(days=first + more), 180
    ) == pytest.approx(whole)


def test_what_was_written_low_has_not_faded_until_time_has_passed() -> None:
    low = BASE.replace(confidence=0.05)
    assert not policy.faded(low, at())
    assert policy.faded(low, at(days=1))
    assert not policy.faded(BASE, at(days=570))
    assert policy.faded(BASE, at(days=571))  # 0.9 x 0.5^(571/180) < 0.1


def test_a_half_life_of_zero_turns_decay_off(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[decay]\nfact_half_life_days = 0\n")
    box.set("k", "v", "--confidence", "0.2")
    later = stamp(days=36_000)
    assert box.data("fact", "get", "k", now=later)["effective_confidence"] == 0.2
    assert box.ok("sweep", now=later).out == ""


def test_the_greatest_age_ends_facts_to_the_second(box: Box) -> None:
    toml = box.root / "memcli.toml"
    toml.write_text(toml.read_text() + "\n[decay]\nmax_fact_age_days = 30\n")
    box.set("k", "v", "--importance", "1")
    assert box.run("fact", "get", "k", now=stamp(days=30, seconds=-1)).code == 0
    assert box.run("fact", "get", "k", now=stamp(days=30)).code == 3


def test_confidence_is_never_written_down_by_time(box: Box) -> None:
    box.set("k", "v", "--confidence", "0.9")
    before = box.tree()
    for day in range(0, 400, 40):
        box.ok("sweep", now=stamp(days=day))
        box.ok("context", now=stamp(days=day))
        box.ok("fact", "get", "k", now=stamp(days=day))
    assert box.tree() == before


# The month.

FACTS = st.lists(
    st.fixed_dictionaries(
        {
            "confidence": UNIT,
            "importance": UNIT,
            "ttl_minutes": st.sampled_from([0, 1, 60, 1440, 20_000, 43_200, 10**9]),
            "age": st.integers(0, 700),
        }
    ),
    min_size=1,
    max_size=12,
)


def fill(box: Box, specs: list[dict[str, Any]]) -> None:
    made = []
    for number, spec in enumerate(specs):
        when = at(days=-spec["age"])
        given = {n: spec[n] for n in ("confidence", "importance", "ttl_minutes")}
        made.append(
            BASE.replace(
                id=f"0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c{number:02x}", key=f"k{number}", updated_at=when, **given
            )
        )
    with box.store.writing() as w:
        facts.put_many(w, [(f, None) for f in made], at())


def swept(box: Box, now: datetime) -> sweep.Report:
    return sweep.apply(box.store, sweep.plan(box.store, now))


def standing(box: Box, now: datetime) -> dict[str, tuple[str, float]]:
    return {f.key: (f.id, policy.effective_confidence(f, now)) for f in facts.every(box.store)}


def archived(box: Box) -> dict[str, str]:
    rows = [f for n in (box.root / "archive").glob("*.jsonl") for f in facts.former(box.store, n.stem)]
    return {f.fact.id: f.reason for f in rows}


@settings(max_examples=8)
@given(specs=FACTS)
def test_a_month_without_a_sweep_is_thirty_daily_sweeps(
    tmp_path_factory: pytest.TempPathFactory, specs: list[dict[str, Any]]
) -> None:
    root: Path = tmp_path_factory.mktemp("month")
    lazy = Box(root / "lazy")
    lazy.ok("init")
    fill(lazy, specs)
    shutil.copytree(lazy.root, root / "daily")
    daily = Box(root / "daily")
    for day in range(1, 31):
        swept(daily, at(days=day))
    end = at(days=30)
    # Readers see the same before anybody has swept ...
    assert lazy.data("fact", "list", now=stamp(days=30)) == daily.data("fact", "list", now=stamp(days=30))
    swept(lazy, end)
    # ... and the files are the same afterwards.
    assert standing(lazy, end) == standing(daily, end)
    assert archived(lazy).keys() == archived(daily).keys()
    assert swept(lazy, end).done == swept(daily, end).done == ()


@settings(max_examples=20)
@given(specs=FACTS, hours=st.integers(0, 24 * 800))
def test_sweep_after_sweep_is_sweep(
    tmp_path_factory: pytest.TempPathFactory, specs: list[dict[str, Any]], hours: int
) -> None:
    box = Box(tmp_path_factory.mktemp("once") / "store")
    box.ok("init")
    fill(box, specs)
    now = at() + timedelta(hours=hours)
    live = {f.key for f in facts.every(box.store) if policy.current(f, now, box.store.settings)}
    report = swept(box, now)
    once = box.touched()
    assert {f.key for f in facts.every(box.store)} == live
    assert len(report.done) == len(specs) - len(live)
    again = swept(box, now)
    assert (again.done, again.skipped, again.settled) == ((), (), ())
    assert box.touched() == once
