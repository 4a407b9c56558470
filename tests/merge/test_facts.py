"""Two people change one fact: what stands, where the other value is, and that both directions give the same tree."""

import json
from pathlib import Path

import pytest
from support import CANARY, Box, stamp

from memcli.base import errors
from memcli.store import archive, merge_notes

from .common import WAYS, Act, Pair, git, history, settled, values

H1, H2, H3 = (stamp(hours=n) for n in (1, 2, 3))


def sets(text: str, now: str, *options: str, key: str = "k") -> Act:
    return lambda box: box.set(key, text, *options, now=now)


def does(*words: str, now: str = H1) -> Act:
    return lambda box: box.ok(*words, now=now)


def several(*acts: Act) -> Act:
    return lambda box: [act(box) for act in acts]


def edits(old: str, new: str) -> Act:
    def act(box: Box) -> None:
        path = box.md("k")
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return act


@pytest.mark.parametrize("way", WAYS)
def test_both_supersede(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    box = pair.both(way).box
    assert box.get("k") == "theirs"
    assert sorted(history(box, "k")) == ["base", "ours"]


def test_both_supersede_twice(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()))
    pair.act(several(sets("o1", H1), sets("o2", H3)), several(sets("t1", H1), sets("t2", H2)))
    box = pair.both().box
    assert box.get("k") == "o2"
    assert sorted(history(box, "k")) == ["base", "o1", "t1", "t2"]


@pytest.mark.parametrize("text", ["one", "two"])
@pytest.mark.parametrize("way", WAYS)
def test_both_make_the_key(way: str, text: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path).act(sets("one", H1, "--tag", "a"), sets(text, H2, "--tag", "b"))
    box = pair.both(way).box
    assert box.get("k") == text
    assert history(box, "k") == ["one"]
    assert box.fact("k").tags == ("a", "b")


LABELS = ("public", "internal", "sensitive", "restricted")


