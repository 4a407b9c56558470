"""Facts in the store layer: what is written is read back, under any key, and one file never hides another."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import Box, at, stamp

from memcli.base import errors, files
from memcli.model import keys, labels, records
from memcli.store import facts, names


def is_key(text: str) -> bool:
    try:
        keys.normal(text)
    except errors.UsageError:
        return False
    return True


KEYS = st.text(min_size=1, max_size=80).filter(is_key).map(keys.normal)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=400)
LOOKALIKES = [
    "C",
    "c",
    "C++",
    "C#",
    "CON",
    "con",
    "a_b",
    "a-b",
    "a b",
    "naïve",
    "naive",
    "🙂",
    "🙃",
    "&#x41;",
    "A",
    "ё",
    "е",
    "日本",
    "x" * 400,
]
NASTY = [
    "",
    "\n",
    "\n\n",
    "---",
    "---\n",
    "---\na: b\n---\n",
    "\ufeff",
    "x\n",
    "\u2028",
    "\x00\x1b[2J",
    "<<<<<<< HEAD\n=======\n>>>>>>> b",
    "{}",
    "\x85",
]


def fact(key: str, text: str, made: str = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d") -> records.Fact:
    source = records.Source(id="anna", kind="user")
    return records.Fact(id=made, key=key, text=text, source=source, confidence=0.6, created_at=at(), updated_at=at())


def put(box: Box, new: records.Fact) -> records.Fact:
    with box.store.writing() as w:
        old = facts.get(box.store, new.key)
        made = new if old is None else new.replace(id=new.id[:-1] + "e", supersedes=old.id)
        return facts.put(w, made, old, at=at())


@settings(max_examples=150)
@given(key=KEYS, text=TEXTS)
@example("deploy target", "---\nkey: another\nsensitivity: public\n---\n\nbody")
@example("key: with, [yaml] {words} #", "\n\n---\n\n")
def test_reading_after_writing_is_identity_for_any_key_and_text(box: Box, key: str, text: str) -> None:
    stored = put(box, fact(key, text))
    assert facts.get(box.store, key) == stored
    assert (stored.key, stored.text, stored.state) == (key, text, "ok")
    with box.store.writing() as w:
        facts.remove(w, [(stored, "forgotten")], at(), place="trash")
    assert facts.get(box.store, key) is None


@pytest.mark.parametrize("text", NASTY, ids=repr)
def test_texts_that_look_like_structure_come_back_as_they_were(box: Box, text: str) -> None:
    assert put(box, fact("k", text)).text == text
    assert [f.text for f in facts.every(box.store)] == [text]
    assert put(box, fact("k", text + "!")).text == text + "!"
    assert [f.fact.text for f in facts.former(box.store, "k")] == [text]


def test_every_key_keeps_a_file_of_its_own(box: Box) -> None:
    for key in LOOKALIKES:
        put(box, fact(key, f"value of {key}"))
    assert {f.key: f.text for f in facts.every(box.store)} == {k: f"value of {k}" for k in LOOKALIKES}
    assert {k: facts.get(box.store, k).text for k in LOOKALIKES} == {k: f"value of {k}" for k in LOOKALIKES}  # type: ignore[union-attr]
    listed = [n.name for n in (box.root / "facts").iterdir()]
    assert len({n.casefold() for n in listed}) == len(listed) == 2 * len(LOOKALIKES)


def test_a_fact_created_sensitive_does_not_show_its_key_in_any_name(box: Box) -> None:
    for label in ("sensitive", "restricted"):
        put(box, fact(f"kingfisher {label}", "v").replace(sensitivity=labels.sensitivity(label)))
    listed = " ".join(str(p) for p in box.root.rglob("*"))
    assert "kingfisher" not in listed
    assert len(list((box.root / "facts").glob("x--*.md"))) == 2


def test_a_hand_made_file_that_sits_on_anothers_name_never_gives_its_value_to_that_key(box: Box) -> None:
    text = "---\nkey: another\nsensitivity: internal\n---\n\nother value\n"
    (box.root / "facts" / f"{keys.file_name('deploy target')}.md").write_text(text)
    assert facts.get(box.store, "deploy target") is None
    ran = box.run("fact", "set", "deploy target", "mine")
    assert ran.code == 4
    assert box.md("deploy target").read_text() == text


# Files under names of their own.


def hand_made(box: Box, name: str, front: str, text: str = "by hand") -> Path:
    path = box.root / "facts" / name
    path.write_text(f"---\n{front}---\n\n{text}\n" if front else f"{text}\n")
    return path


def by_hand(box: Box, name: str, key: str, text: str) -> Path:
    path = box.root / "facts" / f"{name}.md"
    path.write_text(f"---\nkey: {key}\nsensitivity: internal\n---\n\n{text}\n")
    return path


@pytest.mark.parametrize("name", ["notes--0123456789ab", "x--0123456789abcdef", keys.file_name("some other key")])
def test_a_hand_made_file_that_is_named_like_one_of_ours_is_found_under_its_own_key(box: Box, name: str) -> None:
    box.set("beside", "v")
    path = by_hand(box, name, "mine", "made by hand")
    assert box.get("mine") == "made by hand"
    assert box.run("fact", "get", "some other key").code == 3
    path.write_text(path.read_text().replace("made by hand", "made again"))
    assert box.get("mine") == "made again"
    box.set("other", "v")  # the cache is carried over
    assert box.get("mine") == "made again"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("fact", "adopt", "mine"), "made by hand"),
        (("fact", "adopt", "--all"), "made by hand"),
        (("fact", "set", "mine", "set later", "--source", "user:anna"), "set later"),
        (("fact", "set", "mine", "--tag", "t"), "made by hand"),
        (("fact", "relate", "mine", "is_a", "thing"), "made by hand"),
        (("fact", "confirm", "mine", "--run", "r"), "made by hand"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_it_moves_to_the_name_of_its_key_with_the_first_write(box: Box, words: tuple[str, ...], text: str) -> None:
    by_hand(box, "notes--0123456789ab", "mine", "made by hand")
    box.ok(*words)
    assert sorted(p.name for p in (box.root / "facts").iterdir()) == ["mine.md", "mine.meta.json"]
    assert box.get("mine") == text
    if words[-2:] == ("--source", "user:anna"):
        assert [f["text"] for f in box.data("fact", "history", "mine")] == ["set later", "made by hand"]


def test_an_import_moves_it_too(box: Box) -> None:
    by_hand(box, "notes--0123456789ab", "mine", "made by hand")
    row = {"kind": "fact", "key": "mine", "text": "brought in", "sensitivity": "internal"}
    box.ok("import", "jsonl", "-", "--trusted", "--supersede", stdin=json.dumps(row).encode())
    assert sorted(p.name for p in (box.root / "facts").iterdir()) == ["mine.md", "mine.meta.json"]
    assert [f["text"] for f in box.data("fact", "history", "mine")] == ["brought in", "made by hand"]


def test_a_file_in_the_way_of_the_move_is_not_written_over(box: Box) -> None:
    by_hand(box, "notes--0123456789ab", "mine", "made by hand")
    other = by_hand(box, "mine", "theirs", "in the way")
    before = box.tree()
    assert box.run("fact", "set", "mine", "w").code in (4, 5)
    assert box.tree() == before
    assert "in the way" in other.read_text()


@pytest.mark.parametrize(
    ("name", "front", "key"),
    [
        ("notes of anna.md", "key: deploy target\nsensitivity: internal\n", "deploy target"),
        ("Deploy Target.md", "sensitivity: internal\n", "Deploy Target"),
        ("naïve.md", "sensitivity: internal\n", "naïve"),
        ("nai\u0308ve.md", "sensitivity: internal\n", "naïve"),  # the form that a Mac writes
        ("any.md", 'key: "nai\u0308ve"\nsensitivity: internal\n', "naïve"),
        ("UPPER.md", "key: 日本\nsensitivity: internal\n", "日本"),
    ],
)
def test_a_hand_made_file_under_another_name_is_found_by_get_and_by_set(
    box: Box, name: str, front: str, key: str
) -> None:
    path = hand_made(box, name, front)
    assert box.ok("fact", "get", key).out == "by hand\n"
    assert box.set(key, "new value")["how"] == "superseded"
    assert box.ok("fact", "get", key).out == "new value\n"
    assert sorted(p.name for p in (box.root / "facts").iterdir()) == sorted([name, f"{name[:-3]}.meta.json"])
    assert [r["text"] for r in box.data("fact", "history", key)] == ["new value", "by hand"]
    assert path.read_text().endswith("\nnew value\n")


def test_a_hand_made_file_is_found_without_the_cache_and_with_a_useless_one(box: Box) -> None:
    hand_made(box, "other name.md", "key: deploy target\nsensitivity: internal\n")
    cache = box.root / ".memcli" / "names.json"
    junk = [
        b"",
        b"{",
        b"[]",
        b'{"folder_mtime_ns": 1, "odd": {}}',
        b'{"folder_mtime_ns": "x", "odd": 3}',
        b"\xff",
        b"[" * 9999,
    ]
    for data in junk:
        cache.write_bytes(data)
        assert box.get("deploy target") == "by hand", data
    cache.unlink()
    assert box.get("deploy target") == "by hand"
    assert cache.exists()


def test_a_file_that_is_moved_by_hand_is_found_under_its_new_name(box: Box) -> None:
    box.set("deploy target", "v")
    box.get("deploy target")
    box.md("deploy target").rename(box.root / "facts" / "moved.md")
    box.side("deploy target").rename(box.root / "facts" / "moved.meta.json")
    assert box.get("deploy target") == "v"
    box.set("another", "w")
    assert box.get("deploy target") == "v"


def test_the_cache_of_names_forgets_what_is_forgotten(box: Box) -> None:
    hand_made(box, "other name.md", "key: kingfisher\nsensitivity: internal\n")
    box.get("kingfisher")
    box.ok("forget", "kingfisher", "--purge", "--yes")
    assert [p for p, data in box.tree(state=True).items() if b"kingfisher" in data] == []


def test_our_own_writes_do_not_cost_a_scan_of_the_store(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_made(box, "other name.md", "key: deploy target\nsensitivity: internal\n")
    box.get("deploy target")
    scans = []
    monkeypatch.setattr(names, "_scan", lambda folder: scans.append(folder) or {})
    box.set("one", "v")
    box.set("one", "w")
    box.ok("fact", "forget", "one", "--yes")
    assert box.get("deploy target") == "by hand"
    assert scans == []


# One key under two names.


def two_clones(box: Box, label: str, *, open_is_newer: bool) -> tuple[str, str]:
    """The key once under its slug and once under the hidden name, as two clones would have made it; both ids."""
    box.set("k", "from one", now=stamp(hours=open_is_newer))
    ours = box.meta("k")["id"]
    kept = {p: p.read_bytes() for p in (box.md("k"), box.side("k"))}
    for p in kept:
        p.unlink()
    box.set("k", "from two", "--sensitivity", label)
    theirs = box.meta("k")["id"]
    for p, data in kept.items():
        p.write_bytes(data)
    assert (ours > theirs) == open_is_newer or not open_is_newer
    return ours, theirs


CLONES = pytest.mark.parametrize(("label", "newer"), [("sensitive", True), ("sensitive", False), ("restricted", True)])


@CLONES
def test_a_key_under_two_names_is_one_fact_in_conflict_with_the_stricter_label_and_the_greater_id(
    box: Box, label: str, newer: bool
) -> None:
    ours, theirs = two_clones(box, label, open_is_newer=newer)
    found = list(facts.every(box.store))
    assert [(f.key, f.state, str(f.sensitivity), f.id) for f in found] == [("k", "conflict", label, max(ours, theirs))]
    assert facts.get(box.store, "k") == found[0]
    assert box.run("fact", "get", "k").code == 6
    assert box.run("fact", "set", "k", "new").code == 4
    assert "two_files" in [f["code"] for f in box.data("doctor")]


@CLONES
def test_doctor_makes_one_of_two_and_keeps_the_other_in_the_archive(box: Box, label: str, newer: bool) -> None:
    ours, theirs = two_clones(box, label, open_is_newer=newer)
    box.ok("doctor", "--fix")
    [fact] = facts.every(box.store)
    assert (fact.id, fact.state, str(fact.sensitivity)) == (max(ours, theirs), "ok", label)
    kept = [json.loads(line) for p in (box.root / "archive").glob("*.jsonl") for line in p.read_text().splitlines()]
    assert [row["meta"]["id"] for row in kept] == [min(ours, theirs)]
    assert "two_files" not in [f["code"] for f in box.data("doctor")]


# The protocol.


def test_what_a_write_syncs_and_in_which_order(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def wrap(name: str, show: Callable[..., str]) -> None:
        plain = getattr(files.Folder, name)

        def watched(self: files.Folder, *words: object, **more: object) -> object:
            if folder(self) != ".memcli" or name == "append":
                done.append(show(self, *words))
            return plain(self, *words, **more)

        monkeypatch.setattr(files.Folder, name, watched)

    def folder(self: files.Folder) -> str:
        return os.path.basename(self.path)

    wrap("create", lambda self, name, data: f"write {'sidecar' if 'meta' in name else 'text'}")
    wrap("rename", lambda self, old, new: f"rename {'sidecar' if 'meta' in new else 'text'}")
    wrap("append", lambda self, name, data: f"append {folder(self)}")
    wrap("sync", lambda self: f"sync {folder(self)}")

    def steps(*words: str) -> list[str]:
        done.clear()
        box.ok(*words)
        assert done[0] == journal  # nothing is begun that the next writer would not know of
        return [d for d in done if d != journal]

    journal = "append .memcli"
    value = ["write text", "write sidecar", "sync facts", "rename sidecar", "sync facts", "rename text", "sync facts"]
    label = ["write text", "write sidecar", "rename sidecar", "sync facts", "rename text", "sync facts"]
    assert steps("fact", "set", "k", "one") == value
    assert steps("fact", "set", "k", "two") == ["append archive", "sync archive", *value]
    assert steps("fact", "set", "k", "three") == ["append archive", *value]
    assert steps("fact", "set", "k", "--ttl", "5") == ["write sidecar", "rename sidecar", "sync facts"]
    assert steps("fact", "set", "k", "--tag", "a") == ["write text", "rename text", "sync facts"]
    assert steps("fact", "set", "k", "--sensitivity", "public") == label
    gone = steps("forget", "k", "--yes")
    assert gone[-2:] == ["sync facts", "sync facts"]
    assert gone.index("append facts") < gone.index("sync facts")


def test_a_failed_write_leaves_the_old_value_and_no_temp_file(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set("k", "old")
    before = box.tree()
    plain = files.Folder.rename

    def broken(self: files.Folder, old: str, new: str) -> None:
        if new.endswith(".meta.json"):
            files.fail("rename", new, OSError(5, "Input/output error"))
        plain(self, old, new)

    monkeypatch.setattr(files.Folder, "rename", broken)
    ran = box.run("fact", "set", "k", "new", "--json")
    assert (ran.code, ran.error["code"]) == (7, "system")
    assert {n: d for n, d in box.tree().items() if n.startswith("facts")} == {
        n: d for n, d in before.items() if n.startswith("facts")
    }
    monkeypatch.setattr(files.Folder, "rename", plain)
    assert box.get("k") == "old"
    # The line that was archived before the failure belongs to the live value: no history, and no second one later.
    assert [r["text"] for r in box.data("fact", "history", "k")] == ["old"]
    box.set("k", "new")
    assert [r["text"] for r in box.data("fact", "history", "k")] == ["new", "old"]


# A person's own fields.

OWN = 'mine:\nempty: []\nmap: {}\nblank: ""\nlist: [a, b]\nnote: by hand\n'


def own_fields(path: Path) -> str:
    """The lines of the front matter that begin with a field of the person's."""
    lines = path.read_text().split("---\n")[1].splitlines(keepends=True)
    return "".join(
        line for line in lines if line.partition(":")[0] in ("mine", "empty", "map", "blank", "list", "note")
    )


