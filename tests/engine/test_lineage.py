"""What facts are derived from: no circle is written, one made by hand harms nobody, what leads nowhere is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import Box, at

from memcli.base import ids
from memcli.engine import lineage, trust
from memcli.model.records import Fact, Source


def derive(box: Box, key: str, *refs: str, text: str = "v") -> dict[str, Any]:
    return box.set(key, text, *(w for r in refs for w in ("--derived-from", r)))


def refused(box: Box, *argv: str) -> None:
    before = box.tree()
    ran = box.run(*argv)
    assert (ran.code, "in a circle" in ran.err) == (2, True), ran
    assert box.tree() == before


def codes(box: Box) -> dict[str, str]:
    return {f["code"]: f["path"] for f in box.data("doctor")}


def by_hand(box: Box, key: str, *refs: str) -> None:
    """Write derived_from into a sidecar, as a person could."""
    side = box.side(key)
    side.write_text(json.dumps(json.loads(side.read_text()) | {"derived_from": list(refs)}, indent=2) + "\n")


# --- Circles are refused


def test_a_fact_is_not_its_own_basis(box: Box) -> None:
    refused(box, "fact", "set", "a", "v", "--derived-from", "a")
    made = box.set("a", "v")
    refused(box, "fact", "set", "a", "--derived-from", "a")
    refused(box, "fact", "set", "a", "--derived-from", made["id"])


@pytest.mark.parametrize("by_id", [False, True])
def test_nor_over_others(box: Box, by_id: bool) -> None:
    ref = {}
    for key, basis in (("a", ""), ("b", "a"), ("c", "b")):
        made = derive(box, key, *([ref[basis], "an outside thing"] if basis else []))
        ref[key] = made["id"] if by_id else key
    for key in ("b", "c"):
        refused(box, "fact", "set", "a", "--derived-from", ref[key])
    assert box.ok("check").out == ""


def test_a_key_that_comes_later_closes_no_circle(box: Box) -> None:
    derive(box, "a", "b")
    refused(box, "fact", "set", "b", "v", "--derived-from", "a")
    derive(box, "c", "a")
    refused(box, "fact", "rename", "c", "b")
    box.ok("fact", "rename", "c", "d")


def test_a_new_value_may_be_derived_from_the_one_before(box: Box) -> None:
    old = box.set("a", "v")["id"]
    assert derive(box, "a", old, text="w")["how"] == "superseded"
    assert lineage.circular([box.fact("a")]) == []


def test_a_basis_can_be_taken_away(box: Box) -> None:
    derive(box, "a", "b")
    assert box.set("a", "v", "--derived-from", "")["how"] == "updated"
    assert "derived_from" not in box.meta("a")


def test_an_import_refuses_the_line_that_would_close_it(box: Box, tmp_path: Path) -> None:
    box.set("old", "v", "--derived-from", "third")
    rows = [("first", ["second"]), ("second", ["first"]), ("third", ["old"]), ("fine", ["first"])]
    lines = [
        {"kind": "fact", "key": k, "text": "v", "sensitivity": "internal", "derived_from": refs} for k, refs in rows
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for options in ([], ["--trusted"], ["--dry-run"]):
        report = box.data("import", "jsonl", str(path), *options)
        assert [b["line"] for b in report["bad"]] == [2, 3]
        assert all("circle" in b["why"] for b in report["bad"])
    assert {f["key"] for f in box.data("fact", "list")} == {"old", "first", "fine"}


# --- A circle that was made by hand


def test_a_circle_made_by_hand_is_named_and_harms_nobody(box: Box) -> None:
    for key in ("a", "b", "beside", "below"):
        box.set(key, f"the value of {key}", "--source", "user:anna")
    by_hand(box, "a", "b")
    by_hand(box, "b", "a", "below")
    by_hand(box, "beside", "a")
    found = [(f["path"], f["severity"]) for f in box.data("doctor") if f["code"] == "circular"]
    assert found == [("facts/a.md", "warning"), ("facts/b.md", "warning")]
    assert box.run("check").code == 4
    ledger = trust.Ledger(box.store, at())
    assert [ledger.fact(box.fact(k)) for k in ("a", "b", "beside")] == [0.8, 0.8, 0.8]
    for words in (("context",), ("review", "list"), ("search", "value"), ("sweep",), ("source", "list")):
        box.ok(*words)
    box.ok("fact", "set", "a", "--derived-from", "")
    assert "circular" not in codes(box)


def test_a_circle_takes_the_least_trust_in_it(box: Box) -> None:
    box.set("a", "v", "--source", "user:anna")
    box.set("b", "v", "--source", "url:https://example.org")
    by_hand(box, "a", "b")
    by_hand(box, "b", "a")
    ledger = trust.Ledger(box.store, at())
    assert [ledger.fact(box.fact(k)) for k in ("a", "b")] == [0.5, 0.5]


def known(n: int, *refs: str) -> Fact:
    return Fact(
        id=ids.derived(at(), n.to_bytes(32, "big")),
        key=f"k{n}",
        text="v",
        source=Source(id="anna", kind="user"),
        confidence=0.6,
        created_at=at(),
        updated_at=at(),
        derived_from=refs,
    )


def test_many_ways_and_long_ways_to_one_basis_are_walked_once(box: Box) -> None:
    """60 layers of two facts, each derived from both below, are 2^60 ways; and 30,000 steps are deeper than any stack."""
    wide = [known(n, *(f"k{b}" for b in (n - n % 2 - 2, n - n % 2 - 1) if b >= 0)) for n in range(120)]
    deep = [known(n, f"k{n - 1}") for n in range(1, 30_000)]
    for held in (wide, deep):
        assert trust.Ledger(box.store, at(), held).fact(held[-1]) <= 0.8
        assert lineage.circular(held) == []
    ring = [*deep, known(0, "k29999")]
    assert len(lineage.circular(ring[-3:] + ring[:1])) == 0
    tail = [known(n, f"k{n - 1}") for n in range(2, 5_000)]
    assert [f.key for f in lineage.circular([known(0, "k1"), known(1, "k0"), *tail])] == ["k0", "k1"]


# --- What leads nowhere


def test_a_basis_that_is_nowhere_is_kept_and_said(box: Box) -> None:
    derive(box, "a", "no such fact", "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d")
    assert [(f["detail"], f["severity"]) for f in box.data("doctor") if f["code"] == "unknown_basis"] == [("2", "note")]
    assert box.meta("a")["derived_from"] == ["no such fact", "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"]
    assert box.run("check").code == 0


def test_what_is_somewhere_is_not_reported(box: Box) -> None:
    old = box.set("live", "v")["id"]
    box.set("live", "w")
    box.set("gone", "v")
    box.ok("forget", "gone", "--yes")
    episode = box.add("text")
    box.ok("procedure", "propose", "release", "--step", "ship")
    box.ok("source", "set", "user:anna", "--trust", "0.9")
    box.ok("remember", "The port is 8080.", "--importance", "0.1")
    outside = ("https://example.org/x", "docs/adr/0007.md", "paper.pdf", "talk.mp3@t=15.3#p", "file:README")
    derive(box, "a", "live", old, "gone", episode, "release", "anna", "user:anna", "port", *outside)
    assert codes(box) == {}


def test_a_relation_to_an_unknown_key_is_kept_and_said(box: Box) -> None:
    box.set("a", "v")
    box.ok("fact", "relate", "a", "part_of", "nowhere")
    assert codes(box) == {"unknown_target": "facts/a.md"}
    assert "nowhere" not in box.ok("doctor").out
    assert "nowhere" in box.md("a").read_text()
    box.set("nowhere", "v", "--sensitivity", "restricted")
    assert codes(box) == {}