@pytest.mark.parametrize("way", ["merge", "rebase"])
@pytest.mark.parametrize("label", LABELS)
def test_a_new_value_and_another_label(label: str, way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--sensitivity", "sensitive"))
    pair.act(sets("ours", H1), does("fact", "set", "k", "--sensitivity", label))
    box = pair.both(way).box
    strict = max("sensitive", label, key=LABELS.index)
    assert box.get("k") == "ours"
    assert str(box.fact("k").sensitivity) == strict
    assert {str(label) for label in values(box).values()} == {strict}  # the former value too


def test_the_label_of_the_value_that_lost_holds(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--sensitivity", "public"))
    pair.act(sets(f"{CANARY} ours", H1, "--sensitivity", "restricted"), sets("theirs", H2))
    box = pair.both().box
    assert box.get("k") == "theirs"
    assert {str(label) for label in values(box).values()} == {"restricted"}
    for words in (("context", "--untrusted"), ("fact", "list"), ("search", CANARY), ("doctor",)):
        ran = box.run(*words)
        assert CANARY not in ran.out + ran.err


@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_went_down_on_one_side_while_the_other_confirmed(label: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--sensitivity", "sensitive", "--source", "user:anna"))
    pair.act(does("fact", "set", "k", "--sensitivity", label), does("fact", "confirm", "k", "--run", "r1"))
    box = pair.both().box
    assert str(box.fact("k").sensitivity) == max("sensitive", label, key=LABELS.index)
    assert len(box.fact("k").confirmations) == 1


@pytest.mark.parametrize("way", WAYS)
def test_opinions_of_both_sides_count(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--source", "user:anna"))
    pair.act(
        several(does("fact", "confirm", "k", "--run", "r1"), does("fact", "deny", "k", "--run", "r3")),
        several(does("fact", "confirm", "k", "--run", "r2", now=H2), does("fact", "deny", "k", "--run", "r3")),
    )
    fact = pair.both(way).box.fact("k")
    assert [o.run for o in fact.confirmations] == ["r1", "r2"]
    assert [o.run for o in fact.denials] == ["r3"]
    assert fact.confirmed_at == fact.confirmations[1].at


def test_an_opinion_of_a_value_that_was_superseded_goes_to_the_archive(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--source", "user:anna"))
    pair.act(sets("ours", H2), does("fact", "confirm", "k", "--run", "r1"))
    box = pair.both().box
    assert box.get("k") == "ours"
    assert not box.fact("k").confirmations
    assert history(box, "k") == ["base"]
    line = (box.root / "archive" / "k.jsonl").read_text().splitlines()[-1]
    assert '"run":"r1"' in line


@pytest.mark.parametrize("way", WAYS)
def test_tags_and_relations_of_both_sides(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--tag", "old", "--tag", "stays"), sets("x", stamp(), key="x"))
    relate = ("fact", "relate", "k", "part_of", "x")
    pair.act(
        several(does("fact", "set", "k", "--tag", "stays", "--tag", "b"), does(*relate, "--weight", "0.3")),
        several(
            does("fact", "set", "k", "--tag", "old", "--tag", "stays", "--tag", "a"), does(*relate, "--weight", "0.9")
        ),
    )
    fact = pair.both(way).box.fact("k")
    assert fact.tags == ("stays", "a", "b")
    assert [r["weight"] for r in fact.relations] == [0.9]


def test_a_value_of_a_clock_that_went_back_takes_both_files_with_it(tmp_path: Path) -> None:
    """Forgotten and set anew with a lesser id: git takes the text, which only this side changed, so the sidecar follows."""
    pair = Pair(tmp_path, sets("base", H3, "--source", "user:anna"))
    anew = several(does("fact", "forget", "k", "--yes"), sets("anew", H1, "--source", "user:anna"))
    box = pair.act(anew, does("fact", "confirm", "k", "--run", "r1", now=H3)).both().box
    fact = box.fact("k")
    assert (fact.text, fact.state) == ("anew", "ok")


def test_a_tag_and_metadata_survive_a_new_value(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--tag", "a"))
    pair.act(
        sets("ours", H2),
        does(
            "fact", "set", "k", "--tag", "a", "--tag", "b", "--importance", "0.9", "--ttl", "30d", "--domain", "infra"
        ),
    )
    fact = pair.both().box.fact("k")
    assert (fact.text, fact.tags, fact.importance, fact.domain) == ("ours", ("a", "b"), 0.9, "infra")
    assert fact.ttl_minutes == 30 * 24 * 60


def test_numbers_that_both_sides_changed(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()))
    set_ = ("fact", "set", "k", "--confidence")
    pair.act(
        does(*set_, "0.9", "--importance", "0.2", "--ttl", "10d", "--domain", "ours", "--check", "path:a"),
        does(*set_, "0.4", "--importance", "0.7", "--ttl", "0", "--domain", "theirs", "--check", "path:b", now=H2),
    )
    fact = pair.both().box.fact("k")
    assert (fact.confidence, fact.importance, fact.ttl_minutes) == (0.4, 0.7, 10 * 24 * 60)
    assert (fact.domain, fact.check) == ("ours", "path:a")  # the TTL made it the later update


@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick"])
def test_a_hand_edit_and_a_new_value(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(edits("base", "by hand"), sets("theirs", H2))
    box = pair.both(way).box
    assert box.get("k") == "theirs"
    assert sorted(history(box, "k")) == ["base", "by hand"]
    by_hand = next(r for r in box.data("fact", "history", "k", "--reveal") if r["text"] == "by hand")
    assert by_hand["source"] == {"id": "hand", "kind": "user"}


def test_a_hand_edit_of_a_new_value_that_loses(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()))
    pair.act(several(sets("ours", H1), edits("ours", "ours by hand")), sets("theirs", H2))
    box = pair.both().box
    assert box.get("k") == "theirs"
    assert "ours by hand" in history(box, "k")


def test_a_hand_edit_and_metadata(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--tag", "a"))
    pair.act(
        edits("base", "by hand"), does("fact", "set", "k", "--tag", "a", "--tag", "b", "--sensitivity", "sensitive")
    )
    one, two = pair.bring(pair.ours, pair.theirs), pair.bring(pair.theirs, pair.ours)
    assert (one.code, two.code) == (0, 0)
    for box in (one.box, two.box):
        fact = box.fact("k")
        assert (fact.text, fact.tags, fact.state, str(fact.sensitivity)) == (
            "by hand",
            ("a", "b"),
            "drift",
            "sensitive",
        )
        box.ok("fact", "adopt", "k", now=H3)
        settled(box)


@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick"])
def test_two_hand_edits_are_left_to_a_person(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp(), "--sensitivity", "public"))
    pair.act(edits("base", f"{CANARY} ours"), edits("base", f"{CANARY} theirs"))
    done = pair.bring(pair.ours, pair.theirs, way)
    assert done.code == 1
    assert "<<<<<<< " in done.box.md("k").read_text()
    assert done.box.run("fact", "get", "k").code == 6
    assert CANARY not in done.said
    for words in (("context", "--untrusted"), ("doctor",), ("fact", "list")):
        ran = done.box.run(*words)
        assert CANARY not in ran.out + ran.err


@pytest.mark.parametrize("way", WAYS)
def test_forgotten_here_and_changed_there_is_left_to_a_person(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()), sets("y", stamp(), key="y"))
    pair.act(does("fact", "forget", "k", "--yes"), sets("theirs", H2))
    for into, other in ((pair.ours, pair.theirs), (pair.theirs, pair.ours)):
        done = pair.bring(into, other, way)
        assert done.code == 1
        assert (
            "modify/delete" in done.said + git(done.box, "status").stdout
            or "deleted by" in git(done.box, "status").stdout
        )
        git(done.box, "add", "-A")
        assert done.box.get("k") == "theirs"  # git leaves the changed one; taken or removed, the pair stays whole
        settled(done.box)
        assert history(done.box, "k") == ["base"]


def test_renamed_here_and_changed_there_is_left_to_a_person(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp()))
    pair.act(does("fact", "rename", "k", "new name"), sets("theirs", H2))
    for into, other in ((pair.ours, pair.theirs), (pair.theirs, pair.ours)):
        done = pair.bring(into, other)
        assert done.code == 1
        git(done.box, "add", "-A")
        assert done.box.get("k") == "theirs"
        assert done.box.get("new name") == "base"
        settled(done.box)


@pytest.mark.parametrize("renames", ["true", "false"])
def test_a_forgotten_fact_is_not_taken_for_a_new_one(renames: str, tmp_path: Path) -> None:
    """git pairs what was deleted with what is new and alike; the driver gives up when the keys differ."""
    text = "Production runs on Fly.io in region fra, and the pipeline deploys it with a tag. " * 3
    pair = Pair(tmp_path, sets(text, stamp()))
    pair.act(
        several(does("fact", "forget", "k", "--yes"), sets(text + "!", H1, "--sensitivity", "public", key="other")),
        sets(f"{text} {CANARY}", H2, "--sensitivity", "restricted"),
    )
    if renames == "true":
        for box in (pair.ours, pair.theirs):
            git(box, "config", "merge.renameLimit", "100")
            git(box, "config", "merge.renames", "true")
    for into, other in ((pair.ours, pair.theirs), (pair.theirs, pair.ours)):
        done = pair.bring(into, other)
        assert done.code == 1
        for words in (
            ("context", "--untrusted"),
            ("fact", "list"),
            ("search", CANARY),
            ("fact", "get", "other"),
            ("doctor",),
        ):
            ran = done.box.run(*words)
            assert CANARY not in ran.out + ran.err
        if renames == "false":
            assert done.box.get("other") == text + "!"


@pytest.mark.parametrize("part", ["md", "side"])
def test_a_damaged_side_is_left_to_a_person(part: str, tmp_path: Path) -> None:
    def damage(box: Box) -> None:
        path = getattr(box, part)("k")
        path.write_text(path.read_text().replace("key: k\n", "key: k\nkey: k\n").replace("{\n", "{{\n"))

    pair = Pair(tmp_path, sets("base", stamp()))
    pair.act(damage, sets("theirs", H2, "--tag", "t"))
    for into, other in ((pair.ours, pair.theirs), (pair.theirs, pair.ours)):
        done = pair.bring(into, other)
        assert done.code == 1
        assert "<<<<<<< " in getattr(done.box, part)("k").read_text()
        assert done.box.run("fact", "get", "k").code == 6
        git(done.box, "checkout", "-q", "--theirs" if into is pair.ours else "--ours", "facts")
        assert done.box.get("k") == "theirs"
        settled(done.box)
        assert "base" in history(done.box, "k")


@pytest.mark.parametrize("taken", ["theirs", "ours", "half of ours"])
def test_notes_of_a_record_in_conflict_wait_until_it_is_resolved(taken: str, tmp_path: Path) -> None:
    """The text was merged and its loser noted, the sidecar is left to a person, who may take the loser after all."""

    def spoil(box: Box) -> None:
        path = box.side("k")
        path.write_text(path.read_text().replace("{\n", "{{\n", 1))

    pair = Pair(tmp_path, sets("base", stamp())).act(several(sets("ours", H1), spoil), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    box.set("another", "v", now=H3)
    assert "merge_left" in [f["code"] for f in box.data("doctor")]
    assert '"ours"' not in (box.root / "archive" / "k.jsonl").read_text()
    if taken == "half of ours":  # of the files that git calls unmerged alone; the text is the other side's
        git(box, "checkout", "-q", "--ours", "facts")
    else:
        git(
            box,
            "checkout",
            "-q",
            "MERGE_HEAD" if taken == "theirs" else "HEAD",
            "--",
            "facts/k.md",
            "facts/k.meta.json",
        )
    box.side("k").write_text(box.side("k").read_text().replace("{{\n", "{\n", 1))
    if taken == "half of ours":
        box.ok("fact", "adopt", "k", now=H3)
    assert box.get("k") == ("ours" if taken == "ours" else "theirs")
    settled(box)
    assert set(history(box, "k")) == ({"base"} if taken == "ours" else {"base", "ours"})


def test_a_side_with_conflict_markers_is_left_to_a_person(tmp_path: Path) -> None:
    def mark(box: Box) -> None:
        path = box.md("k")
        path.write_text(path.read_text().replace("base", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b"))

    pair = Pair(tmp_path, sets("base", stamp())).act(mark, sets("theirs", H2))
    assert pair.bring(pair.ours, pair.theirs).code == 1


def test_what_a_merge_set_aside_is_read_before_it_is_written(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    assert sorted(history(box, "k")) == ["base", "ours"]
    assert [f["code"] for f in box.data("doctor")] == ["merge_left"]
    assert '"ours"' not in (box.root / "archive" / "k.jsonl").read_text()
    box.set("another", "write takes it over", now=H3)
    assert '"ours"' in (box.root / "archive" / "k.jsonl").read_text()
    assert box.data("doctor") == []
    assert not (box.root / ".memcli" / "merges").exists()
    assert "archive/k.jsonl" in git(box, "status", "--short").stdout


def test_a_merge_that_was_given_up_leaves_nothing_wrong(tmp_path: Path) -> None:
    """The notes of a merge that never was: what they tell of is the value that stands, so nothing is archived."""
    pair = Pair(tmp_path, sets("base", stamp()))
    pair.act(sets("ours", H1), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    git(box, "reset", "-q", "--hard", "HEAD~1")
    assert box.get("k") == "ours"
    settled(box)
    assert history(box, "k") == ["base"]
    assert '"ours"' not in (box.root / "archive" / "k.jsonl").read_text()


def test_a_writer_that_is_stopped_while_it_takes_over_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    before = box.tree()
    with monkeypatch.context() as m:
        m.setattr(archive, "append", stop)
        assert box.run("fact", "set", "another", "v").code == 7
    assert box.tree() == before
    assert sorted(history(box, "k")) == ["base", "ours"]
    with monkeypatch.context() as m:
        m.setattr(merge_notes, "remove", stop)
        assert box.run("fact", "set", "another", "v").code == 7
    assert (box.root / "archive" / "k.jsonl").read_text().count('"ours"') == 1
    assert sorted(history(box, "k")) == ["base", "ours"]
    settled(box)
    assert (box.root / "archive" / "k.jsonl").read_text().count('"ours"') == 1


def stop(*_: object) -> None:
    raise errors.SystemFailure("stopped")


def test_doctor_only_names_what_is_still_to_be_written(tmp_path: Path) -> None:
    """A label went up on one side and a tag came on the other: git has it all, so there is nothing to say."""
    pair = Pair(tmp_path, sets("base", stamp()))
    pair.act(does("fact", "set", "k", "--sensitivity", "sensitive"), does("fact", "set", "k", "--tag", "t"))
    box = pair.bring(pair.ours, pair.theirs).box
    assert (box.root / ".memcli" / "merges").exists()
    assert [f["code"] for f in box.data("doctor") if f["severity"] != "note"] == []
    settled(box)
    assert not (box.root / ".memcli" / "merges").exists()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"format":1}', b"\xff"])
def test_notes_that_are_none_are_passed_over(data: bytes, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    (box.root / ".memcli" / "merges" / "odd.json").write_bytes(data)
    settled(box)
    assert sorted(history(box, "k")) == ["base", "ours"]


@pytest.mark.parametrize("field", ["layer", "name", "data", "other", "part"])
def test_a_note_of_a_forger_leads_nowhere(field: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    folder = box.root / ".memcli" / "merges"
    rows = [json.loads(path.read_bytes()) for path in sorted(folder.iterdir())]
    for number, row in enumerate(rows):
        for more, value in enumerate(("../../x", 7, None, "---\nid: 1\nid: 2\n---\n", {})):
            folder.mkdir(exist_ok=True)
            (folder / f"forged-{field}.json").write_text(json.dumps(row | {field: value}))
            box.ok("fact", "set", "another", f"{number} {more}")
    assert not (tmp_path / "x.jsonl").exists()
    assert sorted(p.name for p in (box.root / "archive").iterdir()) == ["another.jsonl", "k.jsonl"]


def test_purge_reaches_what_a_merge_set_aside(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets(f"{CANARY} ours", H1), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    box.ok("forget", "k", "--purge", "--yes", now=H3)
    held = [
        p for p in box.root.rglob("*") if p.is_file() and ".git" not in p.parts and CANARY.encode() in p.read_bytes()
    ]
    assert held == []


def test_purge_reaches_the_notes_of_a_record_in_conflict(tmp_path: Path) -> None:
    def spoil(box: Box) -> None:
        path = box.side("k")
        path.write_text(path.read_text().replace("{\n", "{{\n", 1))

    pair = Pair(tmp_path, sets("base", stamp())).act(several(sets(f"{CANARY} ours", H1), spoil), sets("theirs", H2))
    box = pair.bring(pair.ours, pair.theirs).box
    box.ok("forget", "k", "--purge", "--yes", now=H3)
    held = [
        p for p in box.root.rglob("*") if p.is_file() and ".git" not in p.parts and CANARY.encode() in p.read_bytes()
    ]
    assert held == []


def test_what_was_purged_here_does_not_come_back_by_a_note(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets(f"{CANARY} ours", H1), sets("theirs", H2))
    box = pair.bring(pair.theirs, pair.ours).box
    note = next((box.root / ".memcli" / "merges").iterdir())
    kept = {p: p.read_bytes() for p in note.parent.iterdir()}
    box.ok("forget", "k", "--purge", "--yes", now=H3)
    note.parent.mkdir(exist_ok=True)
    for path, data in kept.items():
        path.write_bytes(data)
    box.set("another", "write", now=H3)
    assert not any(CANARY in p.read_text() for p in (box.root / "archive").glob("*"))
