"""The monthly log: no entry is ever lost, joined to another or forged, whatever its text and whenever a writer stops."""

import json
import os
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import CANARY, Box, at, stamp

from memcli.base import ids
from memcli.model import labels, records
from memcli.store import archive, episodes, monthly

MONTH = "2026-11"
ID = "0199e4a0-5b00-7c3e-9a51-0d6a0f1b2c3d"
OTHER = "0199e4a0-5b01-7c3e-9a51-0d6a0f1b2c3d"
SOURCE = records.Source(id="coder", kind="agent")


def episode(text: str, made: str = ID, **more: object) -> records.Episode:
    given = {"id": made, "at": at(), "text": text, "source": SOURCE} | more
    return records.Episode(**given)  # type: ignore[arg-type]


def log(*entries: records.Episode) -> bytes:
    return f"# Episodes {MONTH} (memcli format 1)\n".encode() + b"".join(map(monthly.encode, entries))


def texts(data: bytes) -> list[str]:
    return [e.text for e in monthly.parse(data, MONTH).entries]


# Any text.

IMITATIONS = [
    "## 2026-11-15T09:00:00Z {",
    f'## 2026-11-15T09:00:00Z {{"id":"{OTHER}","length":3,"digest":"ba7816bf","sensitivity":"public"}}\nabc\n<!-- end {OTHER} public -->',
    f"<!-- end {ID} internal -->",
    f"<!-- end {ID} public -->",
    f"<!-- raise {ID} restricted -->",
    "<!-- torn 2026-11-15T09:00:00Z -->",
    "\\## 2026-11-15T09:00:00Z {}",
    "\\\\\\<!-- end x -->",
    "\\",
    "# Episodes 2026-11 (memcli format 1)",
    "```\nfence\n```",
    "---\nkey: k\n---",
    "<<<<<<< HEAD\n=======\n>>>>>>> other",
    "\n\n\n",
    "",
    "\u2028\x85\x0b\x0c\x1c",
]
PIECES = st.lists(
    st.one_of(
        st.sampled_from([*IMITATIONS, "\n", "\\", " "]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20),
    ),
    max_size=8,
)
BODIES = st.one_of(PIECES.map("\n".join), PIECES.map("".join))


@settings(max_examples=400)
@given(first=BODIES, second=BODIES, label=st.sampled_from(["public", "internal", "sensitive", "restricted"]))
@example("x", "y", "public")
def test_any_text_comes_back_and_forges_nothing(first: str, second: str, label: str) -> None:
    made = [episode(first, ID, sensitivity=labels.sensitivity(label)), episode(second, OTHER)]
    found = monthly.parse(log(*made), MONTH)
    assert [e.replace(month="") for e in found.entries] == made
    assert [p for p in found.problems if p[1] != "conflict_markers"] == []


@pytest.mark.parametrize("text", IMITATIONS, ids=repr)
def test_texts_that_imitate_structure_come_back(text: str) -> None:
    made = [episode(text, ID, sensitivity=labels.PUBLIC), episode("after", OTHER)]
    assert [e.replace(month="") for e in monthly.parse(log(*made), MONTH).entries] == made


def test_a_text_about_a_merge_is_no_merge() -> None:
    made = episode("We had:\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\nand took b.")
    assert monthly.parse(log(made), MONTH).problems == ()


FIELDS = {
    "task": "Line one\nline two",
    "outcome": "failed",
    "session": "s",
    "run": "r",
    "agent": "a",
    "confidence": 0.25,
    "importance": 1.0,
    "ttl_minutes": 0,
    "modality": "audio",
    "tags": ("t", 'quote " and \\'),
    "concepts": ("c\nd",),
    "findings": ("f1", "<!-- end x -->"),
    "approach": "by hand",
    "tools": ("git",),
    "steps": 7,
    "patterns": ("p",),
    "evidence": ({"modality": "image", "source": "x.png", "metadata": {"a": [1]}},),
    "trace": "t-1",
    "unknown": {"colour": {"a": None}},
}


