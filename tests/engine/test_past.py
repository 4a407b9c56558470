"""`search --as-of` finds what was known on a past day, and nothing that was not."""

import pytest
from support import CANARY, Box, stamp


@pytest.fixture
def told(box: Box) -> Box:
    box.set("deploy target", "Production runs on Heroku", now=stamp(days=-30))
    box.set("deploy target", "Production runs on Fly.io", now=stamp(days=-20))
    box.set("deploy target", "Production runs on Hetzner", now=stamp(days=-10))
    box.set("freeze", "No production releases this week", "--ttl", "7d", now=stamp(days=-25))
    box.ok("sweep", "--yes", now=stamp(days=-15))
    box.ok("episode", "add", "Moved production to Fly.io", "--task", "move", "--ttl", "5d", now=stamp(days=-20))
    return box


def keys(box: Box, query: str, day: int, *more: str) -> list[str]:
    return [h.get("key") or h["task"] for h in box.data("search", query, "--as-of", stamp(days=day), *more)]


@pytest.mark.parametrize(
    ("day", "value"),
    [(-29, "Heroku"), (-21, "Heroku"), (-20, "Fly.io"), (-11, "Fly.io"), (-10, "Hetzner"), (0, "Hetzner")],
)
def test_the_value_of_a_day_is_the_one_that_held_then(told: Box, day: int, value: str) -> None:
    [found] = [
        h
        for h in told.data("search", "production runs", "--as-of", stamp(days=day))
        if h["layer"] == "facts" and h["key"] == "deploy target"
    ]
    assert found["text"].endswith(value)


def test_before_anything_was_known_nothing_is_found(told: Box) -> None:
    assert keys(told, "production", -31) == []


def test_what_had_ended_by_then_or_came_later_is_not_found(told: Box) -> None:
    assert set(keys(told, "production", -24)) == {"deploy target", "freeze"}
    assert set(keys(told, "production", -17)) == {"deploy target", "move"}
    assert keys(told, "production", -12) == ["deploy target"]


def test_what_was_forgotten_since_stays_forgotten(told: Box) -> None:
    told.ok("forget", "deploy target", "--yes")
    assert keys(told, "production runs", -21) == ["freeze"]


def test_a_label_of_today_holds_for_the_past(told: Box) -> None:
    told.set("secret", f"{CANARY} lives in production", now=stamp(days=-9))
    told.ok("fact", "set", "secret", "--sensitivity", "restricted", now=stamp(days=-5))
    assert keys(told, CANARY, -8) == []
    assert keys(told, CANARY, -8, "--clearance", "restricted") == ["secret"]


def test_filters_and_phrases_hold_in_the_past_too(told: Box) -> None:
    assert keys(told, '"runs on fly.io"', -15) == ["deploy target"]
    assert keys(told, "production -heroku", -25) == ["freeze"]
    assert keys(told, "production", -18, "--layer", "episodes") == ["move"]


def test_the_index_of_today_is_not_touched(told: Box) -> None:
    told.ok("search", "production")
    before = {n: d for n, d in told.tree(state=True, index=True).items() if "index." in n}
    keys(told, "production", -20)
    assert {n: d for n, d in told.tree(state=True, index=True).items() if "index." in n} == before
