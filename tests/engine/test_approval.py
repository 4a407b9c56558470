"""A yes to all proposals: nothing gets through that somebody should look at."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import CANARY, Box, at, stamp

from memcli.base import errors
from memcli.engine import approval, promotion
from memcli.store import facts, proposals

COUNTS = ("accepted", "contradicting", "withheld", "left")


def bring(box: Box, *rows: dict[str, Any], now: str | None = None) -> None:
    lines = [{"kind": "fact", "text": "v", "sensitivity": "internal"} | row for row in rows]
    box.ok("import", "jsonl", "-", stdin="".join(json.dumps(row) + "\n" for row in lines).encode(), now=now)


def yes(box: Box, *options: str, now: str | None = None) -> tuple[int, ...]:
    said = box.data("review", "accept", "--all", "--yes", *options, now=now)
    return tuple(said[n] for n in COUNTS)


def keys(box: Box) -> set[str]:
    return {f.key for f in facts.every(box.store)}


def test_all_that_nothing_speaks_against_become_facts(box: Box) -> None:
    bring(box, *({"key": f"k {n}", "source": {"id": "anna", "kind": "user"}} for n in range(30)))
    box.ok("remember", "The port is 8080.", "--session", "one", "--importance", "0.1")
    before = box.touched()
    assert yes(box, "--dry-run") == (31, 0, 0, 0)
    assert box.touched() == before
    assert yes(box, "--via", "import", "--by", "user:sam") == (30, 0, 0, 0)
    assert keys(box) == {f"k {n}" for n in range(30)}
    found = box.fact("k 7")
    assert (str(found.source), found.source.via, [o.source for o in found.confirmations]) == (
        "user:anna",
        "import",
        ["user:sam"],
    )
    assert [p.key for p in proposals.every(box.store)] == ["port"]
    assert yes(box) == (1, 0, 0, 0)
    assert yes(box) == (0, 0, 0, 0)
    assert box.data("doctor") == []


def test_one_by_one_or_all_at_once_is_the_same(tmp_path: Path) -> None:
    boxes = Box(tmp_path / "one"), Box(tmp_path / "all")
    for box in boxes:
        box.ok("init")
        box.set("known", "v", "--source", "user:anna")
        box.set("over", "v", "--ttl", "1h")
        box.ok("remember", "The port is 8080.", "--session", "one", "--importance", "0.1")
        bring(box, {"key": "a", "tags": ["t"]}, {"key": "known"}, {"key": "over", "text": "w"})
        box.ok("fact", "forget", "known", "--yes")
        bring(box, {"key": "known"})
        box.set("known", "v", "--source", "user:anna", now=stamp(minutes=1))
        box.now = stamp(hours=2)
    one, both = boxes
    for key in ("a", "known", "over", "port"):
        one.ok("review", "accept", key, "--by", "user:sam")
    assert yes(both, "--by", "user:sam") == (4, 0, 0, 0)
    shown = [
        {f.key: f.replace(id="", supersedes="", digest="", created_at=at()) for f in facts.every(box.store)}
        for box in boxes
    ]
    assert shown[0] == shown[1]
    assert [box.data("fact", "history", "over")[1]["reason"] for box in boxes] == ["expired", "expired"]


def test_what_stands_against_something_is_left(box: Box) -> None:
    box.set("deploy target", "Heroku", "--source", "user:anna")
    rows = [
        {"key": "deploy target", "text": "Fly.io"},
        {"key": "region", "text": "fra"},
        {"key": "Region", "text": "ams"},
        {"key": "fine"},
    ]
    bring(box, *rows)
    assert yes(box) == (1, 3, 0, 0)
    assert keys(box) == {"deploy target", "fine"}
    assert box.get("deploy target") == "Heroku"
    box.ok("review", "reject", "Region")
    assert yes(box) == (1, 1, 0, 0)
    assert box.get("region") == "fra"


def test_a_fact_that_came_under_the_key_in_other_letters_is_one_too(box: Box) -> None:
    bring(box, {"key": "deploy target", "text": "Fly.io"})
    bring(box, {"key": "port", "text": "8080"})
    box.set("Deploy target", "Heroku", "--source", "user:anna")
    box.set("Port", "8080", "--source", "user:anna")
    assert yes(box) == (0, 2, 0, 0)


def test_what_is_withheld_is_left_unless_the_clearance_is_given(box: Box) -> None:
    bring(box, {"key": f"{CANARY} a", "text": CANARY, "sensitivity": "sensitive"}, {"key": "b"})
    ran = box.ok("review", "accept", "--all", "--yes")
    assert (ran.out, ran.err) == ("accepted 1\n", "1 left: withheld, their label is above the clearance\n")
    assert CANARY not in ran.out + ran.err
    assert yes(box, "--clearance", "sensitive") == (1, 0, 0, 0)
    assert str(box.fact(f"{CANARY} a").sensitivity) == "sensitive"


def test_what_somebody_has_spoken_against_is_left(box: Box) -> None:
    denials = [{"source": "user:x", "run": "r", "at": stamp()}]
    bring(box, {"key": "denied", "denials": denials}, {"key": "by bad", "source": {"id": "bad", "kind": "agent"}})
    bring(box, {"key": "edited"}, {"key": "purged", "text": "w"}, {"key": "by hand"}, {"key": "fine"})
    box.ok("source", "block", "bad")
    (path,) = (box.root / "proposed" / "facts").glob("edited*.md")
    path.write_text(path.read_text().replace("\nv\n", "\nsomething else\n"))
    held = {p: p.read_bytes() for p in (box.root / "proposed" / "facts").glob("purged*")}
    box.set("purged", "w")
    box.ok("forget", "purged", "--purge", "--yes")
    for p, data in held.items():
        p.write_bytes(data)
    box.md("by hand").write_text("---\nkey: another\n---\n\nin the way\n")
    assert yes(box, "--dry-run") == yes(box) == (1, 0, 0, 5)
    assert keys(box) == {"fine", "another"}
    assert "left: denied, edited" in box.ok("review", "accept", "--all", "--yes").err


def test_proposals_that_rest_on_each_other_do_not_close_a_circle(box: Box) -> None:
    bring(box, {"key": "first", "derived_from": ["second"]})
    bring(box, {"key": "second", "derived_from": ["third"]})
    bring(box, {"key": "third", "derived_from": ["first"]})
    assert yes(box) == (2, 0, 0, 1)
    assert yes(box) == (0, 0, 0, 1)
    assert box.data("doctor") == []


def test_what_has_lapsed_is_not_there(box: Box) -> None:
    bring(box, {"key": "k"})
    assert yes(box, now=stamp(days=90)) == (0, 0, 0, 0)


def test_each_batch_is_looked_at_again_under_the_lock(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval, "_BATCH", 2)
    bring(box, *({"key": f"k{n}"} for n in range(6)))
    plain, sizes = promotion.promote_many, []

    def promote_many(w: Any, ready: Any, now: Any, *, by: Any) -> None:
        sizes.append(len(ready))
        plain(w, ready, now, by=by)
        if len(sizes) == 1:  # somebody else rejects one and denies the next to come
            held = {p.key: p for p in proposals.every(box.store)}
            proposals.remove(w, [(held["k2"], "rejected")], now)

    monkeypatch.setattr(promotion, "promote_many", promote_many)
    assert yes(box) == (5, 0, 0, 1)
    assert sizes == [2, 1, 2]
    assert keys(box) == {f"k{n}" for n in range(6)} - {"k2"}


def test_it_asks_and_the_options_go_together(box: Box) -> None:
    bring(box, {"key": "k"})
    ran = box.run("review", "accept", "--all")
    assert (ran.code, "--yes" in ran.err, keys(box)) == (6, True, set())
    for words in (
        (),
        ("k", "--all"),
        ("k", "--yes"),
        ("k", "--dry-run"),
        ("k", "--via", "import"),
        ("k", "--clearance", "internal"),
        ("--all", "--via", "user"),
        ("--all", "--clearance", "odd", "--yes"),
        ("--all", "--by", "nobody:x", "--yes"),
    ):
        assert box.run("review", "accept", *words).code == 2, words
    assert keys(box) == set()
    with pytest.raises(errors.UsageError):
        box.memory.review_accept_all(via="user", now=at())
    assert box.memory.review_accept_all(via="import", by="user:anna", now=at()).accepted == 1
