"""Forgetting, restoring and purging: everything comes back from the trash, and what is purged is nowhere."""

import json
from typing import Any

import pytest
from support import CANARY, Box, at, stamp

from memcli.model import labels


def history(box: Box, key: str) -> list[tuple[str, str]]:
    return [(r["reason"], r["text"]) for r in box.data("fact", "history", key, "--reveal")]


def residue(box: Box, word: str = CANARY) -> list[str]:
    """Every file of the store, state included, that still holds the word, in its name or its bytes."""
    return [name for name, data in box.tree(state=True).items() if word in name or word.encode() in data]


# Through the trash and back.


@pytest.mark.parametrize("by", ["key", "id"])
@pytest.mark.parametrize("command", [("forget",), ("fact", "forget")], ids=" ".join)
def test_a_forgotten_fact_is_gone_and_comes_back_as_it_was(box: Box, by: str, command: tuple[str, ...]) -> None:
    box.set("k", "old")
    made = box.set("k", "v", "--tag", "t", "--sensitivity", "internal", "--source", "user:anna", "--ttl", "90d")["id"]
    before = {n: d for n, d in box.tree().items() if n.startswith("facts")}
    ref = "k" if by == "key" else made
    assert box.data(*command, ref, "--yes")["ids"] == [made]
    assert box.run("fact", "get", "k").code == 3
    assert box.ok("fact", "list").out == ""
    assert [n for n in box.tree() if n.startswith("facts")] == []
    assert box.run("forget", ref, "--yes").code == 3
    assert box.data("restore", ref, now=stamp(days=29))["id"] == made
    assert {n: d for n, d in box.tree().items() if n.startswith("facts")} == before
    assert history(box, "k") == [("current", "v"), ("superseded", "old")]
    assert box.run("restore", made).code in (3, 5)


def test_a_forgotten_episode_is_gone_and_comes_back_as_it_was(box: Box) -> None:
    ids = [box.add(f"text {n}\n## 2026-11-15T09:00:00Z {{", "--task", "t", "--outcome", "failed") for n in range(3)]
    before = box.data("episode", "show", ids[1])
    assert box.data("forget", ids[1], "--yes") == {
        "how": "forgotten",
        "layer": "episodes",
        "ids": [ids[1]],
        "erased": 0,
        "tombstones": 0,
        "named_by": [],
        "proof": None,
    }
    assert [e["id"] for e in box.data("episode", "list")] == [ids[2], ids[0]]
    assert box.run("episode", "show", ids[1]).code == 3
    box.ok("restore", ids[1])
    assert box.data("episode", "show", ids[1]) == before
    assert [e["id"] for e in box.data("episode", "list")] == ids[::-1]
    assert box.run("restore", ids[1]).code == 3


def test_forgetting_needs_a_yes_where_nobody_can_be_asked_and_dry_run_writes_nothing(box: Box) -> None:
    box.set("k", "v")
    made = box.add("text")
    before = box.tree(state=True)
    for ref in ("k", made):
        assert box.run("forget", ref).code == 6
        assert box.data("forget", ref, "--dry-run")["how"] == "would forget"
        assert box.data("forget", ref, "--dry-run", "--purge")["how"] == "would forget"
    assert box.run("forget", "absent", "--dry-run").code == 3
    assert box.tree(state=True) == before


def test_a_damaged_record_can_be_forgotten_and_comes_back_restricted(box: Box) -> None:
    box.set("k", "v")
    box.side("k").write_text("{ no json")
    box.ok("forget", "k", "--yes")
    assert box.fact("k") is None
    box.ok("restore", "k")
    assert (box.fact("k").text, box.fact("k").sensitivity) == ("v", labels.RESTRICTED)


# What had ended.


@pytest.mark.parametrize("swept", [True, False])
def test_an_expired_fact_comes_back_and_its_clock_starts_again_swept_or_not(box: Box, swept: bool) -> None:
    made = box.set("k", "v", "--ttl", "1h")["id"]
    later = stamp(hours=5)
    if swept:
        box.ok("sweep", now=later)
    assert box.run("fact", "get", "k", now=later).code == 3
    assert box.data("restore", "k", now=later)["id"] == made
    assert (box.root / "archive").exists() == swept
    assert box.run("fact", "get", "k", now=stamp(hours=5, minutes=59)).code == 0
    assert box.run("fact", "get", "k", now=stamp(hours=6)).code == 3


