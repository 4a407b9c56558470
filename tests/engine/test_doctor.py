"""Doctor: every fault it knows is found where it was planted and nowhere else, and --fix mends what it says it mends."""

import json
import os
import re
import subprocess
from collections.abc import Callable

import pytest
from support import Box, at, stamp

from memcli.base import ids
from memcli.engine import findings
from memcli.model import header, keys, labels, merge
from memcli.store import archive, episodes, facts, merge_notes, pair

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"
ID = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"


def swap(path: "os.PathLike[str]", old: str, new: str) -> None:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert old in text
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))


def hand(box: Box, name: str, text: str) -> None:
    path = box.root / "facts" / name
    path.write_text(text)
    os.utime(path, (at().timestamp(),) * 2)


def come_back(box: Box) -> None:
    """What was purged is there again, as after a merge with a clone that still has it."""
    held = {path: path.read_bytes() for path in (box.md("k"), box.side("k"))}
    box.ok("forget", "k", "--purge", "--yes")
    for path, data in held.items():
        path.write_bytes(data)


def two_files(box: Box) -> None:
    kept = {p: p.read_bytes() for p in (box.md("k"), box.side("k"))}
    for path in kept:
        path.unlink()
    box.set("k", "other", "--sensitivity", "sensitive")
    for path, data in kept.items():
        path.write_bytes(data)


def two_by_hand(box: Box) -> None:
    hand(box, "k-again.md", "---\nkey: k\nsensitivity: internal\n---\n\nby hand\n")
    swap(box.root / "facts" / "k-again.md", "\n---\n\nby hand", "\nsensitivity: internal\n---\n\nby hand")


def unfinished(box: Box) -> None:
    (box.root / "facts" / pair.md_temp("k", ID)).write_text("x")


def orphan(box: Box) -> None:
    box.md("k").unlink()
    os.utime(box.side("k"), (at().timestamp(),) * 2)


def leftover(box: Box) -> None:
    fact = box.fact("k")
    with box.store.writing() as w:
        archive.append(w, "facts", fact.name, facts.archived_line(fact, "forgotten", at()), "trash")
    box.md("k").unlink()


def half_written(box: Box) -> None:
    old = box.md("k").read_bytes()
    box.set("k", "newer")
    box.md("k").write_bytes(old)


def torn(box: Box) -> None:
    box.add("more")
    box.log().write_bytes(box.log().read_bytes()[:-9])


def wrong_month(box: Box) -> None:
    box.log().rename(box.log("2026-10"))
    swap(box.log("2026-10"), "# Episodes 2026-11", "# Episodes 2026-10")


def name_of_another(box: Box) -> None:
    for path in (box.md("k"), box.side("k")):
        path.rename(path.with_name(path.name.replace("k.", f"{keys.file_name('some other key')}.", 1)))


def circular(box: Box) -> None:
    for key in ("a", "b"):
        box.set(key, "v")
    box.ok("fact", "set", "a", "--derived-from", "b")
    swap(box.side("b"), '  "created_at"', '  "derived_from": ["a"],\n  "created_at"')


def bad_state(box: Box) -> None:
    (box.root / ".memcli").rename(box.root.parent / "kept-state")
    (box.root / ".memcli").write_text("x")


def tracked_state(box: Box) -> None:
    for words in (["init", "-q"], ["add", "-f", ".memcli/lock"]):
        subprocess.run(["git", "-C", box.root, *words], check=True)


def merge_left(box: Box) -> None:
    """The other side's value of a fact, as the merge driver notes it."""
    fact = box.fact("k")
    other = fact.replace(id=ids.new(at(days=-1)), text="their value")
    for part, data in zip(("md", "sidecar"), facts.encode(other), strict=True):
        made = merge.Merged(data=b"", stood=fact.id, other=other.id, aside=data)
        merge_notes.leave(box.store, "facts", fact.name, part, made)


def vectors(box: Box, said: str, *, enabled: str = "true") -> None:
    path = box.root / "memcli.toml"
    path.write_text(f"{path.read_text()}\n[vectors]\nenabled = {enabled}\n{said}")