def test_every_field_comes_back() -> None:
    made = episode("text", **FIELDS)
    [found] = monthly.parse(log(made), MONTH).entries
    assert found == made.replace(month=MONTH)
    assert set(FIELDS) >= set(records.Episode.__fields__) - {
        "id",
        "at",
        "text",
        "source",
        "state",
        "month",
        "sensitivity",
    }


@pytest.mark.parametrize("name", [n for n in FIELDS if n not in ("ttl_minutes", "unknown")])
def test_a_field_of_the_wrong_type_damages_its_entry_and_no_other(name: str) -> None:
    data = log(episode("bad"), episode("good", OTHER))
    bad = data.replace(b'"sensitivity":"internal"', f'"sensitivity":"internal","{name}":{{"wrong":1}}'.encode(), 1)
    found = monthly.parse(bad.replace(b'"confidence":0.6,', b"", 1).replace(b'"importance":0.5,', b"", 1), MONTH)
    assert "good" in [e.text for e in found.entries]
    assert "bad" not in [e.text for e in found.entries if e.state == "ok" and e.sensitivity < labels.RESTRICTED]
    assert found.problems


# Time.


@pytest.mark.parametrize(
    ("when", "month"),
    [
        (datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC), "2026-10"),
        (datetime(2026, 11, 1, tzinfo=UTC), "2026-11"),
        (datetime(2026, 11, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))), "2026-10"),
        (datetime(2026, 10, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5))), "2026-11"),
        (datetime(2027, 1, 1, 4, tzinfo=timezone(timedelta(hours=9))), "2026-12"),
        (datetime(987, 3, 4, tzinfo=UTC), "0987-03"),
    ],
)
def test_the_month_is_that_of_the_entrys_utc_time(box: Box, when: datetime, month: str) -> None:
    made = box.memory.add_episode("text", now=max(at(), when), at=when)
    assert [p.name for p in (box.root / "episodes").iterdir()] == [f"{month}.md"]
    [found] = episodes.read(box.store, month).entries
    assert (found.at, found.id) == (when.astimezone(UTC), made.id)


def test_ids_grow_within_a_log_even_when_the_clock_goes_back(box: Box) -> None:
    made = [box.add(f"text {n}", now=stamp(hours=-n)) for n in range(6)]
    assert made == sorted(made)
    assert len(set(made)) == 6
    assert all(ids.valid(m) and m[14] == "7" for m in made)


def test_ids_grow_past_a_torn_entry_and_a_raised_label(box: Box) -> None:
    first = box.add("first")
    second = box.add("second")
    box.log().write_bytes(box.log().read_bytes() + b"\n## 2026-11-15T09:00:00Z {torn")
    third = box.add("third", now=stamp(hours=-1))
    with box.store.writing() as w:
        episodes.raise_label(w, episodes.read(box.store, MONTH).entries[0], labels.RESTRICTED)
    fourth = box.add("fourth", now=stamp(hours=-2))
    assert first < second < third < fourth