@pytest.mark.parametrize("swept", [True, False])
@pytest.mark.parametrize("by", ["key", "id"])
def test_a_faded_fact_comes_back_with_its_confidence_swept_or_not(box: Box, swept: bool, by: str) -> None:
    made = box.set("k", "v", "--confidence", "0.5")["id"]
    later = stamp(days=700)
    if swept:
        box.ok("sweep", now=later)
    assert box.run("fact", "get", "k", now=later).code == 3
    box.ok("restore", "k" if by == "key" else made, now=later)
    assert box.data("fact", "get", "k", now=later)["effective_confidence"] == 0.5
    assert box.ok("sweep", now=later).out == ""


@pytest.mark.parametrize("swept", [True, False])
def test_an_expired_episode_comes_back_and_stays_swept_or_not(box: Box, swept: bool) -> None:
    made = box.add("text", "--ttl", "1h")
    later = stamp(hours=5)
    if swept:
        box.ok("sweep", now=later)
    assert box.run("episode", "show", made, now=later).code == 3
    box.ok("restore", made, now=later)
    assert box.data("episode", "show", made, now=stamp(days=999))["text"] == "text"
    assert box.ok("sweep", now=stamp(days=999)).out == ""


# Superseded values.


def test_a_superseded_value_is_written_anew_over_the_present_one(box: Box) -> None:
    first = box.set("k", "one", "--source", "user:anna", "--confidence", "high")["id"]
    second = box.set("k", "two")["id"]
    third = box.data("restore", first, now=stamp(days=1))["id"]
    assert first < second < third
    fact = box.fact("k")
    assert (fact.id, fact.text, str(fact.source), fact.confidence) == (third, "one", "user:anna", 0.9)
    assert (fact.supersedes, fact.updated_at) == (second, at(days=1))
    assert history(box, "k") == [("current", "one"), ("superseded", "two"), ("superseded", "one")]


def test_the_only_superseded_value_is_meant_by_the_key_and_of_several_none(box: Box) -> None:
    first = box.set("k", "one")["id"]
    second = box.set("k", "two")["id"]
    box.ok("restore", "k")
    assert box.get("k") == "one"
    before = box.tree()
    ran = box.run("restore", "k", "--json")
    assert (ran.code, ran.error["code"]) == (2, "usage")
    assert first in ran.error["hint"]
    assert second in ran.error["hint"]
    assert box.tree() == before


def test_two_forgotten_values_of_a_key_are_ambiguous_and_both_named(box: Box) -> None:
    made = []
    for text in (f"{CANARY} one", f"{CANARY} two"):
        made.append(box.set("k", text)["id"])
        box.ok("forget", "k", "--yes")
    ran = box.run("restore", "k", "--json")
    assert ran.code == 2
    assert all(m in ran.error["hint"] for m in made)
    assert CANARY not in ran.err
    box.ok("restore", made[0])
    assert box.get("k") == f"{CANARY} one"
    assert box.run("restore", made[1]).code == 5


def test_a_forgotten_value_does_not_come_back_over_a_present_one(box: Box) -> None:
    old = box.set("k", "old")["id"]
    box.ok("forget", "k", "--yes")
    box.set("k", "new")
    before = box.tree()
    for ref in ("k", old):
        ran = box.run("restore", ref, "--json")
        assert (ran.code, ran.error["code"]) == (5, "exists")
    assert box.tree() == before


def test_a_value_from_before_a_renaming_comes_back_under_the_present_key(box: Box) -> None:
    first = box.set("old key", "one")["id"]
    second = box.set("old key", "two")["id"]
    box.ok("fact", "rename", "old key", "new key")
    box.ok("restore", first)
    assert (box.get("new key"), box.fact("new key").supersedes) == ("one", second)
    assert box.run("fact", "get", "old key").code == 3
    assert history(box, "new key") == [("current", "one"), ("superseded", "two"), ("superseded", "one")]