def not_encoded(box: Box) -> None:
    """Nobody listens at port 9."""
    vectors(box, 'endpoint = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    box.ok("config", "vectors.endpoint", "--allow")
    assert box.run("reindex", "--vectors").code == 7


# code -> how to make it so; the store holds the fact "k" and one episode of this month.
FAULTS: dict[str, Callable[[Box], object]] = {
    "bad_label": lambda box: swap(box.md("k"), "sensitivity: internal\n", "sensitivity: secret\n"),
    "bad_key": lambda box: hand(box, "any.md", '---\nkey: "a\\u0007b"\nsensitivity: internal\n---\n\nx\n'),
    "bad_tombstone": lambda box: (box.root / "tombstones.jsonl").write_text("<<<<<<< HEAD\n"),
    "bad_name": lambda box: (box.root / "episodes" / "notes.md").write_text("x"),
    "circular": circular,
    "conflict_copy": lambda box: (box.root / "facts" / "k.sync-conflict-20261115-090000-ABC.md").write_text("x"),
    "conflict_markers": lambda box: swap(box.md("k"), "\nvalue\n", "\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"),
    "damaged": lambda box: swap(box.log(), '"sensitivity":"internal"', '"sensitivity":"odd"'),
    "damaged_header": lambda box: swap(box.md("k"), "key: k\n", "key: k\nkey: k\n"),
    "damaged_sidecar": lambda box: swap(box.side("k"), "{\n", "{{\n"),
    "damaged_source": lambda box: (
        (box.root / "sources").mkdir(exist_ok=True),
        (box.root / "sources" / "s.meta.json").write_text("{"),
    ),
    "drift": lambda box: swap(box.md("k"), "\nvalue\n", "\nby hand\n"),
    "edited": lambda box: swap(box.log(), "happened", "happened, by hand"),
    "foreign_file": lambda box: (box.root / "facts" / "picture.png").write_text("x"),
    "future": lambda box: box.set("late", "v", now=stamp(days=2)),
    "half_written": half_written,
    "irregular_name": lambda box: [
        p.rename(p.with_name(p.name.replace("k.", "other name.", 1))) for p in (box.md("k"), box.side("k"))
    ],
    "key_differs": lambda box: swap(box.md("k"), "key: k\n", "key: other\n"),
    "key_visible": lambda box: box.ok("fact", "set", "k", "--sensitivity", "sensitive"),
    "label_differs": lambda box: swap(box.md("k"), "sensitivity: internal\n", "sensitivity: public\n"),
    "leavings": lambda box: (box.root / "facts" / "k.md~").write_text("x"),
    "leftover_sidecar": leftover,
    "merge_left": merge_left,
    "newer_format": lambda box: swap(box.side("k"), '"format": 1', '"format": 2'),
    "no_model": lambda box: (
        vectors(box, 'endpoint = "http://127.0.0.1:9/v1"\n'),
        box.ok("config", "vectors.endpoint", "--allow"),
    ),
    "host_not_allowed": lambda box: vectors(box, 'endpoint = "http://127.0.0.1:9/v1"\nmodel = "m"\n'),
    "not_encoded": not_encoded,
    "unused_setting": lambda box: vectors(box, 'model = "m"\n', enabled="false"),
    "no_sidecar": lambda box: (box.side("k").unlink(), os.utime(box.md("k"), (at().timestamp(),) * 2)),
    "name_of_another": name_of_another,
    "no_driver": lambda box: subprocess.run(["git", "init", "-q", box.root], check=True),
    "not_a_file": lambda box: (box.root / "facts" / "link.md").symlink_to("/etc/hostname"),
    "not_private": lambda box: (box.root / ".memcli").chmod(0o755),
    "not_ignored": lambda box: (box.root / ".gitignore").write_text("*.log\n"),
    "orphan_sidecar": orphan,
    "secret": lambda box: hand(box, "s.md", f"---\nkey: s\nsensitivity: internal\n---\n\n{TOKEN}\n"),
    "torn": torn,
    "torn_line": lambda box: (
        (box.root / "archive").mkdir(exist_ok=True),
        (box.root / "archive" / "k.jsonl").write_text('{"torn'),
    ),
    "purged": come_back,
    "tracked_state": tracked_state,
    "two_files": two_files,
    "two_to_choose": two_by_hand,
    "bad_state": bad_state,
    "unfinished": unfinished,
    "unknown_basis": lambda box: box.ok("fact", "set", "k", "--derived-from", "nothing known"),
    "unknown_target": lambda box: box.ok("fact", "relate", "k", "part_of", "nothing known"),
    "unknown_setting": lambda box: swap(box.root / "memcli.toml", "[policy]\n", "[policy]\nshine = true\n"),
    "wrong_month": wrong_month,
}
# What comes with a fault: the same file has two things wrong.
ALSO = {
    "secret": {"no_sidecar"},
    "bad_key": {"no_sidecar"},
    "two_files": {"label_differs", "key_visible"},
    "tracked_state": {"no_driver"},
    "two_to_choose": {"damaged_header", "irregular_name"},
}
# What one clone lacks is no fault of the store.
OF_THE_CLONE = {"no_driver"}
MENDED = {
    "label_differs",
    "leftover_sidecar",
    "merge_left",
    "not_private",
    "not_ignored",
    "torn",
    "two_files",
    "unfinished",
}


@pytest.fixture
def ill(box: Box) -> Box:
    box.set("k", "value")
    box.set("other fact", "stays well")
    box.add("happened", "--task", "t")
    assert box.data("doctor") == []
    assert box.ok("doctor").err == "nothing wrong\n"
    return box


# What --deep alone finds is planted in test_indexing.
AT_ONCE = set(findings.CODES) - {"index_differs"}


def codes(box: Box, *words: str, now: str | None = None) -> set[str]:
    return {f["code"] for f in box.data("doctor", *words, now=now) if "mended" not in f}


@pytest.mark.parametrize("code", sorted(AT_ONCE))
def test_a_fault_is_found_where_it_was_planted_and_no_other_is(ill: Box, code: str) -> None:
    FAULTS[code](ill)
    found = ill.data("doctor")
    assert {f["code"] for f in found} - ALSO.get(code, set()) == {code}
    for finding in found:
        severity, message, step = findings.CODES[finding["code"]]
        assert (finding["severity"], finding["message"], finding["next"]) == (severity, message, step)
        assert os.path.lexists(ill.root / finding["path"])
    assert "other-fact" not in json.dumps(found)
    text = ill.ok("doctor").out
    assert all(f["path"] in text and f["next"] in text for f in found)


@pytest.mark.parametrize("code", sorted(AT_ONCE))
def test_check_fails_for_errors_and_warnings_alone(ill: Box, code: str) -> None:
    FAULTS[code](ill)
    ran = ill.run("check")
    bad = [f for f in ill.data("doctor") if f["severity"] != "note" and f["code"] not in OF_THE_CLONE]
    assert ran.code == (4 if bad else 0)
    assert len(ran.out.splitlines()) == len(bad)
    before = ill.tree()
    ill.run("check", "--json")
    assert ill.tree() == before


@pytest.mark.parametrize("code", sorted(MENDED))
def test_fix_mends_what_it_says(ill: Box, code: str) -> None:
    assert "doctor --fix" in findings.CODES[code][2]
    FAULTS[code](ill)
    ran = ill.ok("doctor", "--fix")
    assert "mended 1\n" in ran.err
    told = findings.CODES[code][1]
    assert re.search(rf"^mended: [^:]+: (?:{re.escape(told)}|.*memcli fact history KEY)$", ran.err, re.M)
    assert code not in codes(ill)
    before = ill.touched()
    assert "mended" not in ill.ok("doctor", "--fix").err
    assert ill.touched() == before
    assert ill.get("other fact") == "stays well"


@pytest.mark.parametrize("code", sorted(AT_ONCE - MENDED))
def test_fix_leaves_alone_what_a_person_must_decide(ill: Box, code: str) -> None:
    FAULTS[code](ill)
    before = ill.tree()
    ran = ill.run("doctor", "--fix")
    assert ran.code == (4 if code == "bad_state" else 0)
    assert code != "bad_state" or "move .memcli out of the store" in ran.err
    assert code in codes(ill)
    assert ill.tree() == before


def test_every_next_step_that_names_fix_is_mended() -> None:
    named = {c for c, (_, _, step) in findings.CODES.items() if step == "memcli doctor --fix"}
    assert named == MENDED
    assert set(FAULTS) == AT_ONCE


def test_an_orphan_goes_to_the_trash_after_seven_days(ill: Box) -> None:
    orphan(ill)
    assert codes(ill, "--fix", now=stamp(days=6)) == {"orphan_sidecar"}
    assert codes(ill, "--fix", now=stamp(days=8)) == set()
    assert not ill.side("k").exists()


def test_what_is_mended_of_two_files_is_kept(ill: Box) -> None:
    two_files(ill)
    ill.ok("doctor", "--fix")
    fact = ill.fact("k")
    assert (fact.state, fact.sensitivity) == ("ok", labels.SENSITIVE)
    kept = " ".join(p.read_text() for p in (ill.root / "archive").glob("*.jsonl"))
    assert {fact.text, json.loads(kept)["text"]} == {"value", "other"}


def test_a_broken_store_is_described_whole(ill: Box) -> None:
    """Many faults at once: none hides another, and the good facts are still served."""
    together = ["bad_name", "conflict_copy", "drift", "foreign_file", "future", "leavings", "not_a_file", "not_private", "not_ignored", "secret", "torn", "torn_line", "unknown_setting", "damaged_source", "unfinished"]  # fmt: skip
    for code in together:
        FAULTS[code](ill)
    assert set(together) <= codes(ill)
    assert ill.get("other fact") == "stays well"
    assert ill.run("context").code == 0
    ill.ok("doctor", "--fix")
    assert codes(ill).isdisjoint(MENDED)


def test_findings_are_sorted_and_stable(ill: Box) -> None:
    for code in ("drift", "leavings", "bad_name"):
        FAULTS[code](ill)
    first = ill.ok("doctor").out
    assert first == ill.ok("doctor").out
    paths = [f["path"] for f in ill.data("doctor")]
    assert paths == sorted(paths)


@pytest.mark.parametrize("layer", ["facts", "episodes", "sources", "archive", "procedures"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_layer_that_is_no_folder_is_named_and_hides_nothing_else(ill: Box, layer: str, kind: str) -> None:
    swap(ill.root / "memcli.toml", "[policy]\n", "[policy]\nshine = true\n")
    path = ill.root / layer
    if path.exists():
        path.rename(ill.root.parent / "moved")
    path.symlink_to(ill.root.parent / "moved") if kind == "link" else path.write_text("x")
    found = {(f["code"], f["path"]) for f in ill.data("doctor")}
    assert ("not_a_file", layer) in found
    assert ("unknown_setting", "memcli.toml") in found


def test_a_procedure_is_examined_like_a_fact(ill: Box) -> None:
    row = {"kind": "procedure", "key": "p", "sensitivity": "internal", "steps": [{"name": "a", "action": "b"}]}
    ill.ok("import", "jsonl", "-", "--trusted", stdin=json.dumps(row).encode())
    assert codes(ill) == set()
    (ill.root / "procedures" / "p.meta.json").write_text("{")
    assert {(f["code"], f["path"]) for f in ill.data("doctor")} == {("damaged_sidecar", "procedures/p.meta.json")}


def test_the_sample_store_is_well(sample: Box) -> None:
    assert [f for f in sample.data("doctor") if f["severity"] != "note"] == []
    assert sample.run("check").code == 0


def test_reading_a_well_store_needs_no_yaml_library(ill: Box) -> None:
    # What memcli writes is in the plain subset, so that doctor of a large store stays fast.
    front, _ = header.split(ill.md("k").read_text())
    assert front is not None
    assert ids.valid(front["id"])
    assert episodes.read(ill.store, "2026-11").problems == ()


# --- Two files for one key


def archived(box: Box) -> list[tuple[str, str, str]]:
    rows = box.data("fact", "history", "k", "--reveal")
    return [(r["text"], f"{r['source']['kind']}:{r['source']['id']}", r["sensitivity"]) for r in rows[1:]]


def test_what_a_hand_wrote_beside_a_fact_becomes_a_former_value(ill: Box) -> None:
    written = ill.fact("k").id
    hand(ill, "other.md", "---\nkey: k\nsensitivity: internal\n---\n\nby hand\n")
    assert codes(ill) == {"two_files", "irregular_name"}  # adopting it is no way before they are one
    ran = ill.ok("doctor", "--fix")
    assert "facts/other.md: what a hand wrote there is a former value of the key now, of source user:hand" in ran.err
    assert codes(ill) == set()
    assert (ill.get("k"), ill.fact("k").id) == ("value", written)
    assert archived(ill) == [("by hand", "user:hand", "internal")]
    before = ill.tree()
    assert "mended" not in ill.ok("doctor", "--fix").err
    assert ill.tree() == before


def test_a_file_with_the_id_of_a_former_value_does_not_take_its_place(ill: Box) -> None:
    copy = {p: p.read_text() for p in (ill.md("k"), ill.side("k"))}
    ill.set("k", "second")
    for path, text in copy.items():
        path.with_name(path.name.replace("k.", "copy.", 1)).write_text(text.replace("\nvalue\n", "\nvalue, edited\n"))
    ill.ok("doctor", "--fix")
    assert codes(ill) == set()
    assert ill.get("k") == "second"
    assert sorted(text for text, *_ in archived(ill)) == ["value", "value, edited"]


def test_a_hand_made_file_without_a_label_keeps_the_strictest(ill: Box) -> None:
    hand(ill, "other.md", "---\nkey: k\n---\n\nby hand\n")
    ill.ok("doctor", "--fix")
    assert ill.run("fact", "get", "k").code == 6
    assert ill.fact("k").sensitivity == labels.RESTRICTED
    assert archived(ill) == [("by hand", "user:hand", "restricted")]


def test_of_two_hand_made_files_the_one_with_the_name_of_the_key_is_adopted(ill: Box) -> None:
    for name, text in (("new.md", "A"), ("a.md", "B"), ("b.md", "C")):
        hand(ill, name, f"---\nkey: new\nsensitivity: internal\n---\n\n{text}\n")
    ill.ok("doctor", "--fix")
    assert codes(ill) == set()
    assert ill.get("new") == "A"
    assert sorted(r["text"] for r in ill.data("fact", "history", "new")) == ["A", "B", "C"]


def test_two_files_of_a_purged_value_are_left_for_a_person(ill: Box) -> None:
    come_back(ill)
    hand(ill, "other.md", "---\nkey: k\nsensitivity: internal\n---\n\nby hand\n")
    before = ill.tree()
    ill.ok("doctor", "--fix")
    assert ill.tree() == before
    assert {"purged", "two_files"} <= codes(ill)


def test_two_procedures_of_one_key_are_left_for_a_person(ill: Box) -> None:
    ill.ok("procedure", "propose", "p", "text", "--step", "a: b")
    [path] = ill.root.rglob("p.md")
    path.with_name("q.md").write_text(path.read_text())
    assert "two_to_choose" in codes(ill)


def test_a_link_in_the_place_of_a_layer_keeps_no_other_from_being_mended(ill: Box) -> None:
    torn(ill)
    (ill.root / "procedures").mkdir(exist_ok=True)
    (ill.root / "procedures").rmdir()
    (ill.root / "procedures").symlink_to(ill.root.parent)
    assert "mended 1" in ill.ok("doctor", "--fix").err
    assert codes(ill) == {"not_a_file"}


# --- The next step that is printed makes the finding go away


def from_git(box: Box, path: str) -> None:
    subprocess.run(["git", "-C", box.root, "checkout", "-q", "--", path], check=True)


def edit(box: Box, path: str, old: str, new: str) -> None:
    swap(box.root / path, old, new)


def move_out(box: Box, path: str) -> None:
    (box.root / path).rename(box.root.parent / "moved out")


def to_its_month(box: Box, path: str) -> None:
    """The entry goes to the log of its month, whose heading says so."""
    (box.root / path).rename(box.log())
    swap(box.log(), "# Episodes 2026-10", "# Episodes 2026-11")


def set_anew(box: Box, _: str) -> None:
    box.ok("forget", "k", "--yes")
    box.ok("fact", "set", "k", "value", "--sensitivity", "sensitive")


def delete_and_adopt(box: Box, path: str) -> None:
    (box.root / path).unlink()
    box.ok("fact", "adopt", "k")


def finish(box: Box, path: str) -> None:
    """The other half of the checkout comes."""
    from_git(box, "facts")


def plain_file(box: Box, path: str) -> None:
    (box.root / path).unlink()
    hand(box, "link.md", "---\nkey: link\nsensitivity: internal\n---\n\nx\n")


def say(*words: str) -> Callable[[Box, str], object]:
    return lambda box, path: box.ok(*words)


FIX = say("doctor", "--fix")
# code -> each way that its next step names, as somebody would go it: with the store and the path of the finding.
NEXT: dict[str, list[Callable[[Box, str], object]]] = {
    "bad_label": [lambda box, path: edit(box, path, "sensitivity: secret", "sensitivity: internal")],
    "bad_key": [lambda box, path: edit(box, path, "a\\u0007b", "another")],
    "bad_name": [move_out],
    "bad_state": [move_out],
    "bad_tombstone": [from_git],
    "circular": [say("fact", "set", "a", "--derived-from", ""), say("fact", "set", "b", "--derived-from", "k")],
    "conflict_copy": [move_out],
    "conflict_markers": [lambda box, path: edit(box, path, "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", "value\n")],
    "damaged": [from_git],
    "damaged_header": [from_git, lambda box, path: edit(box, path, "key: k\nkey: k\n", "key: k\n")],
    "damaged_sidecar": [from_git, delete_and_adopt],
    "damaged_source": [from_git],
    "drift": [say("fact", "adopt", "k"), say("fact", "adopt", "--all")],
    "foreign_file": [move_out],
    "merge_left": [say("doctor", "--fix")],
    "half_written": [finish],
    "host_not_allowed": [say("config", "vectors.endpoint", "--allow")],
    "key_differs": [lambda box, path: edit(box, path, "key: other\n", "key: k\n")],
    "key_visible": [set_anew],
    "label_differs": [FIX],
    "leavings": [lambda box, path: (box.root / path).unlink()],
    "leftover_sidecar": [FIX],
    "name_of_another": [lambda box, path: [
        p.rename(p.with_name(p.name.replace(p.name.split(".")[0], "plain", 1))) for p in (box.root / "facts").iterdir() if "--" in p.name
    ]],
    "no_model": [lambda box, path: edit(box, path, "/v1\"\n", "/v1\"\nmodel = \"m\"\n")],
    "no_sidecar": [say("fact", "adopt", "k"), say("fact", "adopt", "--all")],
    "not_a_file": [plain_file],
    "not_private": [FIX],
    "not_ignored": [FIX],
    "orphan_sidecar": [lambda box, path: from_git(box, path.replace(".meta.json", ".md")), lambda box, path: box.ok("doctor", "--fix", now=stamp(days=8))],
    "purged": [say("forget", "k", "--purge", "--yes"), say("fact", "set", "k", "value", "--include-forgotten")],
    "secret": [
        lambda box, path: edit(box, path, TOKEN, "none"),
        say("fact", "set", "s", "--sensitivity", "restricted", "--allow-secret"),
        say("fact", "set", "s", TOKEN, "--sensitivity", "restricted", "--allow-secret"),
    ],
    "torn": [FIX],
    "torn_line": [from_git],
    "tracked_state": [lambda box, path: subprocess.run(["git", "-C", box.root, "rm", "-r", "-q", "--cached", ".memcli"], check=True)],
    "two_files": [FIX],
    "two_to_choose": [move_out, lambda box, path: (edit(box, path, "sensitivity: internal\nsensitivity: internal", "sensitivity: internal"), FIX(box, path))],
    "unfinished": [FIX],
    "unknown_basis": [say("fact", "set", "k", "--derived-from", "other fact"), say("fact", "set", "k", "--derived-from", "")],
    "unknown_setting": [lambda box, path: edit(box, path, "shine = true\n", "")],
    "unknown_target": [say("fact", "set", "nothing known", "v"), say("fact", "unrelate", "k", "part_of", "nothing known")],
    "unused_setting": [lambda box, path: edit(box, path, 'model = "m"\n', ""), lambda box, path: edit(box, path, 'model = "m"\n', 'model = "m"\nendpoint = "http://127.0.0.1:9/v1"\n')],
    "wrong_month": [to_its_month],
}  # fmt: skip
# What no step of this store's takes away, with the reason.
NOT_HERE = {
    "edited": "nothing is to be done: the edit holds",
    "future": "the clock of this machine is to be looked at",
    "irregular_name": "nothing is to be done: memcli finds it",
    "newer_format": "another memcli is to be installed",
    "no_driver": "tests/merge/test_setup.py does it",
    "not_encoded": "needs a host that answers: test_vectors",
    "index_differs": "planted in test_indexing",
}


@pytest.mark.parametrize(("code", "way"), [(code, n) for code, ways in sorted(NEXT.items()) for n in range(len(ways))])
def test_the_next_step_makes_the_finding_go_away(ill: Box, code: str, way: int) -> None:
    if code == "torn_line":
        (ill.root / "archive").mkdir(exist_ok=True)
        (ill.root / "archive" / "k.jsonl").write_text("")
    elif code == "bad_tombstone":
        (ill.root / "tombstones.jsonl").write_text("")
    elif code == "damaged_source":
        ill.ok("source", "set", "s", "--kind", "url")
    if any(ways is from_git for ways in NEXT[code]) or code in ("orphan_sidecar", "half_written"):
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", "-C", ill.root, *words], check=True)
    FAULTS[code](ill)
    path = next(f["path"] for f in ill.data("doctor") if f["code"] == code)
    NEXT[code][way](ill, path)
    assert code not in codes(ill, now=stamp(hours=1))


def test_every_finding_has_a_step_that_was_gone_or_a_reason_why_not() -> None:
    assert set(NEXT) | set(NOT_HERE) == set(findings.CODES)
    assert not set(NEXT) & set(NOT_HERE)