def test_newest_is_by_time_and_reads_only_the_months_it_needs(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for month in range(1, 10):
        box.add(
            f"in {month}",
            now=f"2026-0{month}-05T00:00:00Z",
        )
    looked: list[str] = []
    plain = episodes.read
    monkeypatch.setattr(episodes, "read", lambda store, month: (looked.append(month), plain(store, month))[1])
    assert next(episodes.newest(box.store)).text == "in 9"
    assert looked == ["2026-09"]


# Writers that stop.


def test_a_log_cut_at_any_byte_of_its_last_entry_loses_no_other_and_joins_none(box: Box) -> None:
    for text in ("first", "second\n## 2026-11-15T09:00:00Z {"):
        box.add(text)
    whole = box.log().read_bytes()
    last = box.add("third ünïcode\n<!-- end x -->", "--task", "t")
    full = box.log().read_bytes()
    begins = full.index(b"##", len(whole)) + len(b"## ")  # less of it tells nothing
    assert last.encode() in full[begins:]
    kept = ["first", "second\n## 2026-11-15T09:00:00Z {"]
    complete = 0
    for cut in range(len(whole), len(full) + 1):
        box.log().write_bytes(full[:cut])
        before = texts(full[:cut])
        assert before in (kept, [*kept, "third ünïcode\n<!-- end x -->"]), cut
        complete += len(before) == 3
        alone = [code for _, code in episodes.read(box.store, MONTH).problems]
        assert (alone != []) == (len(before) == 2 and cut > begins), cut
        new = box.add("fourth")
        found = episodes.read(box.store, MONTH)
        assert [e.text for e in found.entries] == [*before, "fourth"], cut
        assert all(e.state == "ok" for e in found.entries)
        assert found.entries[-1].id == new
        assert (b"\n<!-- torn 2026-11-15T09:00:00Z -->\n" in box.log().read_bytes()) == (len(whole) < cut < len(full))
        codes = [code for _, code in found.problems]
        lost = begins < cut < len(full) - 1
        assert len(codes) == lost, cut
        assert not lost or codes == ["torn"] or full[cut - 1 : cut] == b"}", cut  # a header cut there looks whole
    assert complete == 2  # with and without the final line feed


def test_a_log_cut_within_its_last_header_is_told_and_mended_by_name(box: Box) -> None:
    box.add("first")
    start = len(box.log().read_bytes())
    box.add("second", "--task", "t" * 200)
    box.log().write_bytes(box.log().read_bytes()[: start + 150])
    [found] = box.data("doctor")
    line = box.log().read_bytes().count(b"\n") + 1
    assert (found["code"], found["path"], found["line"]) == ("torn", f"episodes/{MONTH}.md", line)
    assert box.run("check").code == 4
    told = box.ok("doctor", "--fix").err
    assert told == f"mended: episodes/{MONTH}.md: {found['message']}\nmended 1\nnothing wrong\n"
    assert box.run("check").code == 0
    assert box.log().read_bytes()[start:] == b"\n"


def test_what_fix_mended_is_in_its_json(box: Box) -> None:
    box.add("first")
    box.log().write_bytes(box.log().read_bytes()[:-9])
    (box.root / ".memcli").chmod(0o755)
    [private, torn] = sorted(box.data("doctor", "--fix"), key=lambda f: f["code"])
    assert (private["code"], private["path"], private["mended"]) == ("not_private", ".memcli", True)
    assert (torn["code"], torn["path"], torn["mended"]) == ("torn", f"episodes/{MONTH}.md", True)
    assert box.data("doctor", "--fix") == []


def test_doctor_takes_torn_entries_out_and_keeps_their_bytes_in_the_trash(box: Box) -> None:
    box.add("first")
    box.add(f"second {CANARY}")
    data = box.log().read_bytes()
    box.log().write_bytes(data[:-20])
    box.add("third")
    assert [f["code"] for f in box.data("doctor")] == ["torn"]
    box.ok("doctor", "--fix")
    assert box.data("doctor") == []
    assert [e["text"] for e in box.data("episode", "list")] == ["third", "first"]
    assert CANARY not in box.log().read_text()
    assert CANARY in (box.root / ".memcli" / "trash" / "episodes" / f"{MONTH}.torn").read_text()
    before = box.touched()
    box.ok("doctor", "--fix")
    assert box.touched() == before


def test_an_entry_is_one_write(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    plain = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (writes.append(len(data)), plain(fd, data))[1])
    box.add("x" * 100_000)
    assert len([n for n in writes if n > 1000]) == 1


def test_a_short_write_is_cut_back_and_reported(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.add("first")
    before = box.log().read_bytes()
    plain = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: plain(fd, data[:50] if b"## " in bytes(data) else data))
    ran = box.run("episode", "add", "second")
    monkeypatch.undo()
    assert (ran.code, ran.out) == (7, "")
    assert box.log().read_bytes() == before


# Hands and machines.


def test_a_hand_edited_entry_is_served_and_flagged(box: Box) -> None:
    box.add("first")
    box.add("second")
    box.log().write_text(box.log().read_text().replace("first", "first, and more\nby hand"))
    found = episodes.read(box.store, MONTH)
    assert [(e.text, e.state) for e in found.entries] == [("first, and more\nby hand", "edited"), ("second", "ok")]
    assert [(f["code"], f["severity"]) for f in box.data("doctor")] == [("edited", "note")]
    assert box.run("check").code == 0
    assert box.data("episode", "show", found.entries[0].id)["text"] == "first, and more\nby hand"


def test_a_log_checked_out_with_crlf_reads_the_same_and_grows_without_a_torn_mark(box: Box) -> None:
    first = box.add("one\ntwo", "--task", "t")
    entries = episodes.read(box.store, MONTH).entries
    box.log().write_bytes(b"\xef\xbb\xbf" + box.log().read_bytes().replace(b"\n", b"\r\n"))
    assert episodes.read(box.store, MONTH) == monthly.Log(month=MONTH, entries=entries, problems=())
    second = box.add("three", now=stamp(hours=-1))
    assert second > first
    found = episodes.read(box.store, MONTH)
    assert ([e.text for e in found.entries], found.problems) == (["one\ntwo", "three"], ())
    assert b"torn" not in box.log().read_bytes()
    box.ok("forget", first, "--yes")
    assert [e["text"] for e in box.data("episode", "list")] == ["three"]
    box.ok("restore", first)
    assert {e["text"] for e in box.data("episode", "list")} == {"one\ntwo", "three"}


STRICTEST = [
    ("header", '"sensitivity":"public"', '"sensitivity":"restricted"'),
    ("end marker", "public -->", "restricted -->"),
    ("raise", None, f"<!-- raise {ID} restricted -->\n"),
]


@pytest.mark.parametrize(("place", "old", "new"), STRICTEST, ids=[p for p, _, _ in STRICTEST])
def test_the_strictest_of_header_end_marker_and_raise_line_holds(place: str, old: str | None, new: str) -> None:
    text = log(episode("text", sensitivity=labels.PUBLIC)).decode()
    data = text + new if old is None else text.replace(old, new)
    [found] = monthly.parse(data.encode(), MONTH).entries
    assert (found.sensitivity, found.text, found.state) == (labels.RESTRICTED, "text", "ok")


DAMAGE = [
    ('"sensitivity":"public"', '"sensitivity":"Public"'),
    ('"sensitivity":"public"', '"sensitivity":null'),
    ('"sensitivity":"public",', ""),
    ("public -->", "pubic -->"),
    ("public -->", "-->"),
    ("public -->", "public public -->"),
    ("public -->\n", f"public -->\n<!-- raise {ID} nonsense -->\n"),
    ("public -->\n", f"public -->\n<!-- raise {ID}  -->\n"),
    ("public -->\n", f"public -->\n<!-- raise {ID} public -->\n<!-- raise {ID} x -->\n"),
]


@pytest.mark.parametrize(("old", "new"), DAMAGE, ids=[n for _, n in DAMAGE])
def test_a_label_that_cannot_be_read_is_restricted_or_the_entry_is_none(old: str, new: str) -> None:
    data = log(episode("text", sensitivity=labels.PUBLIC), episode("other", OTHER)).decode()
    head, mark, rest = data.partition(old)
    assert mark
    found = monthly.parse(f"{head}{new}{rest}".encode(), MONTH)
    assert [e.text for e in found.entries if e.sensitivity < labels.RESTRICTED] == ["other"]
    assert {e.sensitivity for e in found.entries if e.text == "text"} <= {labels.RESTRICTED}


def test_a_raised_label_holds_for_readers_and_never_falls(box: Box) -> None:
    made = box.add(CANARY, "--sensitivity", "public")
    for label in ("sensitive", "public"):
        [entry] = episodes.read(box.store, MONTH).entries
        with box.store.writing() as w:
            episodes.raise_label(w, entry, labels.sensitivity(label))
    [entry] = episodes.read(box.store, MONTH).entries
    assert (entry.id, entry.sensitivity, entry.state) == (made, labels.SENSITIVE, "ok")
    assert box.run("episode", "show", made).code == 6
    assert CANARY not in box.ok("context").out + box.ok("episode", "list").out
    box.add("next")
    assert len(episodes.read(box.store, MONTH).entries) == 2


@pytest.mark.parametrize("way", ["forget", "sweep"])
def test_an_entry_that_is_taken_out_keeps_the_label_it_was_raised_to(box: Box, way: str) -> None:
    made = box.add(CANARY, "--sensitivity", "public", "--ttl", "1h")
    [entry] = episodes.read(box.store, MONTH).entries
    with box.store.writing() as w:
        episodes.raise_label(w, entry, labels.RESTRICTED)
    box.ok("forget", made, "--yes") if way == "forget" else box.ok("sweep", now=stamp(hours=1))
    place = "trash" if way == "forget" else "archive"
    [(former, _, _)] = episodes.former(box.store, place)
    assert (former.id, former.sensitivity) == (made, labels.RESTRICTED)
    assert CANARY not in box.ok("export", "jsonl", "-", "--clearance", "internal").out
    box.log().unlink(missing_ok=True)
    box.ok("restore", made)
    [back] = episodes.read(box.store, MONTH).entries
    assert back.sensitivity == labels.RESTRICTED


def test_entries_of_one_id_are_one_with_the_strictest_label() -> None:
    twice = log(
        episode("first", sensitivity=labels.SENSITIVE),
        episode("other", OTHER),
        episode("first again", sensitivity=labels.PUBLIC),
    )
    found = monthly.parse(twice, MONTH).entries
    assert [(e.id, e.sensitivity) for e in found] == [(ID, labels.SENSITIVE), (OTHER, labels.INTERNAL)]


def test_around_merge_conflict_markers_entries_are_served(box: Box) -> None:
    first = monthly.encode(episode("before", ID))
    ours, theirs = (monthly.encode(episode(t, ids.new(at(hours=n)))) for n, t in ((1, "ours"), (2, "theirs")))
    after = monthly.encode(episode("after", ids.new(at(hours=3))))
    merged = log() + first + b"<<<<<<< HEAD\n" + ours + b"=======\n" + theirs + b">>>>>>> other\n" + after
    box.log().write_bytes(merged)
    found = episodes.read(box.store, MONTH)
    assert [e.text for e in found.entries if e.text in ("before", "after")] == ["before", "after"]
    assert all(e.state == "ok" for e in found.entries)
    assert "conflict_markers" in [f["code"] for f in box.data("doctor")]
    assert box.run("check").code == 4
    box.add("later")
    assert "later" in [e.text for e in episodes.read(box.store, MONTH).entries]


def test_a_merge_that_splits_an_entry_never_joins_two(box: Box) -> None:
    ours = monthly.encode(episode("the same\nours", ID))
    theirs = monthly.encode(episode("the same\ntheirs", OTHER))
    mixed = (
        ours[: ours.index(b"ours")]
        + b"<<<<<<< a\n"
        + b"ours\n=======\ntheirs\n>>>>>>> b\n"
        + theirs[theirs.index(b"\n<!--") + 1 :]
    )
    found = monthly.parse(log() + mixed + monthly.encode(episode("whole", ids.new(at(hours=1)))), MONTH)
    assert [e.text for e in found.entries] == ["whole"]
    assert "torn" in [code for _, code in found.problems]


@settings(max_examples=300)
@given(data=st.binary(max_size=300), cut=st.integers(0, 500))
def test_parsing_never_raises_and_never_shows_a_damaged_restricted_entry(data: bytes, cut: int) -> None:
    whole = log(episode(CANARY, sensitivity=labels.RESTRICTED))
    found = monthly.parse(whole[:cut] + data + whole[cut:], MONTH)
    for entry in found.entries:
        if CANARY in entry.text:
            assert entry.sensitivity == labels.RESTRICTED


def test_taking_out_keeps_every_other_byte(box: Box) -> None:
    made = [box.add(f"text {n}\n\n\n") for n in range(5)]
    box.log().write_text(box.log().read_text() + "\nA note by a person.\n")
    before = box.log().read_text()
    box.ok("forget", made[2], "--yes")
    after = box.log().read_text()
    gone = re.sub(
        r"\n## \S+ \{[^\n]*" + made[2] + r".*?<!-- end " + made[2] + r" internal -->\n", "", before, flags=re.S
    )
    assert after == gone
    row = json.loads((box.root / ".memcli" / "trash" / "episodes" / f"{MONTH}.jsonl").read_text())
    assert (row["meta"]["id"], row["text"], row["layer"]) == (made[2], "text 2\n\n\n", "episodes")


def test_a_file_in_the_folder_that_is_no_log_is_not_read(box: Box) -> None:
    box.add("real", "--sensitivity", "public")
    data = box.log().read_bytes().replace(b"real", b"fake")
    for name in (
        "notes.md",
        "2026-13.md",
        "2026-11.md.bak",
        "2026-11 (1).md",
        "2026-11.sync-conflict-1.md",
        "26-11.md",
    ):
        (box.root / "episodes" / name).write_bytes(data)
    assert [e["text"] for e in box.data("episode", "list")] == ["real"]
    assert len([f for f in box.data("doctor") if f["code"] in ("bad_name", "conflict_copy")]) == 6


@pytest.mark.parametrize("kind", ["symlink", "folder", "fifo"])
def test_a_log_that_is_no_plain_file_is_no_log_and_is_never_written_to(box: Box, kind: str) -> None:
    box.add("october", now="2026-10-01T00:00:00Z")
    outside = box.root.parent / "outside.md"
    outside.write_bytes(log(episode("from elsewhere")))
    if kind == "symlink":
        box.log().symlink_to(outside)
    elif kind == "folder":
        box.log().mkdir()
    else:
        os.mkfifo(box.log())
    before = outside.read_bytes()
    assert [e["text"] for e in box.data("episode", "list")] == ["october"]
    ran = box.run("episode", "add", "text")
    assert (ran.code in (4, 7), ran.out, ran.err.count("\n")) == (True, "", 1)
    assert outside.read_bytes() == before


# The command.


def test_add_needs_a_text_or_a_task_and_known_words(box: Box) -> None:
    for words in (
        (),
        ("",),
        ("  ",),
        ("x", "--outcome", "great"),
        ("x", "--steps", "-1"),
        ("x", "--ttl", "-1"),
        ("x", "--at", "yesterday"),
    ):
        ran = box.run("episode", "add", *words)
        assert (ran.code, ran.out) == (2, ""), words
    assert not box.log().exists()
    assert box.add("", "--task", "only a task")


def test_list_filters_and_shows_newest_first(box: Box) -> None:
    box.add("a", "--session", "s1", "--outcome", "failed", "--tag", "x", now=stamp(days=-3))
    box.add("b", "--session", "s2", "--outcome", "completed", "--tag", "x", "--tag", "y", now=stamp(days=-2))
    box.add("c", "--session", "s1", now=stamp(days=-1))
    box.add("withheld", "--sensitivity", "sensitive")

    def listed(*words: str) -> list[str]:
        return [e["text"] for e in box.data("episode", "list", *words)]

    assert listed() == ["c", "b", "a"]
    assert listed("--session", "s1") == ["c", "a"]
    assert listed("--outcome", "failed") == ["a"]
    assert listed("--tag", "x", "--tag", "y") == ["b"]
    assert listed("--since", "36h") == ["c"]
    assert listed("--since", stamp(days=-2), "--until", stamp(days=-2)) == ["b"]
    assert listed("-n", "1") == ["c"]
    assert listed("--clearance", "sensitive") == ["withheld", "c", "b", "a"]
    assert "1 withheld" in box.ok("episode", "list", "--tag", "nothing").err


def test_an_archive_of_logs_has_one_file_a_month(box: Box) -> None:
    box.add("text", "--ttl", "1h")
    box.ok("sweep", now=stamp(hours=1))
    assert archive.names(box.store, "episodes") == [MONTH]
    assert (box.root / "archive" / "episodes" / f"{MONTH}.jsonl").is_file()