def test_a_renamed_fact_and_a_new_one_of_its_old_key_have_histories_of_their_own(box: Box) -> None:
    first = box.set("a", "one")["id"]
    box.set("a", "two")
    box.ok("fact", "rename", "a", "b")
    box.set("b", "three")
    mine = box.set("a", "mine")["id"]
    box.set("a", "mine too")
    assert [t for _, t in history(box, "b")] == ["three", "two", "one"]
    assert [t for _, t in history(box, "a")] == ["mine too", "mine"]
    box.ok("restore", first)
    assert (box.get("b"), box.get("a")) == ("one", "mine too")
    box.ok("restore", mine)
    assert (box.get("b"), box.get("a")) == ("one", "mine")
    assert len(history(box, "b")) == 4


def test_nothing_to_restore_is_not_found(box: Box) -> None:
    box.set("k", "v")
    made = box.fact("k").id
    for ref in ("k", made, "absent", "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"):
        ran = box.run("restore", ref, "--json")
        assert (ran.code, ran.error["code"]) == (3, "not_found"), ref


def test_a_former_value_is_read_and_restored_at_least_as_strictly_as_what_followed_it(box: Box) -> None:
    first = box.set("k", "one")["id"]
    box.set("k", "two", "--sensitivity", "restricted")
    assert box.data("fact", "history", "k") == []
    assert [r["sensitivity"] for r in box.data("fact", "history", "k", "--reveal")] == ["restricted"] * 2
    box.ok("restore", first)
    assert (box.get("k"), box.fact("k").sensitivity) == ("one", labels.RESTRICTED)


@pytest.mark.parametrize("way", ["rename", "forget", "expire"])
def test_an_old_value_is_no_window_into_a_label_that_was_raised_later(box: Box, way: str) -> None:
    box.set("k", f"{CANARY} one")
    box.set("k", f"{CANARY} two", "--ttl", "1h")
    if way == "rename":
        box.ok("fact", "rename", "k", "j")
    key = "j" if way == "rename" else "k"
    box.ok("fact", "set", key, "--sensitivity", "restricted")
    if way == "forget":
        box.ok("forget", key, "--yes")
    later = stamp(hours=2) if way == "expire" else None
    box.ok("sweep", now=later)
    for name in ("k", "j"):
        for command in (("fact", "history", name), ("fact", "history", name, "--json")):
            ran = box.run(*command, now=later)
            assert CANARY not in ran.out + ran.err, command
    out = box.ok("export", "jsonl", "-", "--clearance", "internal", now=later)
    assert CANARY not in out.out


# For good.


def planted(box: Box, how: str) -> str:
    """A fact whose texts and keys hold the canary, with former values in every place; the key it has now."""
    key = f"{CANARY} key"
    label = ("--sensitivity", "restricted") if how == "hidden" else ()
    box.set(key, f"{CANARY} zero", *label)
    box.ok("forget", key, "--yes")
    box.set(key, f"{CANARY} one", *label)
    box.set(key, f"{CANARY} two", "--tag", CANARY)
    if how == "renamed":
        box.ok("fact", "rename", key, f"{CANARY} other key")
        key = f"{CANARY} other key"
        box.set(key, f"{CANARY} three")
    elif how == "name changed":  # forgotten under its slug, made again under a hidden name
        box.ok("forget", key, "--yes")
        box.set(key, f"{CANARY} three", "--sensitivity", "sensitive")
    elif how == "by hand":
        box.md(key).write_text(box.md(key).read_text().replace("two", "by hand"))
    elif how == "expired":
        box.ok("fact", "set", key, "--ttl", "1")
        box.ok("sweep", now=stamp(hours=1))
        box.set(key, f"{CANARY} three")
    return key


@pytest.mark.parametrize("how", ["plain", "hidden", "renamed", "name changed", "by hand", "expired"])
def test_what_is_purged_is_nowhere_in_the_store(box: Box, how: str) -> None:
    box.set("other", "stays")
    key = planted(box, how)
    assert residue(box)
    would = box.data("forget", key, "--purge", "--dry-run")
    done = box.data("forget", key, "--purge", "--yes")
    assert residue(box) == []
    assert would["ids"] == done["ids"]
    assert would["erased"] == done["erased"]
    assert box.get("other") == "stays"
    assert box.run("restore", key).code == 3
    assert box.data("doctor") == []


