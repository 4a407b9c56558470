"""Logs, sources, procedures, proposals, the archive and tombstones that both sides changed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support import CANARY, Box, at, stamp

from memcli.engine import local_labels
from memcli.model import labels
from memcli.store import archive, episodes, facts, procedures, proposals, weave

from .common import WAYS, Act, Pair, driver, git, settled
from .test_facts import H1, H2, does, sets, several

BOTH = ("merge", "rebase")


def adds(text: str, *options: str, now: str = H1) -> Act:
    return lambda box: box.add(text, *options, now=now)


def forgets(text: str) -> Act:
    def act(box: Box) -> None:
        made = next(e.id for e in episodes.newest(box.store) if e.text == text)
        box.ok("forget", made, "--yes")

    return act


def raises(text: str, label: str) -> Act:
    def act(box: Box) -> None:
        entry = next(e for e in episodes.newest(box.store) if e.text == text)
        with box.store.writing() as w:
            episodes.raise_label(w, entry, episodes.labels.sensitivity(label))

    return act


def replaces(old: str, new: str) -> Act:
    def act(box: Box) -> None:
        text = box.log().read_text()
        assert old in text
        box.log().write_text(text.replace(old, new))

    return act


def texts(box: Box) -> list[str]:
    """What is in the log, in file order."""
    return [e.text for e in episodes.read(box.store, "2026-11").entries]


# --- Logs


@pytest.mark.parametrize("way", WAYS)
def test_entries_of_both_sides(way: str, tmp_path: Path) -> None:
    words = ("--outcome", "completed")
    pair = Pair(tmp_path, adds("base", now=stamp()))
    pair.act(several(adds("o1", *words), adds("o2", *words, now=H2)), several(adds("t1", *words), adds("t2", *words)))
    box = pair.both(way).box
    assert sorted(texts(box)) == ["base", "o1", "o2", "t1", "t2"]
    assert texts(box)[0] == "base"
    made = [e.id for e in episodes.read(box.store, "2026-11").entries]
    assert made == sorted(made)
    assert box.log().read_text().count("\n## ") == 5


def test_a_log_that_both_began(tmp_path: Path) -> None:
    pair = Pair(tmp_path).act(adds("ours"), adds("theirs", now=H2))
    box = pair.both().box
    assert texts(box) == ["ours", "theirs"]
    assert box.log().read_text().count("# Episodes") == 1


@pytest.mark.parametrize("way", WAYS)
def test_an_entry_that_one_side_took_out_stays_out(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, adds("base", now=stamp()), adds("gone", now=stamp()), adds("stays", now=stamp()))
    box = pair.act(forgets("gone"), adds("new")).both(way).box
    assert texts(box) == ["base", "stays", "new"]


def test_an_entry_taken_out_here_and_changed_there_is_left_to_a_person(tmp_path: Path) -> None:
    pair = Pair(tmp_path, adds("base", now=stamp()), adds("gone", now=stamp()))
    pair.act(forgets("gone"), replaces("\ngone\n", "\ngone, by hand\n"))
    done = pair.bring(pair.ours, pair.theirs)
    assert done.code == 1
    assert "<<<<<<< " in done.box.log().read_text()
    assert "base" in texts(done.box)


@pytest.mark.parametrize("way", BOTH)
def test_a_label_raised_here_and_an_entry_added_there(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, adds(CANARY, "--sensitivity", "public", now=stamp()))
    pair.act(raises(CANARY, "restricted"), several(adds("new"), raises(CANARY, "sensitive")))
    box = pair.both(way).box
    assert CANARY not in box.ok("episode", "list").out
    assert box.log().read_text().count("<!-- raise ") == 2
    assert texts(box) == [CANARY, "new"]


def test_the_stricter_of_two_labels_of_one_entry(tmp_path: Path) -> None:
    """Only by hand can the label in an entry change; where nothing else differs the stricter one holds."""
    pair = Pair(tmp_path, adds("base", "--sensitivity", "internal", now=stamp()))
    pair.act(replaces("internal", "sensitive"), replaces("internal", "restricted"))
    assert "restricted" in pair.both().box.log().read_text()


def note(box: Box) -> None:
    lines = box.log().read_text().split("\n")
    end = next(i for i, line in enumerate(lines) if line.startswith("<!-- end "))
    box.log().write_text("\n".join([*lines[: end + 1], "", "A note by hand.", *lines[end + 1 :]]))


def test_notes_between_entries_stay(tmp_path: Path) -> None:
    pair = Pair(tmp_path, adds("base", now=stamp()), adds("second", now=stamp()))
    pair.act(several(note, adds("ours")), adds("theirs", now=H2))
    one, two = pair.bring(pair.ours, pair.theirs), pair.bring(pair.theirs, pair.ours)
    assert (one.code, two.code) == (0, 0)
    assert one.box.log().read_bytes() == two.box.log().read_bytes()
    assert "A note by hand." in one.box.log().read_text()
    assert texts(one.box) == ["base", "second", "ours", "theirs"]


def test_a_torn_entry_is_left_to_a_person(tmp_path: Path) -> None:
    pair = Pair(tmp_path, adds("base", now=stamp()))
    pair.act(
        several(adds("torn"), lambda box: box.log().write_bytes(box.log().read_bytes()[:-9])), adds("theirs", now=H2)
    )
    done = pair.bring(pair.ours, pair.theirs)
    assert done.code == 1
    assert {"base", "theirs"} <= set(texts(done.box))


@pytest.mark.parametrize("old", ["base\n<!--", "## 2026"])
def test_a_log_with_conflict_markers_is_left_to_a_person(old: str, tmp_path: Path) -> None:
    marked = old.replace("base", "<<<<<<< ours\nbase\n>>>>>>> theirs") if "base" in old else f"<<<<<<< ours\n{old}"
    pair = Pair(tmp_path, adds("base", now=stamp())).act(replaces(old, marked), adds("theirs", now=H2))
    assert pair.bring(pair.ours, pair.theirs).code == 1


def test_an_entry_about_a_merge_is_no_conflict(tmp_path: Path) -> None:
    text = "It said:\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs"
    pair = Pair(tmp_path, adds("base", now=stamp())).act(adds(text), adds("theirs", now=H2))
    assert texts(pair.both().box) == ["base", text, "theirs"]


def test_a_log_of_a_newer_format_is_left_to_a_person(tmp_path: Path) -> None:
    pair = Pair(tmp_path, adds("base", now=stamp()), replaces("(memcli format 1)", "(memcli format 2)"))
    pair.act(adds("ours"), adds("theirs", now=H2))
    assert pair.bring(pair.ours, pair.theirs).code == 1


# --- Sources


@pytest.mark.parametrize("way", WAYS)
def test_a_source_that_both_changed(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, does("source", "set", "anna", "--kind", "user", "--trust", "0.9", now=stamp()))
    pair.act(
        several(does("source", "set", "anna", "--trust", "0.3", "--note", "away"), does("source", "block", "anna")),
        does("source", "set", "anna", "--trust", "0.5", "--note", "busy", now=H2),
    )
    found = pair.both(way).box.data("source", "show", "anna")
    assert found["list"] == "block"
    assert found["note"] == "away; busy"
    text = next((tmp_path / "result1" / "sources").iterdir()).read_text()
    assert '"trust": 0.3' in text


def test_a_block_that_one_side_lifted_holds_until_both_know(tmp_path: Path) -> None:
    pair = Pair(tmp_path, does("source", "block", "anna", now=stamp()))
    pair.act(does("source", "allow", "anna"), does("source", "set", "anna", "--note", "n"))
    assert pair.both().box.data("source", "show", "anna")["list"] == "block"


# --- Procedures


def procedure(box: Box) -> None:
    box.ok("procedure", "propose", "release", "--step", "Freeze: announce it", "--source", "agent:a")
    box.ok("procedure", "approve", "release", "--by", "user:anna")
    box.ok("procedure", "record", "release", "--success", "--duration-ms", "100")


@pytest.mark.parametrize("way", WAYS)
def test_uses_of_a_procedure_on_both_sides_are_all_counted(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, procedure)
    good, bad = (
        does("procedure", "record", "release", how, "--duration-ms", "400") for how in ("--success", "--failure")
    )
    pair.act(several(good, good), several(bad, good, good))
    found = pair.both(way).box.data("procedure", "show", "release")
    assert (found["runs"], found["successes"]) == (6, 5)
    assert found["mean_duration_ms"] == 350
    assert found["state"] == "approved"
    assert 0.5 < found["rate"] < 0.8


def test_a_rejected_procedure_stays_rejected(tmp_path: Path) -> None:
    pair = Pair(tmp_path, procedure)
    used = does("procedure", "record", "release", "--success")
    pair.act(does("procedure", "reject", "release", "--by", "user:anna"), several(used, used))
    found = pair.both().box.data("procedure", "show", "release", "--reveal")
    assert (found["state"], found["runs"]) == ("rejected", 3)


def test_one_procedure_made_twice(tmp_path: Path) -> None:
    def propose(how: str) -> Act:
        return lambda box: box.ok("procedure", "propose", "release", "--step", how, "--source", "agent:a")

    pair = Pair(tmp_path).act(propose("ours"), propose("theirs"))
    box = pair.both().box
    assert (box.root / "archive" / "procedures" / "release.jsonl").read_text().count("\n") == 1
    assert len(box.data("procedure", "list", "--state", "pending")) == 1


# --- Proposals


@pytest.mark.parametrize("way", WAYS)
def test_one_proposal_of_two_witnesses(way: str, tmp_path: Path) -> None:
    def sees(run: str, now: str) -> Act:
        return lambda box: box.ok(
            "remember", "The staging server is orion.", "--source", "agent:a", "--session", run, now=now
        )

    pair = Pair(tmp_path).act(sees("r1", H1), sees("r2", H2))
    (found,) = proposals.every(pair.both(way).box.store)
    assert proposals.observations(found) == 2


# --- Archive and tombstones


def test_archives_that_both_wrote(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("v0", stamp()), sets("v1", stamp(minutes=5)))
    pair.act(sets("ours", H1), sets("theirs", H2))
    box = pair.both().box
    lines = (box.root / "archive" / "k.jsonl").read_text().splitlines()
    assert len(lines) == 3  # v1, archived by both at their own time, once
    assert f'"at":"{H1}"' in lines[1]


def test_what_one_side_purged_from_the_archive_stays_away(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("v0", stamp()))
    pair.act(
        several(does("forget", "k", "--purge", "--yes"), sets("w0", H1), sets("w1", H2)),
        several(sets("x", H1, key="x"), sets("y", H2, key="x")),
    )
    box = pair.both().box
    assert '"v0"' not in (box.root / "archive" / "k.jsonl").read_text()


@pytest.mark.parametrize("way", BOTH)
def test_tombstones_of_both_sides(way: str, tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("a", stamp(), key="a"), sets("b", stamp(), key="b"))
    pair.act(does("forget", "a", "--purge", "--yes"), does("forget", "b", "--purge", "--yes"))
    box = pair.both(way).box
    assert box.run("fact", "set", "a", "a").code == 6
    assert box.run("fact", "set", "b", "b").code == 6


# --- The driver itself


@pytest.mark.parametrize("kind", ["fact", "meta", "log", "archive", "source"])
def test_rubbish_is_a_conflict_and_never_a_traceback(kind: str, tmp_path: Path) -> None:
    place = {"fact": "facts/k.md", "meta": "facts/k.meta.json", "log": "episodes/2026-11.md"}.get(
        kind, "sources/s.meta.json"
    )
    for ours, theirs in ((b"\xff\xfe\0", b"{"), (b"", b"[1]"), (b"<<<<<<< x\n", b"y\n"), (b"{}", b"---\nid: 1\n---\n")):
        code, data, said = driver(kind, b"", ours, theirs, place, tmp_path)
        assert "Traceback" not in said
        assert "bug" not in said
        if code == 0:
            assert kind in ("log", "archive")  # lines that are none are kept
            continue
        assert code == 1
        assert b"<<<<<<< " in data
        assert said.startswith(f"conflict left in {place}: ")


@pytest.mark.parametrize("kind", ["fact", "meta"])
def test_two_keys_in_one_file_are_a_conflict(kind: str, tmp_path: Path) -> None:
    box = Box(tmp_path / "s")
    box.ok("init", str(box.root))
    files = []
    for key, now in (("one", H1), ("two", H2)):
        box.set(key, f"the value of {key}", now=now)
        files.append((box.md(key) if kind == "fact" else box.side(key)).read_bytes())
    one, two = files
    place = "facts/one.md" if kind == "fact" else "facts/one.meta.json"
    for base, ours, theirs in ((b"", one, two), (one, one + b" ", two), (two, one, one.replace(b"of one", b"of uno"))):
        code, data, said = driver(kind, base, ours, theirs, place, box.root)
        assert code == 1, (base, data)
        assert b"<<<<<<< " in data
        assert "the value" not in said


def test_two_copies_of_an_archived_value(tmp_path: Path) -> None:
    """The stricter label and all opinions; whoever is ours."""
    box = Box(tmp_path / "s")
    box.ok("init", str(box.root))
    box.set("k", "v", "--source", "user:anna")
    fact = box.fact("k")
    box.ok("fact", "confirm", "k", "--run", "r1", now=H1)
    told = box.fact("k").replace(sensitivity=labels.RESTRICTED)
    a, b = facts.archived_line(fact, "superseded", at(H1)), facts.archived_line(told, "superseded", at(H2))
    line = weave.lines(b"", a, b)
    assert line == weave.lines(b"", b, a)
    row = json.loads(line)
    assert row["at"] == H1
    assert {row["meta"]["sensitivity"], row["header"]["sensitivity"]} == {"restricted"}
    assert [o["run"] for o in row["meta"]["confirmations"]] == ["r1"]
    other = facts.archived_line(fact.replace(text="by hand"), "superseded", at(H1))
    assert weave.lines(b"", a, other).count(b"\n") == 2


def test_a_kind_that_is_none_is_named(tmp_path: Path) -> None:
    code, _, said = driver("toml", b"", b"a", b"b", "memcli.toml", tmp_path)
    assert code == 2
    assert "fact, meta, log, archive, source" in said


def test_without_a_store_the_loser_has_no_place_and_so_it_is_a_conflict(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("base", stamp())).act(sets("ours", H1), sets("theirs", H2))
    base, ours, theirs = (box.md("k").read_bytes() for box in (pair.base, pair.ours, pair.theirs))
    empty = tmp_path / "empty"
    empty.mkdir()
    code, data, said = driver("fact", base, ours, theirs, "facts/k.md", empty)
    assert code == 1
    assert b"<<<<<<< " in data
    assert "no store" in said
    code, data, _ = driver("fact", base, ours, theirs, "facts/k.md", pair.base.root)
    assert (code, data) == (0, theirs)
    assert len(list((pair.base.root / ".memcli" / "merges").iterdir())) == 1
    driver("fact", base, ours, theirs, "facts/k.md", pair.base.root)
    assert len(list((pair.base.root / ".memcli" / "merges").iterdir())) == 1
    settled(pair.base)


# --- The trash, which is in no history


def proposes(text: str, *options: str) -> Act:
    return lambda box: box.ok("remember", text, "--session", "s", *options, now=H1)


def forgets_proposals(box: Box) -> None:
    for ref in [f.id for f in proposals.every(box.store)]:
        box.ok("forget", ref, "--yes")


def tightens(layer: str) -> Act:
    """The label of what is open goes up, and its file keeps its name."""

    def act(box: Box) -> None:
        (side,) = (box.root / layer).glob("*.meta.json")
        side.write_text(side.read_text().replace('"internal"', '"restricted"'))

    return act


def forgets_key(key: str) -> Act:
    return lambda box: box.ok("forget", key, "--yes")


def steps(*options: str) -> Act:
    return lambda box: box.ok("procedure", "propose", "L", "--step", "Go: there", *options)


@pytest.mark.parametrize("hidden", ["there", "here"])
@pytest.mark.parametrize(
    ("layer", "made", "gone"),
    [
        (facts.LAYER, lambda *o: sets("the lima value", H1, *o, key="L"), forgets_key("L")),
        (procedures.LAYER, steps, forgets_key("L")),
        (proposals.LAYER, lambda *o: proposes("The deploy target is Render.", *o), forgets_proposals),
    ],
    ids=["fact", "procedure", "proposal"],
)
def test_a_label_reaches_the_trash_whatever_the_strict_file_is_called(
    layer: str, made: Callable[..., Act], gone: Act, hidden: str, tmp_path: Path
) -> None:
    """A record that is made sensitive has a file name of its own, so the trash has it under another one."""
    labelled = [made("--sensitivity", label) for label in ("internal", "sensitive", "restricted")]
    here, there = (0, several(labelled[2])) if hidden == "there" else (1, several(labelled[0], tightens(layer)))
    pair = Pair(tmp_path, labelled[here])
    pair.act(gone, several(gone, there))
    pair.act(None, gone)
    box = pair.ours
    git(box, "fetch", "-q", str(pair.theirs.root), "HEAD:refs/heads/other")
    (name,) = archive.names(box.store, layer, "trash")
    with box.store.writing() as w:
        assert local_labels.carry(w, "other", ("HEAD",)) == 1
        assert local_labels.carry(w, "other", ("HEAD",)) == 0, "it is strict enough now"
    (row,) = archive.read(box.store, layer, name, "trash")
    git(box, "merge", "-q", "--no-edit", "other")
    assert box.data("restore", row["meta"]["id"])["sensitivity"] == "restricted"


def test_a_label_in_the_front_matter_of_what_lies_in_the_trash_never_goes_down(tmp_path: Path) -> None:
    pair = Pair(tmp_path, sets("the lima value", H1, "--sensitivity", "internal", key="l"))
    pair.act(forgets_key("l"), does("fact", "set", "l", "--sensitivity", "sensitive"))
    box, trash = pair.ours, pair.ours.root / ".memcli" / "trash" / "facts" / "l.jsonl"
    row = json.loads(trash.read_text())
    row["header"]["sensitivity"] = "restricted"
    trash.write_text(json.dumps(row) + "\n")
    git(box, "fetch", "-q", str(pair.theirs.root), "HEAD:refs/heads/other")
    with box.store.writing() as w:
        local_labels.carry(w, "other", ("HEAD",))
    assert [str(f.fact.sensitivity) for f in facts.former(box.store, "l", "trash")] == ["restricted"]