def test_fields_that_a_person_added_stay_on_every_rewrite_empty_or_not(box: Box) -> None:
    box.set("k", "v")
    md = box.md("k")
    md.write_text(md.read_text().replace("key: k\n", f"key: k\n{OWN}"))
    for words in (
        ("fact", "adopt", "k"),
        ("fact", "set", "k", "w"),
        ("fact", "set", "k", "--tag", "t"),
        ("fact", "set", "k", "--sensitivity", "public"),
        ("fact", "relate", "k", "is_a", "thing"),
        ("fact", "rename", "k", "j"),
        ("forget", "j", "--yes"),
        ("restore", "j"),
    ):
        box.ok(*words)
        if words[0] != "forget":
            assert own_fields(next((box.root / "facts").glob("*.md"))) == OWN, words
    other = Box(box.root.parent / "other")
    other.ok("init")
    path = str(box.root.parent / "x.jsonl")
    box.ok("export", "jsonl", path)
    other.ok("import", "jsonl", path, "--trusted")
    assert own_fields(other.md("j")) == OWN


def test_fields_that_a_person_added_to_a_procedure_stay_too(box: Box) -> None:
    box.ok("procedure", "propose", "p", "--step", "do it", "--source", "agent:coder", "--tag", "t")
    md = box.root / "procedures" / "p.md"
    md.write_text(md.read_text().replace("key: p\n", f"key: p\n{OWN}"))
    box.ok("procedure", "approve", "p", "--by", "user:anna")
    box.ok("procedure", "record", "p", "--success")
    assert own_fields(md) == OWN
    other = Box(box.root.parent / "other")
    other.ok("init")
    path = str(box.root.parent / "x.jsonl")
    box.ok("export", "jsonl", path)
    other.ok("import", "jsonl", path, "--trusted")
    assert own_fields(other.root / "procedures" / "p.md") == OWN