def test_purging_a_renamed_fact_leaves_a_new_fact_of_the_old_key_its_history(box: Box) -> None:
    box.set("a", f"{CANARY} one")
    box.set("a", f"{CANARY} two")
    box.ok("fact", "rename", "a", "b")
    box.set("a", "mine")
    box.set("a", "mine too")
    box.ok("forget", "b", "--purge", "--yes")
    assert residue(box) == []
    assert history(box, "a") == [("current", "mine too"), ("superseded", "mine")]


def test_what_was_forgotten_already_can_be_purged_by_its_key(box: Box) -> None:
    key = planted(box, "plain")
    box.ok("forget", key, "--yes")
    assert box.run("forget", key, "--yes").code == 3
    box.ok("forget", key, "--purge", "--yes")
    assert residue(box) == []
    assert box.run("forget", key, "--purge", "--yes").code == 3


def test_a_purged_episode_is_nowhere_in_the_store(box: Box) -> None:
    box.add("stays")
    made = box.add(f"{CANARY} text", "--task", CANARY)
    box.ok("forget", made, "--yes")
    box.ok("restore", made)
    box.ok("forget", made, "--purge", "--yes")
    assert residue(box) == []
    assert [e["text"] for e in box.data("episode", "list")] == ["stays"]


def test_the_trash_keeps_a_line_like_that_of_the_archive(box: Box) -> None:
    box.set("k", "v")
    box.ok("forget", "k", "--yes", now=stamp(days=2))
    row: dict[str, Any] = json.loads((box.root / ".memcli" / "trash" / "facts" / "k.jsonl").read_text())
    assert {n: row[n] for n in ("format", "reason", "at", "layer", "name", "text")} == {
        "format": 1,
        "reason": "forgotten",
        "at": stamp(days=2),
        "layer": "facts",
        "name": "k",
        "text": "v",
    }


def test_a_sweep_never_empties_the_trash(box: Box) -> None:
    box.set("k", "v")
    box.ok("forget", "k", "--yes")
    box.ok("sweep", now=stamp(days=4000))
    box.ok("doctor", "--fix", now=stamp(days=4000))
    box.ok("restore", "k", now=stamp(days=4000))


@pytest.mark.parametrize("strict", ["archive", "trash"])
def test_of_two_copies_of_one_value_each_is_as_strict_as_the_stricter(box: Box, strict: str) -> None:
    """Machines that share a store have one trash each, and one archive."""
    made = box.set("k", CANARY)["id"]
    box.ok("forget", "k", "--yes")
    (path,) = (box.root / ".memcli/trash/facts").glob("*.jsonl")
    row = json.loads(path.read_text())
    (box.root / "archive").mkdir(exist_ok=True)
    places = {"archive": box.root / "archive" / path.name, "trash": path}
    for place, reason in (("archive", "expired"), ("trash", "forgotten")):
        row["meta"]["sensitivity"], row["reason"] = "restricted" if place == strict else "internal", reason
        places[place].write_text(json.dumps(row) + "\n")
    ran = box.run("fact", "history", "k")
    assert CANARY not in ran.out + ran.err
    assert CANARY not in box.run("export", "jsonl", "-", "--clearance", "internal").out
    assert box.data("restore", made)["sensitivity"] == "restricted"


def test_a_proposal_comes_back_at_least_as_strict_as_the_fact_of_its_key(box: Box) -> None:
    box.ok("remember", "The deploy target is Render.", "--session", "s")
    (ref,) = (i["ref"] for i in box.data("review", "list"))
    box.ok("forget", ref, "--yes")
    box.set("deploy target", "Fly.io", "--sensitivity", "restricted")
    assert box.data("restore", ref)["sensitivity"] == "restricted"


def test_a_procedure_comes_back_as_strict_as_what_came_after_it(box: Box) -> None:
    ref = box.data("procedure", "propose", "way", "--step", "Go: here")["id"]
    box.ok("forget", "way", "--yes")
    box.ok("procedure", "propose", "way", "--step", "Go: there", "--sensitivity", "restricted", now=stamp(days=1))
    box.ok("forget", "way", "--yes", now=stamp(days=1))
    assert box.data("restore", ref)["sensitivity"] == "restricted"
