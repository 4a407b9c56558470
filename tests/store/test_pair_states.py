"""Every row of the table in docs/format.md §3.4: what readers make of the two files of a fact, and what recovery does."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from support import Box, at, stamp

from memcli.base import files, ids
from memcli.model import header, labels, policy, records, sidecar
from memcli.store import archive, facts, pair, recovery

NAME = KEY = "k"
OLD, NEW, OTHER = (f"0199e4a0-5b0{n}-7c3e-9a51-0d6a0f1b2c3d" for n in (0, 1, 2))
PUBLIC, INTERNAL, SENSITIVE, RESTRICTED = labels.PUBLIC, labels.INTERNAL, labels.SENSITIVE, labels.RESTRICTED


def value(made: str, text: str, label: labels.Sensitivity = INTERNAL, **more: Any) -> records.Fact:
    """One value of the key."""
    given: dict[str, Any] = {"confidence": 0.9, "created_at": at(), "updated_at": at()} | more
    return records.Fact(
        id=made, key=KEY, text=text, sensitivity=label, source=records.Source(id="anna", kind="user"), **given
    )


def md(fact: records.Fact) -> bytes:
    return facts.encode(fact)[0]


def side(fact: records.Fact) -> bytes:
    return facts.encode(fact)[1]


FIRST = value(OLD, "the old text")
SECOND = value(NEW, "the new text", supersedes=OLD)


class Pair:
    """The files of one record as a stopped writer, a person or a checkout left them."""

    def __init__(self, box: Box) -> None:
        self.box, self.folder = box, box.root / "facts"

    def lay(
        self, *, text: bytes | None = None, meta: bytes | None = None, temp: bytes | None = None, made: str = NEW
    ) -> None:
        for name, data in ((f"{NAME}.md", text), (f"{NAME}.meta.json", meta), (pair.md_temp(NAME, made), temp)):
            if data is not None:
                (self.folder / name).write_bytes(data)

    def archived(self, fact: records.Fact, place: str = "archive", reason: str = "superseded") -> None:
        line = facts.archived_line(fact.replace(name=NAME), reason, at())
        with self.box.store.writing() as w:
            archive.append(w, "facts", NAME, line, place)

    def read(self) -> pair.Pair | None:
        with files.Folder(str(self.box.root), "facts") as folder:
            return pair.read(folder, NAME)

    def fact(self) -> records.Fact | None:
        found: records.Fact | None = self.box.fact(KEY)
        assert [f.key for f in facts.every(self.box.store)] == ([KEY] if found else [])
        return found

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))


@pytest.fixture
def rec(box: Box) -> Pair:
    return Pair(box)


def by_journal(box: Box) -> None:
    """The next writer settles what the journal names; it writes another key."""
    (box.root / ".memcli" / "journal").write_text('{"layer": "facts", "name": "k", "id": "' + NEW + '"}\n{"layer": "fa')
    box.ok("fact", "set", "another", "value")
    assert not (box.root / ".memcli" / "journal").exists()
    box.ok("fact", "forget", "another", "--purge", "--no-tombstone", "--yes")


RECOVERIES: dict[str, Callable[[Box], object]] = {
    "journal": by_journal,
    "sweep": lambda box: box.ok("sweep"),
    "doctor": lambda box: box.ok("doctor", "--fix"),
}
recovered = pytest.mark.parametrize("way", RECOVERIES)


# Row 1: same id, hash fits.


@pytest.mark.parametrize("in_text", [PUBLIC, INTERNAL, SENSITIVE, RESTRICTED])
@pytest.mark.parametrize("in_meta", [PUBLIC, INTERNAL, SENSITIVE, RESTRICTED])
def test_a_whole_pair_is_the_fact_and_the_stricter_label_holds(rec: Pair, in_text: Any, in_meta: Any) -> None:
    rec.lay(text=md(SECOND.replace(sensitivity=in_text)), meta=side(SECOND.replace(sensitivity=in_meta)))
    found, fact = rec.read(), rec.fact()
    assert found is not None
    assert fact is not None
    assert (found.state, found.problem, found.sensitivity) == ("ok", "", max(in_text, in_meta))
    assert (fact.id, fact.text, fact.sensitivity, fact.state) == (NEW, "the new text", max(in_text, in_meta), "ok")


@recovered
def test_recovery_leaves_a_whole_pair_alone(rec: Pair, way: str) -> None:
    rec.lay(text=md(SECOND), meta=side(SECOND))
    before = rec.box.touched()
    RECOVERIES[way](rec.box)
    after = rec.box.touched()
    for name in ("facts/k.md", "facts/k.meta.json"):
        assert after[name] == before[name]


# Row 2: same id, hash differs.


@pytest.mark.parametrize("label", [PUBLIC, RESTRICTED])
def test_a_hand_edit_shows_its_text_with_the_stricter_label_and_medium_confidence(rec: Pair, label: Any) -> None:
    rec.lay(text=md(SECOND.replace(text="by hand", sensitivity=label)), meta=side(SECOND))
    found, fact = rec.read(), rec.fact()
    assert found is not None
    assert fact is not None
    assert (found.state, found.problem) == ("drift", "drift")
    assert (fact.text, fact.sensitivity, fact.state) == ("by hand", max(label, INTERNAL), "drift")
    assert policy.effective_confidence(fact, at()) == 0.6
    assert policy.effective_confidence(fact.replace(state="ok"), at()) == 0.9


@recovered
def test_recovery_keeps_a_hand_edit(rec: Pair, way: str) -> None:
    rec.lay(text=md(SECOND.replace(text="by hand")), meta=side(SECOND))
    RECOVERIES[way](rec.box)
    assert (rec.folder / "k.md").read_bytes() == md(SECOND.replace(text="by hand"))


@recovered
def test_recovery_keeps_the_text_of_a_hand_edit_over_an_unfinished_write_as_a_conflict_copy(
    rec: Pair, way: str
) -> None:
    edited = md(SECOND.replace(text="by hand"))
    rec.lay(text=edited, meta=side(SECOND), temp=md(SECOND))
    RECOVERIES[way](rec.box)
    copies = [n for n in rec.names() if "sync-conflict" in n]
    assert [(rec.folder / n).read_bytes() for n in copies] == [edited]
    assert (rec.folder / "k.md").read_bytes() == md(SECOND)
    assert "conflict_copy" in [f["code"] for f in rec.box.data("doctor")]


# Row 3: the text is the superseded one, the temp file is there.


def test_after_the_commit_the_temp_file_is_the_value(rec: Pair) -> None:
    rec.archived(FIRST)
    rec.lay(text=md(FIRST), meta=side(SECOND), temp=md(SECOND))
    found, fact = rec.read(), rec.fact()
    assert found is not None
    assert fact is not None
    assert (found.state, found.problem, found.served) == ("ok", "unfinished", md(SECOND))
    assert (fact.id, fact.text) == (NEW, "the new text")


@recovered
def test_recovery_finishes_a_committed_write(rec: Pair, way: str) -> None:
    rec.archived(FIRST)
    rec.lay(text=md(FIRST), meta=side(SECOND), temp=md(SECOND))
    RECOVERIES[way](rec.box)
    assert rec.names() == ["k.md", "k.meta.json"]
    assert (rec.folder / "k.md").read_bytes() == md(SECOND)
    assert rec.box.data("doctor") == []


@recovered
def test_recovery_removes_a_write_that_was_not_committed(rec: Pair, way: str) -> None:
    rec.lay(text=md(FIRST), meta=side(FIRST), temp=md(SECOND))
    (rec.folder / pair.side_temp(NAME, NEW)).write_bytes(side(SECOND))
    fact = rec.fact()
    assert fact is not None
    assert (fact.id, fact.text) == (OLD, "the old text")
    RECOVERIES[way](rec.box)
    assert rec.names() == ["k.md", "k.meta.json"]
    assert (rec.folder / "k.md").read_bytes() == md(FIRST)


@recovered
def test_a_temp_file_that_is_cut_off_or_has_a_lower_label_is_never_taken(rec: Pair, way: str) -> None:
    rec.archived(FIRST)
    for temp in (md(SECOND)[:-9], md(SECOND.replace(sensitivity=PUBLIC)), md(SECOND.replace(id=OTHER))):
        rec.lay(text=md(FIRST), meta=side(SECOND), temp=temp)
        RECOVERIES[way](rec.box)
        assert (rec.folder / "k.md").read_bytes() == md(FIRST)
        assert rec.names() == ["k.md", "k.meta.json"]


# Row 4: the text is the superseded one, no temp file.


@pytest.mark.parametrize("label", [PUBLIC, SENSITIVE])
def test_half_a_clone_shows_the_old_text_with_its_archived_metadata_and_the_stricter_label(
    rec: Pair, label: Any
) -> None:
    old = FIRST.replace(confidence=0.3, source=records.Source(id="old", kind="agent"))
    rec.archived(old)
    rec.lay(text=md(old), meta=side(SECOND.replace(sensitivity=label)))
    found, fact = rec.read(), rec.fact()
    assert found is not None
    assert fact is not None
    assert (found.state, found.problem) == ("half", "half_written")
    assert (fact.id, fact.text, fact.source.id, fact.confidence) == (OLD, "the old text", "old", 0.3)
    assert fact.sensitivity == max(label, INTERNAL)


@recovered
def test_recovery_leaves_half_a_clone_as_it_is(rec: Pair, way: str) -> None:
    rec.archived(FIRST)
    rec.lay(text=md(FIRST), meta=side(SECOND))
    RECOVERIES[way](rec.box)
    assert rec.names() == ["k.md", "k.meta.json"]
    assert (rec.folder / "k.md").read_bytes() == md(FIRST)
    assert [f["code"] for f in rec.box.data("doctor")] == ["half_written"]


# Row 5: another id, or none.


@pytest.mark.parametrize(
    "front", [f"id: {OTHER}\n", "", "id: 5\n", "id: anything\n"], ids=["other", "none", "number", "word"]
)
def test_a_text_of_another_id_is_a_hand_edit(rec: Pair, front: str) -> None:
    text = f"---\n{front}key: k\nsensitivity: public\n---\n\nby hand\n".encode()
    rec.lay(text=text, meta=side(SECOND))
    found, fact = rec.read(), rec.fact()
    assert found is not None
    assert fact is not None
    assert (found.state, fact.text, fact.sensitivity, fact.state) == ("drift", "by hand", INTERNAL, "drift")


@recovered
def test_recovery_keeps_a_foreign_text_aside_and_finishes_the_write(rec: Pair, way: str) -> None:
    text = f"---\nid: {OTHER}\nkey: k\nsensitivity: public\n---\n\nby hand\n".encode()
    rec.lay(text=text, meta=side(SECOND), temp=md(SECOND))
    RECOVERIES[way](rec.box)
    assert (rec.folder / "k.md").read_bytes() == md(SECOND)
    assert [(rec.folder / n).read_bytes() for n in rec.names() if "conflict" in n] == [text]


# Rows 6 and 7: no text.


def test_a_value_whose_creation_was_stopped_after_the_commit_is_in_the_temp_file(rec: Pair) -> None:
    rec.lay(meta=side(SECOND), temp=md(SECOND))
    fact = rec.fact()
    assert fact is not None
    assert (fact.id, fact.text) == (NEW, "the new text")


@recovered
def test_recovery_finishes_a_creation(rec: Pair, way: str) -> None:
    rec.lay(meta=side(SECOND), temp=md(SECOND))
    RECOVERIES[way](rec.box)
    assert rec.names() == ["k.md", "k.meta.json"]
    assert rec.box.get("k") == "the new text"


@recovered
def test_recovery_removes_a_creation_that_was_not_committed(rec: Pair, way: str) -> None:
    rec.lay(temp=md(SECOND))
    assert rec.fact() is None
    RECOVERIES[way](rec.box)
    assert rec.names() == []


def test_a_sidecar_alone_is_no_fact(rec: Pair) -> None:
    rec.lay(meta=side(SECOND))
    assert rec.read() is None
    assert rec.fact() is None
    assert rec.box.run("fact", "get", "k").code == 3


@pytest.mark.parametrize("place", ["archive", "trash"])
def test_a_sidecar_left_by_a_stopped_delete_is_removed(rec: Pair, place: str) -> None:
    rec.archived(SECOND, place, "forgotten")
    rec.lay(meta=side(SECOND))
    assert [f["code"] for f in rec.box.data("doctor")] == ["leftover_sidecar"]
    rec.box.ok("doctor", "--fix")
    assert rec.names() == []


def test_the_next_writer_finishes_a_delete_that_the_journal_names(rec: Pair) -> None:
    rec.archived(SECOND, "trash", "forgotten")
    rec.lay(meta=side(SECOND))
    (rec.box.root / ".memcli" / "journal").write_text('{"layer": "facts", "name": "k", "drop": true}\n')
    rec.box.ok("fact", "set", "another", "value")
    assert [n for n in rec.names() if n.startswith("k.")] == []


def test_a_sidecar_without_text_or_copy_is_kept_for_seven_days_and_goes_to_the_trash_then(rec: Pair) -> None:
    rec.lay(meta=side(SECOND))
    born = at().timestamp()
    os.utime(rec.folder / "k.meta.json", (born, born))
    rec.box.ok("doctor", "--fix", now=stamp(days=6, hours=23))
    assert [f["code"] for f in rec.box.data("doctor")] == ["orphan_sidecar"]
    rec.box.ok("doctor", "--fix", now=stamp(days=7))
    assert rec.names() == []
    assert NEW in (rec.box.root / ".memcli" / "trash" / "facts" / "k.jsonl").read_text()


# Row 8: no sidecar.


@pytest.mark.parametrize(
    ("front", "label"),
    [
        ("---\nkey: k\nsensitivity: public\n---\n\n", PUBLIC),
        ("---\nsensitivity: internal\ntags: a b\n---\n\n", INTERNAL),
        ("---\nkey: k\n---\n\n", RESTRICTED),
        ("---\nkey: k\nsensitivity: secret\n---\n\n", RESTRICTED),
        ("---\nkey: k\nsensitivity: no\n---\n\n", RESTRICTED),
        ("---\nkey: k\nsensitivity: [public]\n---\n\n", RESTRICTED),
        ("---\nkey: k\nsensitivity: Public\n---\n\n", RESTRICTED),
        ("---\nkey: k\nsensitivity: public\nsensitivity: public\n---\n\n", RESTRICTED),
        ("", RESTRICTED),
    ],
)
def test_a_text_without_a_sidecar_has_its_own_label_or_is_restricted(rec: Pair, front: str, label: Any) -> None:
    rec.lay(text=f"{front}by hand\n".encode())
    fact = rec.fact()
    assert fact is not None
    assert fact.sensitivity == label
    assert policy.effective_confidence(fact, at()) <= 0.3
    assert (str(fact.source), fact.state in ("bare", "damaged")) == ("unknown:hand", True)


@recovered
def test_recovery_leaves_a_hand_made_file_alone(rec: Pair, way: str) -> None:
    rec.lay(text=b"---\nkey: k\nsensitivity: public\n---\n\nby hand\n")
    RECOVERIES[way](rec.box)
    assert rec.names() == ["k.md"]


def test_adopting_a_hand_made_file_writes_a_sidecar(rec: Pair) -> None:
    rec.lay(text=b"---\nkey: k\nsensitivity: internal\ntags: [a]\nowner: Sam\n---\n\nby hand\n")
    rec.box.ok("fact", "adopt", "k")
    fact = rec.fact()
    assert fact is not None
    assert (fact.state, str(fact.source), fact.confidence, fact.text) == ("ok", "user:hand", 0.6, "by hand")
    assert (fact.tags, fact.header, fact.sensitivity) == (("a",), {"owner": "Sam"}, INTERNAL)
    assert rec.box.data("doctor") == []


def test_adopting_never_lowers_a_label_unless_told_to(rec: Pair) -> None:
    rec.lay(text=b"by hand, without a label\n")
    rec.box.ok("fact", "adopt", "k")
    assert rec.box.fact("k").sensitivity == RESTRICTED
    rec.lay(text=md(rec.box.fact("k").replace(text="edited again")))
    rec.box.ok("fact", "adopt", "k", "--sensitivity", "internal")
    assert (rec.box.fact("k").sensitivity, rec.box.get("k")) == (INTERNAL, "edited again")


# Row 9: damaged.


DAMAGED = {
    "sidecar": (md(SECOND), b"{ no json", "damaged_sidecar"),
    "header": (b"---\nkey: [k\nsensitivity: public\n---\n\nbody\n", None, "damaged_header"),
    "header with sidecar": (b"---\nkey: k\nkey: k\nsensitivity: public\n---\n\nbody\n", side(SECOND), "damaged_header"),
    "anchor": (b"---\nkey: &a k\nsensitivity: public\n---\n\nbody\n", None, "damaged_header"),
    "tag": (b"---\nkey: !!str k\nsensitivity: public\n---\n\nbody\n", None, "damaged_header"),
    "markers in the text": (
        b"---\nkey: k\nsensitivity: public\n---\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
        side(SECOND),
        "conflict_markers",
    ),
    "markers without a sidecar": (
        b"---\nkey: k\nsensitivity: public\n---\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n",
        None,
        "conflict_markers",
    ),
    "other key": (md(SECOND.replace(key="another")), side(SECOND), "key_differs"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_record_is_restricted_reported_and_not_rewritten(rec: Pair, case: str) -> None:
    text, meta, problem = DAMAGED[case]
    rec.lay(text=text, meta=meta)
    rec.box.set("good", "served")
    found = rec.read()
    assert found is not None
    assert (found.state, found.problem, found.sensitivity) == ("damaged", problem, RESTRICTED)
    before = rec.box.tree()
    assert rec.box.run("fact", "set", "k", "new").code == 4
    assert rec.box.ok("fact", "list").out == "good\tserved\n"
    for way in ("sweep", "doctor"):
        RECOVERIES[way](rec.box)
    assert problem in [f["code"] for f in rec.box.data("doctor")]
    assert rec.box.tree() == before


def test_a_value_that_holds_conflict_markers_of_its_own_is_a_value(rec: Pair) -> None:
    text = "How to resolve:\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other"
    rec.box.ok("fact", "set", "k", "-", stdin=text.encode())
    assert rec.box.ok("fact", "get", "k").out == text + "\n"
    assert rec.box.data("doctor") == []


# Names that are never records.


DROPPINGS = [".#k.md", "k.md~", "#k.md#", ".k.md.swp", "k.md.orig", "k.md.rej", "k.bak", "k.md.tmp", "k (1).md"]
CONFLICTS = ["k.sync-conflict-20261115-090000-ABCDEFG.md", "k (Anna's conflicted copy).md", "k (Case Conflict).md"]


@pytest.mark.parametrize("name", [*DROPPINGS, *CONFLICTS])
def test_leavings_of_editors_and_synchronisers_are_never_records(rec: Pair, name: str) -> None:
    rec.box.set("good", "served")
    (rec.folder / name).write_bytes(md(SECOND.replace(key="hidden", sensitivity=PUBLIC)))
    (rec.folder / f"{name.removesuffix('.md')}.meta.json~").write_bytes(side(SECOND))
    assert rec.box.ok("fact", "list").out == "good\tserved\n"
    assert rec.box.run("fact", "get", "hidden").code == 3
    found = {f["path"]: f["code"] for f in rec.box.data("doctor")}
    expected = "conflict_copy" if name in CONFLICTS or name == "k (1).md" else "leavings"
    assert found[f"facts/{name}"] == expected
    assert (rec.folder / name).exists()


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder", "not utf-8", "too large"])
def test_what_is_no_plain_utf8_file_of_at_most_a_mebibyte_is_no_fact(rec: Pair, kind: str) -> None:
    rec.box.set("good", "served")
    path = rec.folder / "k.md"
    text = md(SECOND.replace(sensitivity=PUBLIC))
    if kind == "symlink":
        (rec.box.root / "elsewhere.md").write_bytes(text)
        path.symlink_to(rec.box.root / "elsewhere.md")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(text + (b"\xff\n" if kind == "not utf-8" else b"x" * (1 << 20)))
    began = time.monotonic()
    assert rec.box.ok("fact", "list").out == "good\tserved\n"
    assert rec.box.run("fact", "get", "k").code == (4 if kind == "not utf-8" else 3)
    assert [f["code"] for f in rec.box.data("doctor")] == ["not_a_file"]
    ran = rec.box.run("fact", "set", "k", "new")
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert time.monotonic() - began < 5


def test_a_byte_order_mark_and_crlf_are_tolerated(rec: Pair) -> None:
    rec.box.set("k", "two\nlines", "--tag", "a")
    text = rec.box.md("k").read_bytes()
    rec.box.md("k").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    fact = rec.fact()
    assert fact is not None
    assert (fact.text, fact.state, fact.sensitivity, fact.tags) == ("two\nlines", "ok", INTERNAL, ("a",))


def test_settling_twice_is_settling_once(rec: Pair) -> None:
    rec.archived(FIRST)
    rec.lay(text=b"by hand\n", meta=side(SECOND), temp=md(SECOND))
    with rec.box.store.writing() as w:
        assert recovery.settle_folder(w.store, "facts") == ["k"]
        once = rec.box.touched()
        assert recovery.settle_folder(w.store, "facts") == []
    assert rec.box.touched() == once


def test_the_header_of_every_written_file_is_one_that_the_plain_reader_knows(box: Box) -> None:
    # A hot command must never pay for a YAML library because of what memcli itself wrote.
    for number, word in enumerate(["yes", "a: b", "#x", "- x", "1.50", "é", "'", '"', "{", "null", "~"]):
        box.set(f"key {number} {word}", "v", "--tag", word)
    for path in (box.root / "facts").glob("*.md"):
        header._read_plain(path.read_text().split("---\n")[1])


def test_ids_of_the_two_files_are_the_same(box: Box) -> None:
    box.set("k", "v")
    box.set("k", "w")
    front, _ = header.split(box.md("k").read_text())
    assert front is not None
    assert front["id"] == box.meta("k")["id"]
    assert ids.valid(front["id"])
    assert sidecar.load(box.side("k").read_bytes())["supersedes"] < front["id"]
